"""Questions over the tables of TAT-QA and FinQA with the rows that they mean.

Their own training questions: the rows are worked out from the answers. And those of ``readings.jsonl``
that were written for rows of these tables, in other words than theirs.

Neither set says of its training questions which cells an answer comes from. A row, or a pair of rows, is
taken to be right where an operation that people ask for gives the answer's digits and no other row shares as
many words with the question.
"""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.finqa import read_pages, read_questions
from benchmarks.tatqa import read_contexts, read_table, text_grid
from finrag_pipeline.answering.row_book import in_series
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.statements.filing_rows import FilingRow

READINGS = Path(__file__).parent / "questions" / "readings.jsonl"

ROW_PHRASES = Path(__file__).parent / "questions" / "row_phrases.jsonl"

RANKED = frozenset(("ABBV", "CRM", "HD", "NKE", "PG", "XOM"))
"""Companies that `benchmarks.row_matcher` learns to rank from, with scores that their rows did not teach."""

FILING_ROW_PHRASES = Path(__file__).parent / "questions" / "filing_row_phrases.jsonl"

_NUMBER = re.compile(r"([-(]?)[$€£]?(-?)(\d[\d,]*\.?\d*|\.\d+)")
_MOST_VALUES = 6
_MOST_ROWS, _MOST_TABLES = 4, 15
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


@dataclass(frozen=True)
class Phrased:
    """A row in other words: how people name it, and quantities near it that its table does not show.

    Attributes:
        group, rows, own, right: as in `Labelled`.
        questions: that ask for it in yet other words.
    """

    group: str
    rows: Sequence[FilingRow]
    own: int
    right: frozenset[int]
    phrases: tuple[str, ...]
    near: tuple[str, ...]
    questions: tuple[str, ...] = ()


class Tables:
    """Tables of a collection with the rows of their filings.

    Args:
        contexts: of each table, by name.
        groups: filing or company of each.
    """

    def __init__(self, contexts: Mapping[str, Mapping[str, Any]], groups: Mapping[str, str]) -> None:
        self.groups = groups
        self._contexts = contexts
        self._rows: dict[str, list[FilingRow]] = {}
        self._pools: dict[str, list[FilingRow]] = {}
        self._of_group: dict[str, list[str]] = defaultdict(list)
        for name, group in groups.items():
            if group:  # tables without a filing have none beside them
                self._of_group[group].append(name)

    def rows(self, name: str) -> list[FilingRow]:
        """The rows of a table."""
        if name not in self._rows:
            self._rows[name] = rows_of_text(name, self._contexts[name])
        return self._rows[name]

    def pool(self, name: str) -> list[FilingRow]:
        """The rows of a table, and behind them those of other tables of its filing."""
        if name not in self._pools:
            beside = [other for other in self._of_group[self.groups[name]][:_MOST_TABLES] if other != name]
            self._pools[name] = [*self.rows(name), *(row for other in beside for row in self.rows(other))]
        return self._pools[name]


def tatqa(folder: Path, share: float = 1.0) -> Iterator[Labelled]:
    """Training questions of TAT-QA, without companies of other benchmarks; a share of those not written."""
    tables = tatqa_tables(folder)
    rng = random.Random(0)
    for one, answers in tatqa_training(folder):
        if rng.random() < share and one["link_margin"] > 0 and one["answer_type"] != "count":
            percent = one["scale"] == "percent"
            yield from _labelled(one["question"], answers, percent, one["corpus_id"], tables)
    yield from _written(tables)


def finqa(folder: Path, share: float = 1.0) -> Iterator[Labelled]:
    """Training and development questions of FinQA whose page is surely known, without such overlaps.

    Of those not written for it a share.
    """
    tables = finqa_tables(folder)
    rng = random.Random(0)
    for one in read_questions(folder, "train", "dev"):
        if rng.random() < share:
            percent = "%" in str(one["answer"])
            yield from _labelled(one["question"], [one["answer"]], percent, one["corpus_id"], tables)
    yield from _written(tables)


