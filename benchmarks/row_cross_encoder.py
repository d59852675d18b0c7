"""Makes the examples that the shipped cross-encoder of questions and printed rows learned from.

    FINRAG_LAKE=lake python -m benchmarks.row_cross_encoder EXAMPLES.npz --tatqa FOLDER --finqa FOLDER \
        --filings
    python -m benchmarks.row_training EXAMPLES.npz MINILM_FOLDER WEIGHTS.safetensors

Each example is a question with the rows that are right, rows of the same and of other tables of the filing
that share words with it, and any others. So that it can say that no row is right, some questions are asked
without theirs, of another quantity by a foreign word, or in words written so that no row of the table is
meant; so that words of talking do not mislead it, others are asked in more words than they need. Every sixth
filing of TAT-QA and company of FinQA is left out of training, and so are the companies of whose questions
``benchmarks.row_matcher`` learns: what ranks and judges its scores has to see them as they are where a filing
is new.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks import arguments
from benchmarks.finqa import left_out
from benchmarks.row_questions import (
    RANKED,
    Labelled,
    Phrased,
    company_of,
    filing_phrases,
    finqa,
    finqa_tables,
    table_phrases,
    tatqa,
    tatqa_tables,
)
from benchmarks.row_training import IN_FILINGS, RowExamples, ragged
from finrag_pipeline.answering.row_cross_encoder import RowReaderTokens, Texts, row_reader_tokens, row_texts
from finrag_pipeline.answering.row_matcher import Features
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import word_set
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake

SEED = 0
WRITTEN = ", written"
PHRASES_OF_ROWS = "phrases of rows"
QUESTIONS_OF_ROWS = "questions of rows"
_OFTEN_FOREIGN, _OFTEN_ELSEWHERE = 0.2, 0.35
"""Shares of the questions about filings that are asked with a foreign word, and of another filing."""

COMPANIES = ("Acme",)
"""What companies are called in written questions."""
SHARE, TIMES_WRITTEN = 0.3, 2
"""Share of the other questions that are seen, and how often each written for its rows is."""

_CANDIDATES, _NEAR, _FAR = 30, 40, 80

_TITLES = (
    "", "Selected Financial Data", "Results of Operations", "The following table presents (in millions):",
    "Consolidated Results", "Summary of operations", "Segment Information",
)  # fmt: skip
_STATEMENTS = {
    "income_statement": (
        "Consolidated Statements of Income", "CONDENSED CONSOLIDATED STATEMENTS OF OPERATIONS (Unaudited)",
        "Consolidated Statements of Earnings",
    ),
    "financial_position": ("CONSOLIDATED BALANCE SHEETS", "Condensed Consolidated Balance Sheets"),
    "cash_flows": ("Consolidated Statements of Cash Flows", "CONDENSED STATEMENTS OF CASH FLOWS"),
}  # fmt: skip
"""Captions of tables that show the same line."""

FRAMES = (
    "i'm curious {}", "my boss wants to know {}", "{} please", "could you tell me {}", "so {}",
    "remind me, {}", "quick one: {}", "for a memo i need {}", "{} according to the filing",
    "we are debating {}", "{} how much was that", "give me {}", "look up {}", "do you happen to know {}",
)  # fmt: skip
FOREIGN = word_set(
    "organic adjusted proforma guidance forecast average employee store barrel customer domestic unaudited "
    "restated core underlying comparable"
)
"""Words that make any quantity another; they are added to questions."""
FILLERS = (
    "rake in", "pocket", "burn through", "plough into", "sitting on", "tied up in", "eaten up by", "log",
    "chalk up", "bank", "fork out", "lavish on", "set aside for", "side of the house", "part of the business",
    "money", "bill for", "tally of", "pile of", "level of", "line for", "booked", "outlay on", "worth of",
)  # fmt: skip
ASKED = (
    "what was {}?", "how much {} did it report?", "{}", "what is the percentage change in {}?",
    "show {} over the last three years", "did {} rise?", "by how much did {} change?", "how big was {}?",
    "which share of the total was {}?", "compare {} with the year before", "what did {} come to?",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A question with rows.

    Attributes:
        right, near, far: places in ``rows`` of those that are right, of wrong ones, the likeliest first, and
            of such as it meets whatever it is asked.
    """

    source: str
    group: str
    measure: str
    question: str
    rows: Sequence[FilingRow]
    right: tuple[int, ...]
    near: tuple[int, ...]
    far: tuple[int, ...]
    times: int = 1


def example(
    source: str,
    one: Labelled,
    candidates: Iterable[int],
    found: bool = True,
    unlikely: Sequence[int] = (),
    times: int = 1,
) -> Example:
    """A question with its right rows, where they are to be found, and others that read differently."""
    same = {row_texts(one.rows[place]) for place in one.right}
    near, far = (
        tuple(place for place in dict.fromkeys(places) if row_texts(one.rows[place]) not in same)
        for places in (candidates, unlikely)
    )
    right = tuple(sorted(one.right)) if found else ()
    return Example(source, one.group, one.measure, one.question, one.rows, right, near[:_NEAR], far, times)


