"""Questions of FinQA over the table of their own page: right, wrong, execution accuracy.

    python -m benchmarks.finqa FOLDER [--split test] [--show]

``FOLDER`` holds ``finqa_corpus.jsonl.gz`` and ``finqa_qa.jsonl``. Each table goes the way of any other, and
the question is answered from its rows; what stands in the text around it is not read. Left out are companies
of other benchmarks and questions whose page is not surely known.

Execution accuracy is that of Chen et al. (FinQA, 2021, section 5): the value equals the gold program's, both
rounded to five decimals. Gold programs compute with numbers as printed, ours with full units, so a scale is
divided out where the answer is an amount.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks import arguments
from benchmarks.tatqa import answer, read_table, text_grid
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.statements.filed_facts import FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow

SURE = ("exact", "A")
OVERLAPS = ("fb_company", "fb_corpus_company", "fb_doc_overlap", "fb_corpus_overlap")
_SCALES = (1.0, 1e3, 1e6, 1e9)


def read_questions(folder: Path, *splits: str) -> list[dict[str, Any]]:
    """Questions of parts, "train", "dev" or "test", whose page is known and that no benchmark shares."""
    every = map(json.loads, (folder / "finqa_qa.jsonl").read_text("utf-8").splitlines())
    return [
        one
        for one in every
        if one["split"] in splits and one["link"] in SURE and not any(map(one.get, OVERLAPS))
    ]


def read_page(page: Mapping[str, Any]) -> tuple[FilingInfo, list[FilingRow]] | None:
    """The rows of a page's table, and what is known of its filing; None where the page has no table.

    The set prints a negative number twice, as ``-32 ( 32 )``, and has lost quotes and dashes to digits.
    """
    text = restored(str(page["text"]))
    grid = [[_TWICE.sub(r"\1", cell) for cell in row] for row in text_grid(text)]
    if not grid:
        return None
    heads = next((place for place, row in enumerate(grid) if place and any(row[1:])), 1)
    grid = [
        [_LOST_DASH.sub("—", cell) if column and place >= heads else cell for column, cell in enumerate(row)]
        for place, row in enumerate(grid)
    ]
    year = int(page["page_file"].split("/")[1])
    context = {"table": grid, "text": text, "fiscal_year": year, "caption": _caption(text, grid[:heads])}
    return read_table(page["corpus_id"], context)


def _caption(text: str, heads: Sequence[Sequence[str]]) -> str:
    """The words right above a table that its headers do not repeat; they stand at the end of its lines."""
    lines = [line for line in text.partition(" | ")[0].splitlines()[:-1] if line.strip(" .")]
    repeated = {word for row in heads for cell in row for word in cell.split()} | {"in", "."}
    for line in reversed(lines[-2:]):
        words = _ANNOUNCED.sub("", line.strip(" .")).split()
        while words and (words[-1] in repeated or any(words[-1] in cell for cell in heads[0])):
            words.pop()
        if words:
            return " ".join(words[:_CAPTION_WORDS])
    return ""


_ANNOUNCED = re.compile(
    r"^.*?\b(?:tables?|below) (?:below )?(?:shows?|presents?|sets? forth|summarizes?|discloses?|provides?) "
)
_CAPTION_WORDS = 30


def restored(text: str) -> str:
    """A text with the quotes that the set prints as their code points: ``company 2019s``."""
    return re.sub(r"\b201[cd](?=\w)|\b201[cd]\b", '"', re.sub(r"\s?\b2019(?=s\b)", "'", text))


_TWICE = re.compile(r"(-?[\d.,]+\s?%?)\s*\(\s*[\d.,]+\s*%?\s*\)(?:\s*%\s*\(\s*%\s*\))?")
_LOST_DASH = re.compile(r"^(?:\$ )?201[34]$")


def is_exact(question: Mapping[str, Any], found: Derivation) -> bool:
    """Whether an answer equals what the gold program gives: execution accuracy."""
    gold = str(question["exe_answer"])
    if gold in ("yes", "no"):
        return found.answer.lower().startswith(gold)
    return any(
        round(value / scale, 5) == round(float(gold), 5) for value in _values(found) for scale in _SCALES
    )


def is_right(question: Mapping[str, Any], found: Derivation) -> bool:
    """Whether an answer is the gold one, as ``benchmarks.answers`` judges.

    A fall may be told as a negative or a positive number, a share in per cent or not, and the answer that the
    annotator wrote counts beside that of the program, as far as it is printed: the two often differ.
    """
    if is_exact(question, found) or str(question["exe_answer"]) in ("yes", "no"):
        return is_exact(question, found)
    gold = abs(float(question["exe_answer"]))
    printed = _PRINTED.search(str(question["answer"]).replace(",", ""))
    for value in map(abs, _values(found)):
        for scale in (*_SCALES, 0.01):
            told = value / scale
            if round(told, 5) == round(gold, 5):
                return True
            if printed and ("%" in question["answer"]) == (scale == 0.01):
                within = 0.501 * 10.0 ** -len(printed[2] or "")
                if abs(told - float(printed[0])) <= min(within, 0.02 * told):
                    return True
    return False


_PRINTED = re.compile(r"(\d+)(?:\.(\d+))?|\.(\d+)")


def _values(found: Derivation) -> list[float]:
    value = found.exact if found.exact is not None else found.value
    return [] if value is None else [value]


def ask(question: Mapping[str, Any], page: Mapping[str, Any]) -> Derivation | None:
    """The answer to a question from the table of its page."""
    read = read_page(page)
    return answer(restored(question["question"]), *read) if read else None


def read_pages(folder: Path) -> dict[str, dict[str, Any]]:
    """Pages by identifier."""
    with gzip.open(folder / "finqa_corpus.jsonl.gz", "rt") as corpus:
        return {page["corpus_id"]: page for page in map(json.loads, corpus)}


def outcomes(folder: Path, split: str) -> Iterator[tuple[dict[str, Any], Derivation | None]]:
    """Each question of a company that no model was trained on, with its answer."""
    pages = read_pages(folder)
    for question in track([q for q in read_questions(folder, split) if left_out(q["ticker"])], "asking"):
        yield question, ask(question, pages[question["corpus_id"]])


def left_out(group: str) -> bool:
    """Whether a filing or company is for testing what is trained."""
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % 6 == 0


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    parser.add_argument("--show", action="store_true", help="print each question that is not right")
    options = parser.parse_args()
    console = Console()
    counts: Counter[str] = Counter()
    for question, found in outcomes(options.folder, options.split):
        right = found is not None and is_right(question, found)
        counts["right" if right else "wrong" if found else "not answered"] += 1
        counts["execution accuracy"] += found is not None and is_exact(question, found)
        if options.show and not right:
            told = f"{found.answer} = {found.exact} {found.formula}" if found else "-"
            console.print(question["question"], question["answer"], told, markup=False, soft_wrap=True)
    total = counts["right"] + counts["wrong"] + counts["not answered"]
    names = ("right", "wrong", "not answered", "execution accuracy")
    shares = ", ".join(f"{name} {counts[name] / max(total, 1):.3f}" for name in names)
    console.print(f"{total} questions: {shares}")


if __name__ == "__main__":
    main()