def filing_phrases(rows_of: Callable[[str], Sequence[FilingRow]]) -> Iterator[Phrased]:
    """Rows of whole filings, by their printed rows, in other words; right are those with the same numbers."""
    pools: dict[str, list[FilingRow]] = {}
    for one in map(json.loads, FILING_ROW_PHRASES.read_text("utf-8").splitlines()):
        filing, place = one["filing"], one["row"]
        if filing not in pools:
            pools[filing] = in_series(rows_of(filing))
        pool = pools[filing]
        if place >= len(pool) or pool[place].label != one["label"]:  # read otherwise since
            continue
        right = frozenset(at for at, row in enumerate(pool) if at == place or _same_numbers(row, pool[place]))
        yield Phrased(filing, pool, 0, right, tuple(one["phrases"]), (), tuple(one["questions"]))


def taught_companies() -> set[str]:
    """Companies whose rows taught the encoders."""
    written = map(json.loads, FILING_ROW_PHRASES.read_text().splitlines())
    return {company_of(one["filing"]) for one in written} - RANKED


def company_of(filing: str) -> str:
    """The ticker that the name of a filing begins with."""
    return filing.partition("_")[0]


def _same_numbers(row: FilingRow, other: FilingRow) -> bool:
    """Whether two rows print two numbers of the same periods, or one and a word of their labels."""
    own, its = (
        {(round(abs(value.value), 4), value.period_end, value.months) for value in one.values if value.value}
        for one in (row, other)
    )
    least = 1 if set(terms(row.label)) & set(terms(other.label)) else 2
    return len(own & its) >= least


@cache
def tatqa_tables(folder: Path) -> Tables:
    """Tables of TAT-QA."""
    contexts = read_contexts(folder)
    return Tables(contexts, {name: context.get("doc_name") or "" for name, context in contexts.items()})


@cache
def finqa_tables(folder: Path) -> Tables:
    """Tables of FinQA's training and development questions."""
    asked = read_questions(folder, "train", "dev")
    return Tables(read_pages(folder), {one["corpus_id"]: one["ticker"] for one in asked})


def rows_of_text(name: str, context: Mapping[str, Any]) -> list[FilingRow]:
    """Rows of the table that stands in the text of a context; none where there is none."""
    grid = text_grid(str(context["text"]))
    return in_series(read_table(name, {**context, "table": grid})[1]) if grid else []


def _labelled(
    question: str, answers: Sequence[object], percent: bool, name: str, tables: Tables
) -> Iterator[Labelled]:
    own = tables.rows(name)
    right = right_rows(question, own, answers, percent)
    if not 0 < len(right) <= _MOST_ROWS:
        return
    group, pool = tables.groups[name], tables.pool(name)
    plan = read_plan(question)
    measures = plan.measures if plan is not None else (question,)
    for measure in measures:
        shared = {place: _overlap(measure, own[place]) for place in right}
        best = max(right, key=lambda place: (shared[place], -place))
        mine = right if len(measures) == 1 else frozenset([best] if shared[best] else [])
        if mine:
            yield Labelled(group, measure, question, pool, len(own), mine)


def _written(tables: Tables) -> Iterator[Labelled]:
    """Questions that were written for rows of these tables, once for each measure."""
    for one in map(json.loads, READINGS.read_text("utf-8").splitlines()):
        name = one.get("table")
        if name not in tables.groups or one["operation"] == "text":
            continue
        marked = one["question"]
        asking = [part for part in re.split(r"(?<=[.!?])\s", marked) if re.search(r"[\[{]", part)]
        question = re.sub(r"[\[{][+-]?|[]}<>]", "", " ".join(asking))
        pool, own = tables.pool(name), len(tables.rows(name))
        measures = [measure for bracket in ("[", "{") for measure in _measures(marked, bracket)]
        for measure, row in zip(measures, one["rows"], strict=False):
            yield Labelled(tables.groups[name], measure, question, pool, own, frozenset([row]), True)


def _measures(marked: str, bracket: str) -> list[str]:
    """The quantities of one measure: its pieces together, and each that is added to it or taken off."""
    pieces = re.findall(rf"{re.escape(bracket)}([+-]?)([^\]}}]*)", marked)
    plain = " ".join(words for sign, words in pieces if not sign)
    return [*([plain] if plain else []), *(words for sign, words in pieces if sign)]


def table_phrases(tables: Tables) -> Iterator[Phrased]:
    """Rows of tables in other words."""
    for one in map(json.loads, ROW_PHRASES.read_text("utf-8").splitlines()):
        if (name := one["table"]) in tables.groups:
            pool, own = tables.pool(name), len(tables.rows(name))
            said, near = tuple(one["phrases"]), tuple(one["near"])
            yield Phrased(tables.groups[name], pool, own, frozenset([one["row"]]), said, near)
