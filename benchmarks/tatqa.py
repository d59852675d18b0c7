"""Questions of TAT-QA's development part over their own table: exact match by kind of answer.

    python -m benchmarks.tatqa FOLDER [--least-confidence 0]

``FOLDER`` holds ``tatqa_corpus.jsonl.gz`` and ``tatqa_official_dev_test.jsonl``. Each table goes the way of
any other: its grid with the lines above it is read into values with scale, unit and period, and these into
rows, of which the question is answered. Companies of other benchmarks are left out. Nothing is trained on
this part.

Exact match is that of Zhu et al. (TAT-QA, 2021): a number is right if it equals the gold one in the gold
scale, both rounded to two decimals, sign included; several numbers must all be there and no others; a text
must equal the gold text but for case, articles and punctuation.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table as Grid

from benchmarks import arguments
from finrag_pipeline.answering import open_answer
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.open_calculator import OpenCalculator
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.filings.cover_text import find_dates, squeeze
from finrag_pipeline.questions.abstention import Abstention
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.statements.filed_facts import FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow, filing_rows
from finrag_pipeline.tables.context import filing_context
from finrag_pipeline.tables.model import Box, Cell, Table
from finrag_pipeline.tables.normalise import normalise_tables

SCALES = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "percent": 0.01}
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NUMBER = re.compile(r"[-(]?\s*[$€£]?\s*-?\d[\d,]*\.?\d*\s*%?\)?")
_VALUE = re.compile(r"[\s$€£¥()%,.\d—–-]*\d[\s$€£¥()%,.\d—–-]*(?:thousand|million|billion)?")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def read_contexts(folder: Path) -> dict[str, dict[str, Any]]:
    """Contexts by identifier; some have no table."""
    with gzip.open(folder / "tatqa_corpus.jsonl.gz", "rt") as corpus:
        return {context["corpus_id"]: context for context in map(json.loads, corpus)}


def read_questions(folder: Path, split: str) -> list[dict[str, Any]]:
    """Questions of a part, "dev" or "test", without companies of other benchmarks."""
    lines = (folder / "tatqa_official_dev_test.jsonl").read_text("utf-8").splitlines()
    every = (json.loads(line) for line in lines)
    return [one for one in every if one["split"] == split and not one.get("fb_company")]


def text_grid(text: str) -> list[list[str]]:
    """Cells of the table that stands in a text as lines with ``|`` between them; none where there is none."""
    lines = [line for line in text.splitlines() if " | " in line and not set(line) <= set("-| ")]
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


def grid_table(grid: Sequence[Sequence[str]], above: Sequence[str], caption: str | None = None) -> Table:
    """A grid of texts as a table; a header without right neighbours spans the empty cells beside it."""
    texts = [[str(cell).strip() for cell in row] for row in grid]
    width = max(map(len, texts))
    headers = next((place for place, row in enumerate(texts) if _holds_values(row)), 0)
    cells = []
    for place, row in enumerate(texts):
        for column, text in enumerate(row):
            if not text:
                continue
            span = 1
            while place < headers and column and column + span < len(row) and not row[column + span]:
                span += 1
            box = Box(100.0 * column, 12.0 * place, 100.0 * (column + span) - 10, 12.0 * place + 10)
            cells.append(Cell(place, column, box, text, 1, span, place < headers))
    box = Box(0, 0, 100.0 * width, 12.0 * len(texts))
    levels = (0,) * len(texts)
    return Table(0, "grid", box, len(texts), width, tuple(cells), headers, levels, caption, tuple(above))


def _holds_values(row: Sequence[str]) -> bool:
    numbers = [text for text in row[1:] if _VALUE.fullmatch(text) and not _YEAR.fullmatch(text)]
    return bool(row and row[0] and numbers)


def read_table(name: str, context: Mapping[str, Any]) -> tuple[FilingInfo, list[FilingRow]]:
    """The rows of a context's table, and what is known of its filing.

    Args:
        name: of the context.
        context: ``table``, ``text`` and, where they are known, ``caption`` and ``fiscal_year``; else the
            table's last year is taken.
    """
    grid = context["table"]
    grid = json.loads(grid) if isinstance(grid, str) else grid
    lines = str(context["text"]).splitlines()
    start = next((place for place, line in enumerate(lines) if " | " in line), len(lines))
    above = [line.strip() for line in lines[:start] if line.strip()]
    years = [int(year) for row in grid[:3] for cell in row for year in _YEAR.findall(str(cell))]
    year = context.get("fiscal_year") or max((year for year in years if 1990 < year < 2030), default=2019)
    heads = " ".join(str(cell) for row in grid[:3] for cell in row)
    days = [day for _, _, day in find_dates(squeeze(heads)) if day.year == year]
    end = max(days, default=dt.date(year, 12, 31))
    if end.month == 1 and end.day < 16:  # 52 or 53 weeks that end in the first days of the next year
        year -= 1
    told = {"fiscal_year": year, "fiscal_quarter": None, "form": "10-K", "period_end": end}
    cells = normalise_tables(
        name, [grid_table(grid, above, context.get("caption"))], filing_context(told, [str(context["text"])])
    )
    return FilingInfo(name, "10-K", year, None, end), filing_rows(name, cells)


def answer(question: str, info: FilingInfo, rows: Sequence[FilingRow]) -> Derivation | None:
    """The answer from the rows of one table; None where there is none."""
    calculator = OpenCalculator(
        {info.filing: info},
        lambda _: [],
        lambda _: rows,
        Resolver([]),
        formula_lexicon(),
        row_matcher().rate,
    )
    try:
        return calculator.answer(question, Resolution(question, (), (), None, ()), [info.filing])
    except Abstention:
        return None


def exact_match(question: Mapping[str, Any], found: Derivation) -> bool:
    """Whether an answer is the gold one; see above."""
    gold = question["answer"] if isinstance(question["answer"], list) else [question["answer"]]
    scale = SCALES[question["scale"]]
    wanted = [_number(one) for one in gold]
    if any(number is None for number in wanted):
        chosen = found.answer.partition(":")[0].removeprefix("FY")
        return sorted(map(_bare, map(str, gold))) == [_bare(chosen)]
    if found.series and len(wanted) == 1 and _YEAR.fullmatch(str(gold[0])):
        return found.answer.partition(":")[0].removeprefix("FY") == str(gold[0])
    told = [one.value for one in found.series] or [found.exact if found.exact is not None else found.value]
    values = [round(value / scale, 2) for value in told if value is not None]
    return sorted(values) == sorted(round(number, 2) for number in wanted if number is not None)


def _number(text: str | float) -> float | None:
    if isinstance(text, int | float):
        return float(text)
    if not _NUMBER.fullmatch(text.strip()):
        return None
    bare = re.sub(r"[^\d.]", "", text)
    return -float(bare) if text.strip().startswith(("(", "-")) else float(bare)


def _bare(text: str) -> str:
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def outcomes(folder: Path) -> Iterator[tuple[dict[str, Any], Derivation | None, bool]]:
    """Each question with its answer and whether it is right."""
    contexts = {name: context for name, context in read_contexts(folder).items() if context.get("table")}
    tables: dict[str, tuple[FilingInfo, list[FilingRow]]] = {}
    for question in track(read_questions(folder, "dev"), "asking"):
        name = question["corpus_id"]
        if name in contexts and name not in tables:
            tables[name] = read_table(name, contexts[name])
        found = answer(question["question"], *tables[name]) if name in tables else None
        yield question, found, found is not None and exact_match(question, found)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--least-confidence", type=float, help="answer from less likely rows too")
    parser.add_argument("--show", action="store_true", help="print each question that is not right")
    options = parser.parse_args()
    console = Console()
    if options.least_confidence is not None:
        open_answer.LEAST_CONFIDENCE = options.least_confidence
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for question, found, right in outcomes(options.folder):
        for key in ((question["answer_type"], question["answer_from"]), ("all", "")):
            outcome = "right" if right else "wrong" if found else "not answered"
            counts[key].update([outcome, "questions"])
        if options.show and not right:
            told = f"{found.answer} = {found.exact} {found.formula}" if found else "-"
            gold = (question["answer"], question["scale"], question["derivation"])
            console.print(question["question"], gold, told, markup=False, highlight=False, soft_wrap=True)
    grid = Grid("answer", "from", "questions", "exact match", "wrong", "not answered")
    for (kind, place), count in sorted(counts.items()):
        total = count["questions"]
        shares = [f"{count[name] / total:.3f}" for name in ("right", "wrong", "not answered")]
        grid.add_row(kind, place, str(total), *shares)
    console.print(grid)


if __name__ == "__main__":
    main()
