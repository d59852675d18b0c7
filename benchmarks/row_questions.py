"""Questions over the tables of TAT-QA and FinQA with the rows that they mean.

Their own training questions: the rows are worked out from the answers. And those of ``readings.jsonl``
that were written for rows of these tables, in other words than theirs.

Neither set says of its training questions which cells an answer comes from. A row, or a pair of rows, is
taken to be right where an operation that people ask for gives the answer's digits and no other row shares as
many words with the question.
"""

from __future__ import annotations

import ast
import gzip
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.finqa import OVERLAPS, SURE
from benchmarks.tatqa import read_table, text_grid
from finrag_pipeline.answering.row_book import in_series
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.statements.filing_rows import FilingRow

READINGS = Path(__file__).parent / "questions" / "readings.jsonl"

_NUMBER = re.compile(r"([-(]?)[$€£]?(-?)(\d[\d,]*\.?\d*|\.\d+)")
_MOST_VALUES = 6
_MOST_ROWS = 4
_CLEARLY = 0.05
_ALONE = 0.15
"""By how much one row that explains an answer is preferred to two."""


@dataclass(frozen=True)
class Labelled:
    """A measure of a question, the rows of its own and of its filing's other tables, and which are right.

    Attributes:
        group: filing or company, which train and test do not share.
        own: number of rows, the first ones, of the question's own table.
        written: whether it was written for its rows.
    """

    group: str
    measure: str
    question: str
    rows: Sequence[FilingRow]
    own: int
    right: frozenset[int]
    written: bool = False


def number(text: object) -> float | None:
    """The first number of a text, negative in brackets; None without one."""
    found = _NUMBER.search(str(text).replace(" ", ""))
    if found is None:
        return None
    value = float(found[3].replace(",", "").rstrip(".") or 0)
    return -value if found[1] or found[2] else value


def _half_a_digit(text: object) -> float:
    found = re.search(r"\d[\d,]*(?:\.(\d+))?", str(text))
    return 0.5 * 10.0 ** -len(found[1] or "" if found else "")


def _overlap(text: str, row: FilingRow) -> float:
    said, label = set(terms(text)), set(terms(" ".join((*row.path, *row.columns))))
    return len(said & label) / (1 + 0.3 * len(label - said)) if label else 0.0


def _explain(rows: Sequence[FilingRow], answer: float, percent: bool, within: float) -> set[tuple[int, ...]]:
    """Places of each row, or pair of rows, whose numbers give an answer."""

    def equals(value: float) -> bool:
        return abs(abs(value) * (100 if percent else 1) - abs(answer)) <= within

    found: set[tuple[int, ...]] = set()
    columns: dict[int, dict[int, float]] = defaultdict(dict)
    for place, row in enumerate(rows):
        printed = [(value.index, number(value.printed)) for value in row.values]
        values = [value for _, value in printed if value is not None]
        columns_of = {index: value for index, value in printed if value is not None}
        for index, value in columns_of.items():
            columns[index][place] = value
        pairs = list(itertools.permutations(values[:_MOST_VALUES], 2))
        if (
            any(abs(abs(value) - abs(answer)) < 1e-9 for value in values)
            or any(equals((a - b) / b) if percent and b else equals(a - b) for a, b in pairs)
            or any(abs((a + b) / 2 - answer) <= within for a, b in pairs)
            or (len(values) > 2 and abs(sum(values[:3]) / 3 - answer) <= within)
            or (len(values) > 2 and abs(sum(values) - answer) <= within)
        ):
            found.add((place,))
    if percent or not found:
        for column in columns.values():
            for (one, a), (other, b) in itertools.permutations(column.items(), 2):
                ratio = b and equals(a / b)
                if ratio or (not percent and one < other and (equals(a - b) or equals(a + b))):
                    found.add((one, other))
    return found


def right_rows(
    question: str, rows: Sequence[FilingRow], answers: Sequence[object], percent: bool
) -> frozenset[int]:
    """Places of the rows that an answer comes from; none where that is not clear."""
    numbers = [number(answer) for answer in answers]
    wanted = [value for value in numbers if value is not None]
    if not wanted or len(wanted) < len(numbers):
        return frozenset()
    if len(wanted) > 1:
        shown = [{abs(number(value.printed) or 0.0) for value in row.values} for row in rows]
        hits = [sum(abs(value) in own for value in wanted) for own in shown]
        every = [place for place, count in enumerate(hits) if count == len(wanted)]
        best = max((_overlap(question, rows[place]) for place in every), default=0.0)
        some = [place for place, count in enumerate(hits) if count]
        taken = [place for place in every if _overlap(question, rows[place]) == best] or some
        return frozenset(taken if len(taken) <= max(len(wanted), _MOST_ROWS) else ())
    within = 1.02 * min(_half_a_digit(answers[0]), max(0.05 * abs(wanted[0]), 0.006))
    scores = {
        places: sum(_overlap(question, rows[p]) for p in places) / len(places) + _ALONE * (len(places) == 1)
        for places in _explain(rows, wanted[0], percent, within)
    }
    best_first = sorted(scores, key=lambda places: -scores[places])
    if not best_first or scores[best_first[0]] <= 0:
        return frozenset()
    if len(best_first) > 1 and scores[best_first[0]] - scores[best_first[1]] < _CLEARLY:
        return frozenset()
    return frozenset(best_first[0])