def of_questions(source: str, asked: Sequence[Labelled], rng: random.Random) -> Iterator[Example]:
    """Examples of questions of people, some without their rows, with a foreign word or in more words."""
    pools = _Pools()
    foreign = sorted(FOREIGN)
    for one in track(asked, source):
        near, far = pools.others(one.rows, one.own, one.measure, rng)
        if len(set(near) - one.right) < 2:
            continue
        named = f"{source}{WRITTEN}" if one.written else source
        yield example(named, one, near, unlikely=far, times=TIMES_WRITTEN if one.written else 1)
        kind, word = rng.random(), rng.choice(foreign)
        if kind < 0.15:
            yield example(f"{source}, row absent", one, near, found=False, unlikely=far)
        elif kind < 0.3 and pools.terms(one.rows).isdisjoint(terms(word)):
            other = _with_foreign(word, one, rng)
            yield example(f"{source}, foreign word", other, [*one.right, *near], unlikely=far)
        elif kind < 0.6:
            measure = _with(rng.choice(FILLERS), one.measure, rng) if rng.random() < 0.6 else one.measure
            text = rng.choice(FRAMES).format(one.question.rstrip("?") if rng.random() < 0.6 else measure)
            more = replace(one, measure=measure, question=text)
            yield example(f"{source}, more words", more, near, unlikely=far)


def of_phrases(phrases: Iterable[Phrased], rng: random.Random) -> Iterator[Example]:
    """Examples of other ways to name a row, and of quantities near it that no row of its table shows."""
    pools = _Pools()
    phrases = list(phrases)
    filings = {one.group: one.rows for one in phrases if not one.own}
    for one in track(phrases, "phrases"):
        for said in one.phrases:
            near, far = pools.others(one.rows, one.own, said, rng)
            asked = Labelled(one.group, said, asking(said, rng), one.rows, one.own, one.right)
            yield example(f"{PHRASES_OF_ROWS}{'' if one.own else IN_FILINGS}", asked, near, unlikely=far)
        for question in one.questions:
            plan = read_plan(question, COMPANIES)
            for measure in plan.measures[:1] if plan is not None else ():
                near, far = pools.others(one.rows, one.own, measure, rng)
                asked = Labelled(one.group, measure, plan.asked, one.rows, one.own, one.right)
                source = f"{QUESTIONS_OF_ROWS}{IN_FILINGS}"
                yield example(source, asked, near, unlikely=far, times=TIMES_WRITTEN)
                yield from _without_right(asked, near, far, pools, filings, rng)
        for said in one.near:
            asked = Labelled(one.group, said, asking(said, rng), one.rows, one.own, frozenset())
            table = [*one.right, *(place for place in range(one.own) if place not in one.right)]
            yield example(f"{PHRASES_OF_ROWS}, near", asked, table)


def _without_right(
    asked: Labelled,
    near: Sequence[int],
    far: Sequence[int],
    pools: _Pools,
    filings: Mapping[str, Sequence[FilingRow]],
    rng: random.Random,
) -> Iterator[Example]:
    """A question about a filing with a foreign word, or asked of another filing without a word of it."""
    own = {term for place in asked.right for term in terms(asked.rows[place].text)}
    kind, word = rng.random(), rng.choice(sorted(FOREIGN))
    if kind < _OFTEN_FOREIGN and own.isdisjoint(terms(word)):
        other = _with_foreign(word, asked, rng)
        yield example(f"foreign word{IN_FILINGS}", other, [*asked.right, *near], unlikely=far)
    elif kind > 1 - _OFTEN_ELSEWHERE:
        company = company_of(asked.group)
        group = rng.choice([name for name in sorted(filings) if company_of(name) != company] or [""])
        rows = filings.get(group, ())
        if rows and not (own & set(terms(asked.measure))) <= pools.terms(rows):
            near, far = pools.others(rows, 0, asked.measure, rng)
            elsewhere = replace(asked, group=group, rows=rows, right=frozenset())
            yield example(f"of another filing{IN_FILINGS}", elsewhere, near, unlikely=far)


class _Pools:
    """Rows that a question is shown beside its own."""

    def __init__(self) -> None:
        self._features: dict[int, tuple[Features, set[str], list[int]]] = {}

    def _of(self, rows: Sequence[FilingRow]) -> tuple[Features, set[str], list[int]]:
        if id(rows) not in self._features:
            known = {term for row in rows for term in terms(" ".join((*row.path, *row.columns)))}
            self._features[id(rows)] = Features(rows), known, _of_any(rows)
        return self._features[id(rows)]

    def terms(self, rows: Sequence[FilingRow]) -> set[str]:
        """All terms that rows say."""
        return self._of(rows)[1]

    def others(
        self, rows: Sequence[FilingRow], own: int, measure: str, rng: random.Random
    ) -> tuple[list[int], list[int]]:
        """Places of rows that share most with a measure and of some of its own table, and of any others."""
        features, _, far = self._of(rows)
        likely = features.candidates(measure, _CANDIDATES)
        beside = [place for place in range(own) if place not in likely]
        rng.shuffle(beside)
        return [*likely[:12], *beside[:8], *likely[12:], *beside[8:]], far