def tatqa_training(folder: Path) -> Iterator[tuple[dict[str, Any], list[object]]]:
    """Training questions of TAT-QA with their answers, without companies of other benchmarks."""
    lines = (folder / "tatqa_reconstructed.jsonl").read_text("utf-8").splitlines()
    for one in map(json.loads, lines):
        if one["split"] != "train" or one["fb_company"] or one["fb_corpus_company"]:
            continue
        given = str(one["answer"])
        try:
            yield one, ast.literal_eval(given) if given.startswith("[") else [given]
        except (SyntaxError, ValueError):
            continue


def tatqa(folder: Path) -> Iterator[Labelled]:
    """Training questions of TAT-QA, without companies of other benchmarks."""
    with gzip.open(folder / "tatqa_corpus.jsonl.gz", "rt") as corpus:
        contexts = {context["corpus_id"]: context for context in map(json.loads, corpus)}
    tables = {name: _rows(name, context) for name, context in contexts.items()}
    filings: dict[str, list[str]] = defaultdict(list)
    for name, context in contexts.items():
        if context.get("doc_name"):
            filings[context["doc_name"]].append(name)
    pools: dict[str, list[FilingRow]] = {}
    for one, answers in tatqa_training(folder):
        if one["link_margin"] <= 0 or one["answer_type"] == "count":
            continue
        yield from _labelled(
            one["doc_name"],
            one["question"],
            answers,
            one["scale"] == "percent",
            one["corpus_id"],
            tables,
            filings[one["doc_name"]],
            pools,
        )
    yield from _written(
        {name: context.get("doc_name") or "" for name, context in contexts.items()}, tables, filings, pools
    )


def finqa(folder: Path) -> Iterator[Labelled]:
    """Training and development questions of FinQA whose page is surely known, without such overlaps."""
    with gzip.open(folder / "finqa_corpus.jsonl.gz", "rt") as corpus:
        pages = {page["corpus_id"]: page for page in map(json.loads, corpus)}
    tables: dict[str, list[FilingRow]] = {}
    pools: dict[str, list[FilingRow]] = {}
    companies: dict[str, list[str]] = defaultdict(list)
    kept = []
    for one in map(json.loads, (folder / "finqa_qa.jsonl").read_text("utf-8").splitlines()):
        if one["split"] == "test" or one["link"] not in SURE or any(map(one.get, OVERLAPS)):
            continue
        name = one["corpus_id"]
        if name not in tables:
            tables[name] = _rows(name, pages[name])
            companies[one["ticker"]].append(name)
        kept.append(one)
    for one in kept:
        yield from _labelled(
            one["ticker"],
            one["question"],
            [one["answer"]],
            "%" in str(one["answer"]),
            one["corpus_id"],
            tables,
            companies[one["ticker"]],
            pools,
        )
    tickers = {one["corpus_id"]: one["ticker"] for one in kept}
    yield from _written(tickers, tables, companies, pools)


def _rows(name: str, context: Mapping[str, Any]) -> list[FilingRow]:
    grid = text_grid(str(context["text"]))
    if not grid:
        return []
    return in_series(read_table(name, {**context, "table": grid})[1])


def _labelled(
    group: str,
    question: str,
    answers: Sequence[object],
    percent: bool,
    name: str,
    tables: Mapping[str, Sequence[FilingRow]],
    of_filing: Sequence[str],
    pools: dict[str, list[FilingRow]],
) -> Iterator[Labelled]:
    own = tables[name]
    right = right_rows(question, own, answers, percent)
    if not 0 < len(right) <= _MOST_ROWS:
        return
    pool = _pool(name, tables, of_filing, pools)
    plan = read_plan(question)
    measures = plan.measures if plan is not None else (question,)
    for measure in measures:
        shared = {place: _overlap(measure, own[place]) for place in right}
        best = max(right, key=lambda place: (shared[place], -place))
        mine = right if len(measures) == 1 else frozenset([best] if shared[best] else [])
        if mine:
            yield Labelled(group, measure, question, pool, len(own), mine)


def _pool(
    name: str,
    tables: Mapping[str, Sequence[FilingRow]],
    of_filing: Sequence[str],
    pools: dict[str, list[FilingRow]],
) -> list[FilingRow]:
    """The rows of a table, and behind them those of other tables of its filing."""
    if name not in pools:
        others = [row for other in of_filing[:15] if other != name for row in tables[other]]
        pools[name] = [*tables[name], *others]
    return pools[name]


def _written(
    groups: Mapping[str, str],
    tables: Mapping[str, Sequence[FilingRow]],
    filings: Mapping[str, Sequence[str]],
    pools: dict[str, list[FilingRow]],
) -> Iterator[Labelled]:
    """Questions that were written for rows of these tables, once for each measure.

    Args:
        groups: filing or company of each table.
        tables: rows by name of their table.
        filings: tables of each filing or company.
        pools: rows that were put together before.
    """
    for one in map(json.loads, READINGS.read_text("utf-8").splitlines()):
        name = one.get("table")
        if name not in groups or one["operation"] == "text":
            continue
        marked = one["question"]
        asking = [part for part in re.split(r"(?<=[.!?])\s", marked) if re.search(r"[[{]", part)]
        question = re.sub(r"[][{}<>]", "", " ".join(asking))
        pool = _pool(name, tables, filings[groups[name]], pools)
        for spans, row in zip((r"\[(.*?)\]", r"\{(.*?)\}"), one["rows"], strict=False):
            measure = " ".join(re.findall(spans, marked))
            yield Labelled(groups[name], measure, question, pool, len(tables[name]), frozenset([row]), True)