def _of_any(rows: Sequence[FilingRow]) -> list[int]:
    """Places of rows that are met whatever is asked, those of statements first."""
    read: dict[tuple[str, ...], int] = {}
    for place in sorted(range(len(rows)), key=lambda at: rows[at].statement is None):
        read.setdefault(row_texts(rows[place])[:3], place)
    return list(read.values())[:_FAR]


def asking(measure: str, rng: random.Random) -> str:
    """A question for a measure."""
    question = rng.choice(ASKED).format(measure)
    return rng.choice(FRAMES).format(question.rstrip("?")) if rng.random() < 0.2 else question


def _with_foreign(word: str, one: Labelled, rng: random.Random) -> Labelled:
    """A question of another quantity by a word, for which no row is right."""
    question = f"{one.question.rstrip('?')} {word}?"
    return replace(one, measure=_with(word, one.measure, rng), question=question, right=frozenset())


def _with(word: str, measure: str, rng: random.Random) -> str:
    words = measure.split()
    words.insert(rng.randrange(len(words) + 1), word)
    return " ".join(words)


def random_text(pattern: str, rng: random.Random) -> str:
    """A text that a phrase of the lexicon matches: of each choice one, of what may be absent mostly none."""
    text = pattern
    while group := re.search(r"\(([^()]*)\)([?*])?", text):
        keep = not group[2] or rng.random() < 0.3
        text = text[: group.start()] + (rng.choice(group[1].split("|")) if keep else "") + text[group.end() :]
    return " ".join(re.sub(r"\\(.)", r"\1", re.sub(r"(\w)\?", r"\1", text)).split())


def as_arrays(examples: Sequence[Example], tokens: RowReaderTokens) -> RowExamples:
    """Examples as token identifiers; those of the companies of ``benchmarks.row_matcher`` are left out."""
    places: dict[Texts, int] = {}
    sources = sorted({one.source for one in examples})

    def rows(one: Example, which: Iterable[int]) -> list[int]:
        return list(dict.fromkeys(places.setdefault(row_texts(one.rows[at]), len(places)) for at in which))

    right, near, far = (
        ragged([rows(one, getattr(one, part)) for one in examples]) for part in ("right", "near", "far")
    )
    twins = [[places.setdefault(twin, len(places)) for twin in twins_of(text)] for text in list(places)]
    twins += [[] for _ in range(len(places) - len(twins))]
    return RowExamples(
        ragged([tokens.question(one.measure, one.question) for one in examples]),
        ragged([tokens.row(text) for text in places]),
        ragged([tokens.full_row(text) for text in places]),
        ragged(twins),
        right,
        near,
        far,
        np.array([sources.index(one.source) for one in examples]),
        np.array(sources),
        np.array(
            [
                company_of(one.group) in RANKED if one.source.endswith(IN_FILINGS) else left_out(one.group)
                for one in examples
            ]
        ),
        np.array([one.times for one in examples]),
    )


def twins_of(texts: Texts) -> list[Texts]:
    """A row as other tables of a filing show it: summaries, condensed statements, the discussion."""
    label, headings, columns, caption, statement, kind = texts
    rng = random.Random(f"{label} {headings} {columns}")
    titles = [title for title in (*_TITLES, *_STATEMENTS.get(statement, ())) if title != caption]
    found = [(label, headings, columns, title, statement, kind) for title in rng.sample(titles, 2)]
    return [*found, (label, "" if rng.random() < 0.5 else headings, columns, "", "", kind)]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tatqa", type=Path)
    parser.add_argument("--finqa", type=Path)
    parser.add_argument("--filings", action="store_true", help="rows of the filings of the lake too")
    parser.add_argument("examples", type=Path, help="file that is written")
    options = parser.parse_args()
    rng = random.Random(SEED)
    tokens = row_reader_tokens()
    examples: list[Example] = []
    phrases: list[Phrased] = []
    if options.tatqa:
        examples += of_questions("TAT-QA", list(tatqa(options.tatqa, SHARE)), rng)
        phrases += table_phrases(tatqa_tables(options.tatqa))
    if options.finqa:
        examples += of_questions("FinQA", list(finqa(options.finqa, SHARE)), rng)
        phrases += table_phrases(finqa_tables(options.finqa))
    if options.filings:
        rows = FilingRows(Lake(get_settings().lake))
        phrases += filing_phrases(rows.of)
    examples += of_phrases(phrases, rng)
    as_arrays(examples, tokens).save(options.examples)
    Console().print(Counter(one.source for one in examples))


if __name__ == "__main__":
    main()
