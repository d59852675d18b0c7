"""Facts out of any printed row: the row that words of a question name, and its number of a period."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from operator import attrgetter, itemgetter
from typing import TypeVar

import numpy as np

from finrag_pipeline.answering.inputs import FactBook, FoundFact
from finrag_pipeline.answering.row_cross_encoder import CAPTION_WORDS
from finrag_pipeline.answering.row_matcher import SIGNS, Lessened, Rated, log_odds, unlessened
from finrag_pipeline.filings.cover_text import find_dates, squeeze
from finrag_pipeline.questions.formula_lexicon import Lexicon, Line, formula_lexicon
from finrag_pipeline.questions.plan import DUE
from finrag_pipeline.questions.question_reader import NAMES_NOTHING, naming_words, question_reader
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import PLACES, any_case, with_places, word_set
from finrag_pipeline.statements.concepts import normal_label
from finrag_pipeline.statements.filed_facts import Fact, FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue
from finrag_pipeline.statements.periods import WEEK, FiscalPeriod, fits
from finrag_pipeline.tables.row_periods import tells_only_time

Match = Callable[[str, Sequence[FilingRow], str, Lessened], Rated]
"""How likely each row holds what words name in a question."""

Read = TypeVar("Read")

Place = tuple[object, ...]
"""Where rows stand that belong together."""

AHEAD = "ahead"
"""Sign of a row: how far it is ahead of the next."""

_SAME = 5e-4
_PARTS_ADD_UP = 0.003
_SURELY = 0.9
_UNSAID = 0.6
_PLAINLY = 0.2
_SERIES = 0.3
"""Part of the probability of the likeliest row that one has which shows all periods asked for."""
_MOSTLY = 0.4
_AS_LABELLED = 0.8
"""Least probability of a row by the label that what is meant has in print."""

_KIND_OF_PART = any_case(
    r"segment|business|division|unit|product|service|brand|categor|line|channel|customer|group|part|"
    r"source|type|kind|class|operation|compan|subsidiar|\b(?:ones?|them|these|those)\b"
)
"""What any parts of a company may be called."""
_IN_FULL = {"ww": "Worldwide", "intl": "International", "int'l": "International"}
_GEOGRAPHIC = any_case(r"region|countr|geograph|area|market|continent")

MOST_READ = 60_000
"""Rows of which what they say is kept: those of some twenty annual reports."""

_MOST_ROWS = 200
_RIVAL = 0.05
"""Less likely rows cast no doubt on a better one."""

_HARDLY_LESS = 0.5
"""Least part of the probability of the likeliest row that a larger one of its name has, to be meant."""

_MOST_PAIRED = 20
_BELOW_ANOTHER_HEADING, _NEITHER_ROW_NOR_COLUMN = 0.7, 0.5
_IN_ANOTHER_TABLE, _ON_ANOTHER_PAGE = 0.6, 0.3
"""How much likelier two rows of one row or column of a table are set against each other than such.

Of 158 ratios and comparisons of two numbers, 131 are of numbers of one page."""

_LITTLE = 0.01
_IN_A_NOTE = 0.5
"""What is left of the score of a row that no statement prints, where rows are shown to people."""

_PART_OF = 0.1
"""What is left of the probability of a part that words do not name; its total takes it over."""

_TOTAL = any_case(r"\W*(?:total|worldwide|consolidated)\b")
_TOTAL_WITHIN = any_case(r"\b(?:total|worldwide|consolidated|company)\b")
_TAKEN_OFF = any_case(r"\W*(?:less|accumulated|net of)\b")
"""A row that is taken off the others of its table, and no part of their total."""

_NO_SPAN = 0.7
"""What is left of the probability of a row whose headers do not tell a quarter from a longer time."""

_BALANCE = 0.3
"""That of a row without spans of time where months are asked for."""

_UNNAMED = 0.02
"""What is left of the probability of a row that does not say a name that is asked for."""

_UNQUALIFIED = 0.3
"""That of a row that does not say a word which makes a known line another, such as 'organic revenue'."""

LEAVES_A_LINE = NAMES_NOTHING | word_set(
    """
    gaap balance shareholders stockholders holders owners investors shareholders' stockholders' attributable
    consolidated overall whole entire companywide outstanding worldwide ww group earn earned earns
    """
)
"""Words of a measure that leave a known line what it is."""

_CHOOSES = LEAVES_A_LINE | word_set("average mean opening closing beginning ending")
"""Words that do not tell a part of a line."""

_ANOTHER_LINE = 0.2
"""That of a row whose label and columns name other lines than the words."""

_LINE_UNSAID = 0.4
"""That of a row which does not say in any words the known line that is asked of a part."""

_RESTATES = (any_case(r"\bcomparable|\bsame[- ]store|\bcomps?\b"), any_case(r"\borganic"))
"""What makes a quantity another, which its row says too."""

_SIGN = re.compile(r"\s*\((?:loss(?:es)?|income|expenses?|benefit)\)")

_OPPOSITE = 0.1
"""What is left of the probability of a row without what is asked for, or with what is to be left out."""

_SAID = r"[^\W_][\w.&'-]*"
_LEFT_OUT = any_case(
    r"\b(?:non(?:[- ]|(?=[a-z]{4}))|ex-)(?P<opposite>[^\W_][\w.&'-]*)|"
    r"\b(?:without|outside(?: of)?(?: the)?|excluding|excl\.|except(?: for)?|before|net of|"
    r"(?:other|rather) than|instead of|as opposed to|"
    r"not (?:including|counting)|(?:leaving|setting|stripping) (?:aside|out)|ignoring|"
    r"not(?: yet)?(?: (?:in|been))?) "
    rf"(?P<behind>(?:the |its |any )*(?:provisions? (?:\([^)]*\) )?for )?{_SAID}"
    rf"(?: (?!(?:in|at|for|from|during|by|on|and|of|to|as|was|were|is|did|has)\b){_SAID}){{0,2}})|"
    rf"\b(?:leaving|setting|putting) (?:the |its |any )*(?P<between>{_SAID}(?: {_SAID})?) aside\b|"
    rf"\b(?P<ahead>{_SAID})(?: part| portion)? (?:not (?:counted|included)|excluded)\b"
)

_REST = any_case(r"\b(?:rest|remainder|elsewhere)\b")
"""What is not the whole."""

_INCLUDING = any_case(r"\bincluding (?:the |its |any )*[\w-]+(?: [\w-]+){0,2}")
_INCLUDED = any_case(r"(\w),? (?:which |that )includ(?:es?|ed)\b.*")
"""What is a part of the quantity that a label names before it."""

_OTHER = any_case(r"\bother\b(?! words\b)")
_OPENING = any_case(r"\b(?:beginning|opening|start of)\b")
_CLOSING = any_case(r"\b(?:end|ending|closing|close)\b")

_FOOTNOTE = re.compile(r"\s*(?:\(\w\)\s*)+$")

_OUTFLOW = any_case(
    r"^(?:\W*)(?:payments?|purchases?|repurchases?|acquisitions?|additions?|expenditures?|capital|dividends?|"
    r"cash (?:paid|dividends)|repayments?|investments?|distributions?|cost|common stock|treasury)\b"
)


_NETTED = any_case(
    r"\b(?:net|change|(?:in|de)crease|proceeds|provided|used|effects?|gains?|loss(?:es)?|income|earnings|other|"
    r"deferred|adjustments?)\b"
)
"""Rows of cash flows with either sign."""


def is_outflow(label: str) -> bool:
    """Whether a row is of money that is paid, whatever sign is printed."""
    return any(_OUTFLOW.match(part) for part in label.split(" > "))


def is_netted(label: str) -> bool:
    """Whether a number of such a name may have either sign."""
    return _NETTED.search(label.split(" > ")[-1]) is not None


def _is_paid(row: FilingRow) -> bool:
    """Whether a row of cash flows is of money that is paid: by its name, or as it is deducted every year."""
    if row.statement != "cash_flows":
        return False
    deducted = all(value.value <= 0 for value in row.values) and not is_netted(row.label)
    return deducted or is_outflow(row.label)


@dataclass(frozen=True, slots=True)
class PrintedFact(Fact):
    """A number of any printed row, as a fact."""

    @property
    def told(self) -> bool:
        """Whether a sentence tells it, and no table."""
        return self.fact_id.rsplit(":", 3)[1].startswith("-")


@dataclass(frozen=True)
class RowFact:
    """A number of a row, and the probability that it is what was asked for.

    Attributes:
        signs: `SIGNS` of the row, and how far it is ``ahead`` of the next that prints other numbers, in
            log-odds; None where no encoder tells them.
    """

    fact: Fact
    probability: float
    row: FilingRow
    signs: Mapping[str, float] | None = None


@dataclass(frozen=True)
class _Candidate:
    """A row with its number of the period asked for and those of all periods of the question."""

    chance: float
    place: int
    row: FilingRow
    order: int
    fact: Fact
    together: tuple[Fact | None, ...]


@dataclass(frozen=True)
class Part:
    """A part of a whole, such as a segment, with its facts of the periods asked for."""

    name: str
    facts: tuple[Fact, ...]
    row: FilingRow


_WHOLE = any_case(
    r"\W*(?:(?:total|consolidated|eliminations?|intersegment|unallocated|worldwide|reconcil\w*|company|sub-?total)\b|"
    r"corporate\W*(?:$|items|costs?|expenses?|(?:and|&) (?:other|unallocated|eliminations?))|%)|.*\bchange\b"
)


def nearness(one: FilingRow, other: FilingRow) -> float:
    """How likely two rows are set against each other by where they stand, beside two of one row or column."""
    if (one.filing, one.page) != (other.filing, other.page):
        return _IN_ANOTHER_TABLE if one.statement or other.statement else _ON_ANOTHER_PAGE
    if one.table != other.table:
        return _IN_ANOTHER_TABLE
    if one.columns == other.columns:
        return 1.0 if one.path[:-1] == other.path[:-1] else _BELOW_ANOTHER_HEADING
    return 1.0 if one.path == other.path else _NEITHER_ROW_NOR_COLUMN


class ReadRows:
    """What rows say, and their numbers as facts: made once, for one question after the other."""

    def __init__(self) -> None:
        self._facts: dict[int, tuple[FilingRow, Sequence[Fact]]] = {}
        self._texts: dict[int, tuple[FilingRow, str]] = {}

    def facts(self, row: FilingRow, info: FilingInfo) -> Sequence[Fact]:
        """The numbers of a row that have a period."""
        known = self._facts.get(id(row))
        if known is None or known[0] is not row:
            facts = [fact for value in row.values if (fact := row_fact(row, value, info)) is not None]
            known = _kept(self._facts, row, facts)
        return known[1]

    def text(self, row: FilingRow) -> str:
        """What a row says, its caption too, in lower case."""
        known = self._texts.get(id(row))
        if known is None or known[0] is not row:
            known = _kept(self._texts, row, _plain(row))
        return known[1]


def _kept(known: dict[int, tuple[FilingRow, Read]], row: FilingRow, read: Read) -> tuple[FilingRow, Read]:
    if len(known) >= MOST_READ:
        known.clear()
    made = known[id(row)] = row, read
    return made


class RowBook:
    """Printed rows of a company's filings.

    Args:
        filings: the filings in order of preference, with their rows as `in_series` gives them.
        match: tells how likely each row is what words name.
        names: names of products, segments and places; one that the words have must stand in the row.
        together: periods that one row should show.
        unit: that numbers should have; None for any.
        question: that is asked, without companies.
        read: what rows say, as other questions have read it.

    Attributes:
        asked_as: the question that words are looked up with, of those that stand for others of it.
        labels: those words that are the printed label of what is surely meant.
    """

    def __init__(
        self,
        filings: Sequence[tuple[FilingInfo, Sequence[FilingRow]]],
        match: Match,
        names: Sequence[str] = (),
        together: Sequence[FiscalPeriod] = (),
        unit: str | None = None,
        question: str = "",
        read: ReadRows | None = None,
    ) -> None:
        self._question = question
        self.asked_as: dict[str, str] = {}
        self.labels: set[str] = set()
        self.names = names
        self._together = together
        self._unit = unit
        self._infos = {info.filing: info for info, _ in filings}
        self._order = {info.filing: place for place, (info, _) in enumerate(filings)}
        of_years = (info for info, _ in filings if info.annual and info.fiscal_quarter is None)
        self._of_years = {info.filing for info in of_years}  # a release of a fourth quarter shows that too
        coming = DUE.search(question) is None
        self._ends = {info.filing: info.period_end for info, _ in filings if coming and info.period_end}
        said = set(terms(" ".join((question, *names))))
        self._rows = [_below_its_part(row, said) for _, rows in filings for row in rows]
        self._totals = {_siblings(row): at for at, row in enumerate(self._rows) if _TOTAL.match(row.label)}
        self._total_columns = {
            _columns_of(row): at for at, row in enumerate(self._rows) if _TOTAL.match(_column_of(row))
        }
        self._closings: dict[tuple[object, ...], list[int]] = {}
        for at, row in enumerate(self._rows):
            if _CLOSING.search(row.label):
                self._closings.setdefault((_siblings(row), row.columns), []).append(at)
        self._by_table: dict[tuple[object, ...], list[FilingRow]] = {}
        for row in self._rows:
            self._by_table.setdefault(_table_of(row), []).append(row)
        self._read = read if read is not None else ReadRows()
        self._texts = [self._read.text(row) for row in self._rows]
        self._match = match
        self._rated = lru_cache(64)(self._rate)
        self._looked_up: list[tuple[str, tuple[FiscalPeriod, ...]]] = []
        self._showing = lru_cache(64)(self._rows_showing)
        self.shows = lru_cache(64)(self._shows)

    def _shows(self, period: FiscalPeriod) -> bool:
        """Whether any row has a number of the period."""
        return any(self._of_period(row, period) is not None for row in self._rows)

    def says(self, words: str) -> bool:
        """Whether words stand in the labels, headings or columns of a row, in whatever case."""
        said = any_case(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])")
        return any(said.search(" ".join((*row.path, *row.columns))) for row in self._rows)

    def tells(self, word: str) -> bool:
        """Whether the stem of a word stands in what a row says, its caption too."""
        return any(any(stem in text for text in self._texts) for stem in terms(word))

    def prints(self, name: str) -> bool:
        """Whether a name stands in the labels, headings or columns of a row, and nowhere in lower case."""
        small = re.compile(rf"(?<![^\W_]){re.escape(name.lower())}(?![^\W_])")
        if any(small.search(" ".join((*row.path, *row.columns, row.caption))) for row in self._rows):
            return False
        return self.says(name)

    def find(
        self,
        words: str,
        period: FiscalPeriod,
        apart: Fact | None = None,
        unit: str | None = None,
        pair: tuple[FilingRow, FilingRow] | None = None,
    ) -> RowFact | None:
        """The number of a period in the row that words name; None where no row has one.

        Of several periods all are taken from one row where it shows them.

        Args:
            words: of the question, without companies and periods.
            period: asked for; a longer one is never taken in its place.
            apart: a number that it is not.
            unit: that it has; None for any.
            pair: the row that is meant as it stands with the one behind it, near which others are likelier
                too.
        """
        found = self._candidates(words, period, apart, unit)
        if pair is not None:
            near = [replace(one, chance=one.chance * nearness(pair[1], one.row)) for one in found]
            found = iter(sorted(near, key=lambda one: -one.chance))
        groups = _agreeing(found)
        if not groups:
            return None
        groups.sort(key=_doubt)
        groups = _in_one_series(groups)
        if pair is not None:
            groups.sort(key=lambda group: all(one.row is not pair[0] for one in group))
        chance, label = groups[0][0].chance, _label(groups[0][0].fact)
        # The line of a primary statement is the whole; rows of its name elsewhere are of parts.
        named = set(terms(with_places(groups[0][0].row.text))) - set(terms(label))
        wholes = (
            group
            for group in groups
            if any(one.fact.scope == "primary" and _label(one.fact) == label for one in group)
        )
        if pair is not None:
            wholes = (group for group in wholes if group is groups[0])
        whole = next(wholes, None) if named.isdisjoint(terms(words)) else None
        best = whole or _largest_of_namesakes(groups, self._question) or groups[0]
        others = [g for g in groups if g is not best and not (whole and _label(g[0].fact) == label)]
        rivals = sum(group[0].chance for group in others[:3] if group[0].chance > _RIVAL)
        first = min(
            best, key=lambda one: (one.row.table < 0, -round(one.chance, 3), one.order, one.fact.page)
        )
        probability = chance * chance / (chance + rivals) if chance else 0.0
        next_best = max((group[0].chance for group in others), default=0.0)
        ahead = float(log_odds(chance) - log_odds(next_best))
        return RowFact(first.fact, probability, first.row, self._signs(words, period, first.place, ahead))

    def _signs(
        self, words: str, period: FiscalPeriod, place: int, ahead: float
    ) -> Mapping[str, float] | None:
        """What tells how sure the row at a place is, see `RowFact`."""
        signs = self._rated(words, self._periods_with(period)).signs
        if signs is None:
            return None
        told = signs.get(place, np.zeros(len(SIGNS)))
        return dict(zip(SIGNS, told.tolist(), strict=True)) | {AHEAD: ahead}

    def _candidates(
        self, words: str, period: FiscalPeriod, apart: Fact | None, unit: str | None
    ) -> Iterator[_Candidate]:
        """Rows with a number of a period that words may name, the likeliest first."""
        chances = self._probabilities(words, self._periods_with(period))
        opening = self._opens(words)
        for place in np.argsort(-chances, kind="stable")[:_MOST_ROWS]:
            if chances[place] <= 0:
                return
            row = self._rows[place]
            opens = opening and _OPENING.search(row.label) is not None
            fact = self._of_period(row, period, opens)
            if fact is None or (apart is not None and _same(fact, apart)):
                continue
            if unit is not None and fact.unit != unit:
                continue
            together = tuple(self._of_period(row, other, opens) for other in self._together)
            chance = float(chances[place])
            if fact.months is None and period.end is not None and period.months:
                chance *= _BALANCE
            elif fact.months is None and period.quarter is not None:
                chance *= _NO_SPAN
            yield _Candidate(chance, int(place), row, self._order[row.filing], fact, together)

    def pair(
        self,
        first: str,
        second: str,
        period: FiscalPeriod,
        units: tuple[str | None, str | None],
        share: bool = False,
    ) -> tuple[FilingRow, FilingRow] | None:
        """The rows of two numbers that are set against each other, as they most likely stand together.

        None where no two rows have numbers of the period that differ. The second of a ``share`` is the whole.
        """
        likely: list[list[tuple[float, _Candidate]]] = []
        for words, unit in zip((first, second), units, strict=True):
            found = itertools.islice(self._candidates(words, period, None, unit), _MOST_PAIRED)
            likely.append([(1 - _doubt(group), one) for group in _agreeing(found) for one in group])
        pairs = [
            (chance * other_chance * nearness(one.row, other.row), one.row, other.row)
            for (chance, one), (other_chance, other) in itertools.product(*likely)
            if not _same(one.fact, other.fact)
            and not (
                share and (abs(one.fact.value) > abs(other.fact.value) or _are_parts(one.row, other.row))
            )
        ]
        _, *rows = max(pairs, key=itemgetter(0), default=(0.0,))
        return (rows[0], rows[1]) if rows else None

    def closest(self, words: str, period: FiscalPeriod) -> list[FilingRow]:
        """Rows that words may name, the likeliest first; of any period where none shows the one asked for.

        What was looked up with more words, to be answered, is not looked up again.
        """
        words = self.looked_up(words, period) or words
        chances = self._probabilities(words, self._periods_with(period))
        if not (chances > _LITTLE).any() and self._rows:
            lessened = partial(self._lessened, words)
            chances = self._match(words, self._rows, self._question, lessened).chances
        scores = chances * np.array([1.0 if row.statement else _IN_A_NOTE for row in self._rows])
        return [self._rows[place] for place in np.argsort(-scores, kind="stable") if chances[place] > _LITTLE]

    def looked_up(self, words: str, period: FiscalPeriod) -> str | None:
        """Words that were looked up for a period and say all of these; None where there are none."""
        said, periods = {*words.split()}, self._periods_with(period)
        known = (other for other, when in self._looked_up if when == periods and said <= {*other.split()})
        return next(known, None)

    def share(
        self, part: str, whole: str, period: FiscalPeriod, dated: bool
    ) -> tuple[float, Fact, Fact] | None:
        """A number and the total of its own table that words name as its whole.

        Args:
            part: words of the part.
            whole: words of the whole; a total that says them, or stands in a table that does, is meant.
            period: of both.
            dated: whether the question names it; else totals over periods are preferred.

        Returns:
            How likely these are meant, the part and the whole; None where no row has a total.
        """
        chances = self._probabilities(part, self._periods_with(period))
        said = {stem for word in whole.split() if self.tells(word) for stem in terms(word)}
        named = terms(" ".join(name for name in self.names if name in whole.split()))
        found: list[tuple[float, int, Fact, Fact]] = []
        for place in np.argsort(-chances, kind="stable")[:_MOST_ROWS]:
            row = self._rows[place]
            if chances[place] <= _LITTLE or (fact := self._of_period(row, period)) is None:
                continue
            if _TAKEN_OFF.match(row.label):
                continue
            for total in self._totals_of(row, set(terms(part)), dated):
                over = self._of_period(total, period)
                if over is None or over.unit != fact.unit or abs(over.value) <= abs(fact.value):
                    continue
                told = set(terms(" ".join((total.caption, *total.path, *total.columns))))
                chance = float(chances[place]) * (len(said & told) / len(said) if said else 1.0)
                if not told.issuperset(named):
                    chance *= _UNNAMED
                labelled = len(said & set(terms(total.label)))
                found.append((chance, labelled, fact, over))
        found.sort(key=lambda one: (-one[0], -one[1]))
        if not found or not found[0][0]:
            return None
        chance, _, fact, over = found[0]
        rivals = [one for one, _, other, _ in found[1:] if one > _RIVAL and not _same(fact, other)]
        return chance * chance / (chance + sum(rivals[:3])), fact, over

    def saying(self, words: str, period: FiscalPeriod, of: Callable[[FilingRow], bool]) -> RowFact | None:
        """The number of the rows that say all words, below the fewest headings of columns.

        Args:
            words: each must be said.
            period: of the number.
            of: what else must hold of a row.

        Returns:
            None where no such row shows the period, or these print different numbers.
        """
        said = _terms_and_other(words)
        stems = tuple(stem.lower() for stem in said)
        likely = (
            row
            for row, text in zip(self._rows, self._texts, strict=True)
            if stems and all(stem in text for stem in stems)
        )
        rows = [row for row in likely if said <= _terms_and_other(row.text) and of(row)]
        found = [(fact, row) for row in rows if (fact := self._of_period(row, period)) is not None]
        fewest = min((len(row.columns) for _, row in found), default=0)
        found = [(fact, row) for fact, row in found if len(row.columns) == fewest]
        if not found or not all(_same(found[0][0], fact) for fact, _ in found):
            return None
        return RowFact(found[0][0], _PLAINLY, found[0][1])

    def _totals_of(self, row: FilingRow, said: set[str], dated: bool) -> list[FilingRow]:
        """Totals below a row whose label words name; beside it, where they name its column."""
        siblings = [other for other in self._by_table[_table_of(row)] if other is not row]
        beside = [one for one in siblings if one.path == row.path and any(map(_TOTAL.match, one.columns))]
        if said.isdisjoint(terms(row.label)):
            return [] if said.isdisjoint(terms(" ".join(row.columns))) else beside
        if beside and not dated and not any(map(_TOTAL.match, row.columns)):
            beside_only = said.isdisjoint(terms(" ".join(row.columns)))
            return [] if beside_only else [one for one in siblings if _is_total(one, row)]
        return [one for one in siblings if _is_total(one, row)]

    def families(
        self,
        words: str,
        one_of: str,
        periods: Sequence[FiscalPeriod],
        left_out: str | None = None,
        whole: float | None = None,
        called: Collection[str] = (),
    ) -> tuple[float, list[Part]] | None:
        """The parts of a whole, such as segments, with their numbers of what words name.

        Parts stand below each other under one heading, are headings of rows with one label, or columns.

        Args:
            words: what is compared.
            one_of: what the parts are called.
            periods: that every part must show.
            left_out: parts with these words are left out.
            whole: the number of the whole company for the last period, where it is known; what adds up to it
                surely are its parts.
            called: names of the parts in lower case, where they are known.

        Returns:
            How likely these are the parts meant, and the parts; None where no table shows any.
        """
        measured = set(terms(words))
        heads: list[FilingRow] = []
        found: list[list[Part]] = []
        for key, members in self._groups.items():
            parts = []
            for name, row in members:
                facts = [fact for period in periods if (fact := self._of_period(row, period)) is not None]
                is_whole = _WHOLE.match(name) or not measured.isdisjoint(terms(name))
                if len(facts) == len(periods) and not is_whole:
                    parts.append(Part(_FOOTNOTE.sub("", name).strip(" :"), tuple(facts), row))
            names = {part.name for part in parts}
            units = {fact.unit for part in parts for fact in part.facts}
            if len(names) < 2 or len(names) != len(parts) or len(units) > 1:
                continue
            if called and {name.lower() for name in names} != {*called}:
                continue
            first = parts[0].row
            shared = [piece for piece in (*first.path, *first.columns) if piece.strip(" :") not in names]
            own = [*(piece for piece in key[3:] if isinstance(piece, str)), *shared]
            heads.append(replace(first, path=tuple(dict.fromkeys(own)), columns=(), values=first.values))
            found.append(parts)
        if not heads:
            return None
        chances = self._match(words, heads, self._question, unlessened).chances.copy()
        for at, (head, parts) in enumerate(zip(heads, found, strict=True)):
            total = sum(part.facts[-1].value for part in parts)
            if whole and abs(total - whole) <= _PARTS_ADD_UP * abs(whole):
                chances[at] = max(chances[at], _SURELY)
            chances[at] *= _called(one_of, head, parts)
            if left_out and not any(left_out.lower() in part.name.lower() for part in parts):
                chances[at] *= _UNSAID
        best = int(np.argmax(chances))
        kept = [part for part in found[best] if not (left_out and left_out.lower() in part.name.lower())]
        return float(chances[best]), kept

    @cached_property
    def _groups(self) -> dict[Place, list[tuple[str, FilingRow]]]:
        """Rows that differ in one thing, with what that is called: in label, heading or column."""
        groups: dict[Place, list[tuple[str, FilingRow]]] = {}
        for row in self._rows:
            if row.path and not (row.statement and len(row.path) == 1):  # lines of a statement are no parts
                place = (*_table_of(row), row.path[:-1], row.columns)
                groups.setdefault(place, []).append((row.path[-1], row))
            if len(row.path) > 1:
                label = _SIGN.sub("", row.path[-1].lower())
                place = (*_table_of(row), row.path[:-2], label, row.columns)
                groups.setdefault(place, []).append((row.path[-2], row))
            if row.columns:
                groups.setdefault((*_table_of(row), row.row), []).append((" ".join(row.columns), row))
        return groups

    def _opens(self, words: str) -> bool:
        """Whether the balance that a period begins with is asked for."""
        said = f"{words} {self._question}"
        return _OPENING.search(said) is not None and not _CLOSING.search(said)

    def _periods_with(self, period: FiscalPeriod) -> tuple[FiscalPeriod, ...]:
        """All periods of the question, where a period is one of them."""
        return tuple(self._together) if period in self._together else (period,)

    def _rows_showing(self, periods: tuple[FiscalPeriod, ...]) -> tuple[list[int], list[FilingRow]]:
        """Rows with a number of one of the periods, or the balance that one begins with, and their places."""
        places = [
            place
            for place, row in enumerate(self._rows)
            if any(
                self._of_period(row, period, opening) is not None
                for opening in ((False, True) if _OPENING.search(row.label) else (False,))
                for period in periods
            )
        ]
        return places, [self._rows[place] for place in places]

    def _probabilities(self, words: str, periods: tuple[FiscalPeriod, ...]) -> np.ndarray:
        return self._rated(words, periods).chances

    def _rate(self, words: str, periods: tuple[FiscalPeriod, ...]) -> Rated:
        """How likely each row is meant; rows without a number of the periods are not."""
        chances = np.zeros(len(self._rows))
        self._looked_up.append((words, periods))
        places, rows = self._showing(periods)
        if not places:
            return Rated(chances)

        def lessened(among: Sequence[int]) -> np.ndarray:
            return self._lessened(words, [places[at] for at in among])

        rated = self._match(words, rows, self.asked_as.get(words, self._question), lessened)
        chances[places] = rated.chances
        if words in self.labels:
            label = normal_label(words)
            same = [at for at, row in zip(places, rows, strict=True) if normal_label(row.label) == label]
            chances[same] = np.maximum(chances[same], _AS_LABELLED * self._lessened(words, same))
        likely = np.flatnonzero(chances > _LITTLE)
        chances[likely] *= self._against(words, likely.tolist())
        self._prefer_totals(_terms_and_other(words), chances)
        if _has_and_lacks(words)[1] or _REST.search(words):  # of which a total leaves out nothing
            chances[[_TOTAL.match(row.label) is not None for row in self._rows]] *= _OPPOSITE
        if not self._opens(words):
            self._prefer_closing(chances)
        if len(self._together) > 1:
            shown = np.array(
                [
                    sum(self._of_period(row, period) is not None for period in self._together)
                    if chance > 0.01
                    else 0
                    for row, chance in zip(self._rows, chances, strict=True)
                ]
            )
            chances *= 0.5 + 0.5 * shown / len(self._together)
        signs = rated.signs
        return Rated(chances, signs and {places[at]: told for at, told in signs.items()})

    def _lessened(self, words: str, places: Sequence[int]) -> np.ndarray:
        """What is left of the probability of rows that do not say what words name, shape (places,)."""
        left = np.ones(len(places))
        rows = [self._rows[place] for place in places]
        texts = [self._texts[place] for place in places]

        for word in _qualifiers(words):
            _lessen(left, (word not in text for text in texts), _UNQUALIFIED)
        _, without = _has_and_lacks(self._question or words)
        for name in [name for name in self.names if name in words] or self._small_names(words):
            if without and without >= set(terms(name)):
                continue
            bare = re.escape(name.lower().removesuffix("'s"))
            said = any_case(rf"(?<![a-z0-9]){bare}")
            _lessen(left, (said.search(text) is None for text in texts), _UNNAMED)
        for phrases in _lines_said(words):
            _lessen(left, (not any(one.search(text) for one in phrases) for text in texts), _LINE_UNSAID)
        _, part = self._of_other_lines(words, rows)
        _lessen(left, part, _PART_OF)
        if "other" in _terms_and_other(words):  # 'Other assets' are not the assets, nor their total
            _lessen(left, ("other" not in text for text in texts), _UNNAMED)
        return left

    def _against(self, words: str, places: Sequence[int]) -> np.ndarray:
        """What is left of the probability of rows of something else than words name, shape (places,)."""
        left = np.ones(len(places))
        rows = [self._rows[place] for place in places]

        line, behind = _said_behind(words)
        if any(self._is_headed(line, word) for word in behind):
            # 'Net income regulated utilities' is not that of the company.
            whole = (row.statement is not None and not row.columns for row in rows)
            lacks = (not any(word in self._texts[place] for word in behind) for place in places)
            _lessen(left, map(all, zip(whole, lacks, strict=True)), _UNQUALIFIED)
        inside = _included_terms(self._question)
        if inside and not inside >= set(terms(words)):
            # 'Equity including minority interests' is not these alone.
            _lessen(left, (inside >= set(terms(row.label)) for row in rows), _UNNAMED)
        another, _ = self._of_other_lines(words, rows)
        _lessen(left, another, _ANOTHER_LINE)
        for said in filter(None, (one.search(words) for one in _RESTATES)):
            _lessen(left, (said.re.search(self._texts[place]) is None for place in places), _UNQUALIFIED)
        said_words = _terms_and_other(words)
        _lessen(left, (_of_equity_part(row, said_words) for row in rows), _PART_OF)
        _, without = _has_and_lacks(self._question or words)
        wanted = set(terms(words)) - without

        def is_opposite(row: FilingRow) -> bool:
            _, lacks = _has_and_lacks(" | ".join((*row.path, *row.columns)))
            has, _ = _has_and_lacks(" | ".join((row.label, *row.columns)))
            return not (wanted.isdisjoint(lacks) and without.isdisjoint(has))

        _lessen(left, map(is_opposite, rows), _OPPOSITE)
        return left

    def _of_other_lines(self, words: str, rows: Sequence[FilingRow]) -> tuple[list[bool], list[bool]]:
        """Which rows are of other lines than words name, and which of a line whose part they name.

        'Accrued liabilities for insurance' are not the line of accrued liabilities, where other rows speak of
        insurance.
        """
        another, part = [False] * len(rows), [False] * len(rows)
        named = formula_lexicon().named(words.lower())
        if not named:
            return another, part
        said = {word for text in named.values() for word in text.split()}
        kept = _LEFT_OUT.sub(lambda out: out[0] if out[0].lower().startswith("not") else " ", words)
        rest = naming_words(kept).split()
        rest = [word for word in rest if word.lower() not in said | _CHOOSES and word.isalpha()]
        rest_stems = [set(terms(word)) for word in rest if self.tells(word)]
        wanted = set(terms(words))
        for at, row in enumerate(rows):
            printed = (
                (row.label, *row.columns),
                row.path[:-1],
                (" ".join(row.caption.split()[:CAPTION_WORDS]),),
            )
            lines = next(filter(None, (_lines_named(" | ".join(parts)) for parts in printed)), {})
            if lines and lines.keys().isdisjoint(named):
                another[at] = all(wanted.isdisjoint(stems) for stems in lines.values())
            elif lines and rest_stems:
                own = set(terms(with_places(row.text)))
                part[at] = all(stems.isdisjoint(own) for stems in rest_stems)
        return another, part

    def _is_headed(self, line: Sequence[re.Pattern[str]], word: str) -> bool:
        """Whether a row of a line stands below or beside a heading with a word."""
        headed = (r for r in self._rows if word in " ".join((*r.path[:-1], *r.columns)).lower().split())
        return any(way.search(row.label.lower()) for row in headed for way in line)

    def _small_names(self, words: str) -> list[str]:
        """Names in a question without capitals: no everyday words, and never printed without one."""
        reader = question_reader()
        if reader is None or not self._question or self._question != self._question.lower():
            return []
        rare = (word for word in naming_words(words).split() if not reader.is_word(word))
        return [word for word in rare if self.prints(word)]

    def _prefer_closing(self, chances: np.ndarray) -> None:
        """Give a closing balance the probability of the opening one above it too, and leave that a little."""
        for place in np.flatnonzero(chances > _LITTLE):
            row = self._rows[place]
            if _OPENING.search(row.label):
                for at in self._closings.get((_siblings(row), row.columns), ()):
                    chances[at] = min(1.0, chances[at] + chances[place])
                    chances[place] *= _PART_OF

    def _prefer_totals(self, said: set[str], chances: np.ndarray) -> None:
        """Give a total the probability of its parts where words name none of them; else take its own.

        Rows below each other are such, and columns beside each other.
        """
        rows = (self._totals, _siblings, attrgetter("label"))
        columns = (self._total_columns, _columns_of, _column_of)
        for totals, place_of, name_of in (rows, columns):
            parts: dict[Place, list[int]] = {}
            for place in np.flatnonzero(chances > _LITTLE):
                row = self._rows[place]
                if not _TOTAL.match(name_of(row)) and place_of(row) in totals:
                    parts.setdefault(place_of(row), []).append(int(place))
            for siblings, places in parts.items():
                total = totals[siblings]
                own = set(terms(name_of(self._rows[total])))
                if any(said & _terms_and_other(name_of(self._rows[place])) - own for place in places):
                    chances[total] *= _PART_OF
                    continue
                chances[total] = max(chances[total], *chances[places])
                chances[places] *= _PART_OF

    def _of_period(self, row: FilingRow, period: FiscalPeriod, opening: bool = False) -> Fact | None:
        """The number of a period; of an opening balance that of the day before it begins."""
        info = self._infos[row.filing]
        if opening and period.end is None and not all(value.months for value in row.values):
            period = period.shift(-1)
        if row.filing in self._of_years and period.quarter and period.length < 12 and not _is_dated(row):
            return None  # a table without periods shows those of its filing
        fitting = (fact for fact in self._read.facts(row, info) if fits(fact, info, period) == 0)
        fitting = (fact for fact in fitting if not self._is_to_come(fact))
        shown = [fact for fact in fitting if self._unit is None or fact.unit in ("", self._unit)]
        if shown and shown[0].months is None:  # of balances within a year that at its end
            return max(shown, key=lambda fact: fact.period_end or dt.date.min)
        return shown[0] if shown else None

    def _is_to_come(self, fact: Fact) -> bool:
        """Whether a number is of a time behind its filing, and the question does not ask what is due."""
        end = self._ends.get(fact.filing)
        return end is not None and fact.period_end is not None and (fact.period_end - end).days > WEEK


def in_series(rows: Sequence[FilingRow]) -> list[FilingRow]:
    """Rows as series of one quantity over periods, whichever way their table stands.

    A row is taken once for each heading of its columns that is no period, such as those of segments; rows of
    a table that differ only in the period that they name, such as years below each other, are one.
    """
    found: dict[tuple[object, ...], FilingRow] = {}
    for row in rows:
        for part in map(_of_coming_year, _by_heading(_spelled_out(row))):
            place = _table_of(row)
            dated = part.values[0].period_end is not None
            headings = tuple(one for one in part.path[:-1] if not (dated and tells_only_time(one)))
            label = _undated(part.label) if dated else part.label
            if (*headings, label) != part.path:
                path, columns = (*headings, label), part.columns
                if not label and columns:  # the row is a period, its columns are what is shown
                    path, columns = (*part.path[:-1], columns[-1]), columns[:-1]
                part = replace(part, path=path if path[-1] else part.path, columns=columns)
                same = found.get((*place, path, columns))
                if same is None or _periods(same).isdisjoint(_periods(part)):
                    values = (*same.values, *part.values) if same else part.values
                    found[*place, path, columns] = replace(same or part, values=values)
                    continue
            found[*place, part.row, part.columns] = part
    return list(found.values())


def _spelled_out(row: FilingRow) -> FilingRow:
    """A row below headings such as 'WW' and 'Intl', as they are called in full."""
    full = tuple(_IN_FULL.get(heading.lower().rstrip("."), heading) for heading in row.path)
    return row if full == row.path else replace(row, path=full)


def _of_coming_year(row: FilingRow) -> FilingRow:
    """A row of a schedule, such as of maturities, with the year that it is called as that of its numbers."""
    years = _YEAR.findall(row.label)
    if len(years) != 1 or not tells_only_time(row.label):
        return row
    year = int(years[0])

    def due(value: RowValue) -> RowValue:
        end = value.period_end
        if end is None or value.fiscal_year is None or value.fiscal_year >= year:
            return value
        end = end.replace(year=end.year + year - value.fiscal_year, day=min(end.day, 28))
        return replace(value, period_end=end, months=12, fiscal_year=year, fiscal_quarter=None)

    return replace(row, values=tuple(map(due, row.values)))


def _periods(row: FilingRow) -> set[tuple[dt.date | None, int | None]]:
    return {(value.period_end, value.months) for value in row.values}


_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DATED = any_case(
    r"[\s,]*\b(?:(?:as of|at|as at|on|ended|ending|for the|the|fiscal|years?)\s+)*"
    r"(?:(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?(?:\s\d{1,2})?\s?,?\s?)?(?:19|20)\d\d\b"
    r"[\s,]*"
)


def _undated(label: str) -> str:
    """A label without the dates that it names; '' where it is nothing but a period."""
    return "" if tells_only_time(label) else _DATED.sub(" ", label).strip(" ,:")


def _by_heading(row: FilingRow) -> list[FilingRow]:
    parts: dict[tuple[str, ...], list[RowValue]] = {}
    dated = any(value.period_end for value in row.values)
    for value in row.values:
        if dated and not value.period_end:  # beside years, such as 'thereafter'
            continue
        shown = (
            value.column if value.unit == "percent" else (part for part in value.column if "%" not in part)
        )
        words = tuple(part for part in shown if part in row.columns)
        parts.setdefault(words, []).append(value)
    return [replace(row, columns=words, values=tuple(values)) for words, values in parts.items()]


def _is_dated(row: FilingRow) -> bool:
    return any(value.period_end for value in row.values) or bool(find_dates(squeeze(row.label)))


def row_fact(row: FilingRow, value: RowValue, info: FilingInfo) -> Fact | None:
    """A number of a row as a fact; None where neither headers nor label tell its period."""
    end, months, year, quarter = value.period_end, value.months, value.fiscal_year, value.fiscal_quarter
    if end is None and (days := [day for _, _, day in find_dates(squeeze(row.label))]):
        end, months = days[0], None
        year = days[0].year
    if end is None and info.annual:  # a table without periods shows those of its filing
        end, year, quarter = info.period_end, info.fiscal_year, info.fiscal_quarter
    if end is None:
        return None
    amount = value.value
    if amount < 0 and _is_paid(row):
        amount = -amount  # what is spent is told as an amount
    start = None if months is None else end - dt.timedelta(days=round(months * 365.25 / 12) - 1)
    return PrintedFact(
        fact_id=row.cell_of(value),
        filing=row.filing,
        statement=row.statement or "",
        scope="primary" if row.statement else "note",
        concept=row.concept,
        line=row.concept,
        label=" > ".join((*row.path, *(part for part in value.column if part in row.columns))),
        path=row.path,
        qualifier=None,
        period_start=start,
        period_end=end,
        period_kind="instant" if months is None else "duration",
        fiscal_year=year,
        fiscal_quarter=quarter,
        value=amount,
        unit=value.unit or "",
        currency=value.currency,
        printed=value.printed,
        scale=1.0,
        page=row.page,
        row=row.line_of(value),
        column=value.index,
        box=value.box,
    )


@lru_cache(maxsize=1 << 14)
def _has_and_lacks(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Terms of what a text includes, and of what it leaves out alone: 'earnings before taxes', 'non-U.S.'."""
    lacking = " ".join(found[found.lastgroup or 0] for found in _LEFT_OUT.finditer(text))
    has = frozenset(terms(_LEFT_OUT.sub(" ", text)))
    return has, frozenset(terms(lacking)) - has


@lru_cache(maxsize=1 << 8)
def _qualifiers(words: str) -> tuple[str, ...]:
    """Words of a measure right before a known line, which may make it another; verbs do not."""
    lower = words.lower()
    places = (lower.find(phrase) for phrase in formula_lexicon().named(lower).values())
    before = (word for place in places if place > 0 for word in lower[:place].split()[-2:])
    return tuple(word for word in before if naming_words(word) and not word.endswith("ing"))


@lru_cache(maxsize=1 << 8)
def _included_terms(question: str) -> frozenset[str]:
    """Terms of what a question says to include in what it asks for; none where it says nothing."""
    found = _INCLUDING.search(question)
    return frozenset(terms(found[0])) if found else frozenset()


@lru_cache(maxsize=1 << 8)
def _said_behind(words: str) -> tuple[tuple[re.Pattern[str], ...], tuple[str, ...]]:
    """Ways to say the known line that a measure begins with, and the words behind it, perhaps of a part."""
    lexicon, lower = formula_lexicon(), words.lower()
    lines = [(len(text), name) for name, text in lexicon.named(lower).items() if lower.startswith(text)]
    length, name = max(lines, default=(len(lower), ""))
    behind = tuple(word for word in lower[length:].split() if naming_words(word))
    return tuple(phrase.pattern for phrase in lexicon.phrases_of(name)) if behind else (), behind


@lru_cache(maxsize=1 << 14)
def _lines_named(text: str) -> Mapping[str, frozenset[str]]:
    """Lines and formulas that printed words name, with the stems of these words."""
    return {name: frozenset(terms(said)) for name, said in formula_lexicon().named(text.lower()).items()}


@lru_cache(maxsize=1 << 8)
def _lines_said(words: str) -> tuple[tuple[re.Pattern[str], ...], ...]:
    """Ways to say each known line that words name of a part; but for sales, which tables of parts show."""
    lexicon = formula_lexicon()
    named = {name: text for name, text in lexicon.named(words.lower()).items() if name != "revenue"}
    said = {word for text in named.values() for word in text.split()}
    if not [word for word in naming_words(words).lower().split() if word not in said]:
        return ()
    return tuple(tuple(phrase.pattern for phrase in lexicon.phrases_of(name)) for name in named)


_US = re.compile(r"\bU\.?S\b")


def _terms_and_other(text: str) -> set[str]:
    """Terms of a text, and 'other' where it says so, which is no term elsewhere; of 'U.S.' in full."""
    return {*terms(_US.sub("United States", text)), *(["other"] if _OTHER.search(text) else [])}


def _of_equity_part(row: FilingRow, said: set[str]) -> bool:
    """Whether numbers are tagged for a part of equity, such as retained earnings, that words do not name."""
    tagged = row.statement == "equity" and row.columns and any(value.members for value in row.values)
    return bool(tagged) and said.isdisjoint(terms(row.columns[-1]))


def _is_total(row: FilingRow, part: FilingRow) -> bool:
    return _TOTAL.match(row.label) is not None and row.columns == part.columns


def _below_its_part(row: FilingRow, said: set[str]) -> FilingRow:
    """A row with the part that its section is about as its outermost heading, where a question names that."""
    part = set(terms(row.section)) if row.section and row.statement is None else set()
    if not part or not part <= said or part <= set(terms(row.text)):
        return row
    return replace(row, path=(row.section, *row.path))


def _lessen(left: np.ndarray, where: Iterable[bool], to: float) -> None:
    """Leave only a part of what is left of probabilities where something holds."""
    left[np.fromiter(where, bool, len(left))] *= to


def _table_of(row: FilingRow) -> Place:
    return row.filing, row.page, row.table


def _are_parts(row: FilingRow, other: FilingRow) -> bool:
    """Whether rows of a table show one quantity of two things, of which neither is the whole of the other."""
    if _table_of(row) != _table_of(other) or row.label != other.label:
        return False
    names = zip((*row.path[:-1], *row.columns), (*other.path[:-1], *other.columns), strict=False)
    apart = [(one, another) for one, another in names if one != another]
    deep = len(row.path) == len(other.path) and len(row.columns) == len(other.columns)
    return deep and len(apart) == 1 and not any(_TOTAL_WITHIN.search(name) for name in apart[0])


def _siblings(row: FilingRow) -> Place:
    """What rows below one heading of a table have in common."""
    return *_table_of(row), row.path[:-1]


def _column_of(row: FilingRow) -> str:
    return row.columns[-1] if row.columns else ""


def _columns_of(row: FilingRow) -> Place:
    """What the columns of one row below one heading have in common."""
    return *_table_of(row), row.row, row.path, row.columns[:-1]


def _called(one_of: str, head: FilingRow, parts: Sequence[Part]) -> float:
    """How well parts fit what they are called: places are regions, and what no one names so is doubtful."""
    places = sum(not PLACES.isdisjoint(part.name.lower().split()) for part in parts) / len(parts)
    if _GEOGRAPHIC.search(one_of):
        return 1.0 if places >= _MOSTLY else 0.0
    said = set(terms(f"{head.caption} {' '.join(head.path)}")) & set(terms(one_of))
    doubtful = places >= _MOSTLY and not (said and "segment" in one_of.lower())
    unsaid = _UNSAID if _KIND_OF_PART.search(one_of) else _OPPOSITE
    return (1.0 if said else unsaid) * (_UNNAMED if doubtful else 1.0)


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _plain(row: FilingRow) -> str:
    members = dict.fromkeys(member for value in row.values for member in value.members)
    names = (f"{member} {_CAMEL.sub(' ', member)}" for member in members)
    path = (_INCLUDED.sub(r"\1", part) for part in row.path)
    caption = row.caption.split()[:CAPTION_WORDS]  # what prose mentions behind them names no row
    return with_places(" ".join((*path, *row.columns, *caption, *names))).lower()


def _same(one: Fact, other: Fact) -> bool:
    """Whether two facts print one number, be it with another sign or rounded more."""
    first, second = abs(one.value), abs(other.value)
    return one.unit == other.unit and abs(first - second) <= _SAME * max(first, second)


def _label(fact: Fact) -> str:
    return " ".join(fact.path[-1].lower().split()) if fact.path else ""


def _says(fact: Fact, words: str) -> bool:
    """Whether words are the whole label of a row, a total or not."""
    own, said = (normal_label(text).removeprefix("total ") for text in (_label(fact), words))
    return own == said


def _agree(one: _Candidate, other: _Candidate) -> bool:
    """Whether two rows print the same numbers in all periods that both show; a sentence may round them."""
    pairs = [(one.fact, other.fact), *zip(one.together, other.together, strict=True)]
    told = one.row.table < 0 or other.row.table < 0
    return all(
        _same(first, second) or (told and _rounded_alike(first, second))
        for first, second in pairs
        if first and second
    )


def _rounded_alike(one: Fact, other: Fact) -> bool:
    """Whether one number is another to as many digits as it is printed with."""
    if one.unit != other.unit or not (one.value and other.value):
        return False
    coarser = max((one, other), key=_last_digit)
    return abs(abs(one.value) - abs(other.value)) <= _last_digit(coarser) / 2


def _last_digit(fact: Fact) -> float:
    """What one of the last printed digit of a number stands for, in full units."""
    digits = re.search(r"\d[\d,]*(?:\.(?P<behind>\d+))?", fact.printed)
    number = float(digits[0].replace(",", "")) if digits else 0.0
    behind = len(digits["behind"] or "") if digits else 0
    return abs(fact.value) / number / 10**behind if number else 0.0


def _agreeing(found: Iterable[_Candidate]) -> list[list[_Candidate]]:
    """Rows in groups of those that print the same numbers."""
    groups: list[list[_Candidate]] = []
    for one in found:
        same = next((group for group in groups if _agree(group[0], one)), None)
        if same is None:
            groups.append([one])
        else:
            same.append(one)
    return groups


def _largest_of_namesakes(
    groups: Sequence[Sequence[_Candidate]], question: str
) -> Sequence[_Candidate] | None:
    """Rows with a larger amount than the likeliest, that are called as it is and hardly less likely.

    A segment's table has the labels of that of the whole company, which is meant where a question names no
    segment. None where no amount is larger.
    """
    best = groups[0][0]
    said = set(terms(question))

    def called(one: _Candidate) -> tuple[str, str, str]:
        return one.fact.filing, one.fact.unit, _label(one.fact)

    def is_larger(one: _Candidate) -> bool:
        likely = one.chance >= _HARDLY_LESS * best.chance
        return likely and called(one) == called(best) and abs(one.fact.value) > abs(best.fact.value)

    def says_as_much(one: _Candidate) -> bool:
        own, others = set(terms(one.row.text)), set(terms(best.row.text))
        headed = set(terms(" ".join((*one.row.path[:-1], *one.row.columns))))
        return one.row.text != best.row.text and said & own >= said & others and headed <= others

    if best.fact.unit != "currency":
        return None
    alike = (group for group in groups if is_larger(group[0]) and says_as_much(group[0]))
    return max(alike, key=lambda group: abs(group[0].fact.value), default=None)


def _in_one_series(groups: list[list[_Candidate]]) -> list[list[_Candidate]]:
    """Groups with the one first whose rows show all periods, where it is not much less likely than the best.

    So the numbers of several periods come from one row, and not from one each.
    """
    full = next((group for group in groups if any(None not in one.together for one in group)), None)
    if full is None or full[0].chance < _SERIES * groups[0][0].chance:
        return groups
    return [full, *(group for group in groups if group is not full)]


def _doubt(group: Sequence[_Candidate]) -> float:
    """Probability that no row of a group is meant: those that print the same numbers bear each other out."""
    return math.prod(1 - one.chance for one in group)


class OpenBook(FactBook):
    """Facts of statements; names that are no line of them are looked up among all printed rows.

    Args:
        filings, lexicon, statements, newest, asked: as in `FactBook`.
        read_rows: gives the printed rows when they are first needed.
        lines_too: look up lines that no statement shows as well.
        read_percentages: gives the rows that show percentages, as ``read_rows`` does others; None where those
            show them too.

    Attributes:
        chances: probability of each name looked up among the rows, of its worst period.
        signs: what tells how sure the row of each such name is; None where no encoder does.
        said: words of the question by the line that they name.
        units: that the numbers of names must have.
        pairs: rows of names that are set against others, each with the row of the other.
    """

    def __init__(
        self,
        filings: Sequence[tuple[FilingInfo, Sequence[Fact]]],
        lexicon: Lexicon,
        read_rows: Callable[[], RowBook],
        statements: Sequence[str] = (),
        newest: bool = False,
        asked: str = "",
        lines_too: bool = True,
        read_percentages: Callable[[], RowBook] | None = None,
    ) -> None:
        super().__init__(filings, lexicon, statements, newest=newest, asked=asked)
        self._read_rows, self._lines_too = read_rows, lines_too
        self._read_percentages = read_percentages or read_rows
        self.chances: dict[str, float] = {}
        self.signs: dict[str, Mapping[str, float] | None] = {}
        self.said: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self.pairs: dict[str, tuple[FilingRow, FilingRow]] = {}
        self._apart: dict[str, Fact] = {}

    def tell_apart(self, first: str, second: str, period: FiscalPeriod) -> bool:
        """Look up one of two names as another number than the other from now on, the likelier way round.

        Returns:
            Whether there are two numbers, and the names were not told apart before.
        """
        if self._apart:
            return False
        ways = []
        for kept, other in ((first, second), (second, first)):
            found = self.rows.find(kept, period)
            beside = self.rows.find(other, period, found.fact) if found else None
            if found and beside and beside.probability > _RIVAL:
                ways.append((found.probability * beside.probability, other, found.fact))
        if ways:
            _, name, fact = max(ways, key=lambda way: way[0])
            self._apart[name] = fact
            self.chances.clear()
        return bool(ways)

    @cached_property
    def rows(self) -> RowBook:
        """The printed rows."""
        return self._read_rows()

    @property
    def percentages(self) -> RowBook:
        """The printed rows that show percentages."""
        return self._read_percentages()

    def shows(self, period: FiscalPeriod) -> bool:
        """Whether any fact or printed row is of the period."""
        return super().shows(period) or (self._lines_too and self.rows.shows(period))

    def find_line(self, line: Line, period: FiscalPeriod, by_label: bool = True) -> FoundFact | None:
        """The fact of a line for a period; where no statement has it, that of the row that words name.

        The words are those of the question; of lines that it does not name, such as the parts of a formula,
        their own label, and then the row must say it plainly.
        """
        found = super().find_line(line, period, by_label)
        if found is not None or not self._lines_too:
            return found
        if line.name in self.said:
            return self._printed(self.said[line.name], period)
        return self._printed(line.label, period, _PLAINLY)

    def find_named(self, name: str, period: FiscalPeriod) -> FoundFact | None:
        """The fact of the row that words of the question name, where they name a formula too."""
        words = self.said.get(name)
        return self._printed(words, period, _PLAINLY) if words is not None and self._lines_too else None

    def find_label(self, words: str, period: FiscalPeriod) -> FoundFact | None:
        """The fact of the row that words name; None where there is none of the period.

        'Games revenue' is looked up as 'Games net sales' too, where the company's statement says so.
        """
        own = self._own_words(words, self.rows.names)
        if own is not None and own != words and words not in self._apart:
            first, second = self.rows.find(words, period), self.rows.find(own, period)
            if second and (first is None or second.probability > first.probability):
                return self._printed(own, period)
        return self._printed(words, period)

    def _own_words(self, words: str, names: Sequence[str]) -> str | None:
        """Names of parts beside a known line, with the company's own label in place of the line."""
        for name, phrase in self._lexicon.named(words.lower()).items():
            besides = re.sub(re.escape(phrase), " ", words, flags=re.IGNORECASE).split()
            if not besides or not set(besides) <= set(names):
                continue
            line = self._lexicon.entries.get(name)
            concepts = line.concepts if isinstance(line, Line) else ()
            facts = (fact for concept in concepts for fact in self._by_line.get(concept, ()))
            label = next((normal_label(fact.label) for fact in facts if fact.scope == "primary"), "")
            if label:
                return re.sub(re.escape(phrase), label, words, count=1, flags=re.IGNORECASE)
        return None

    def _printed(self, words: str, period: FiscalPeriod, least: float = 0.0) -> FoundFact | None:
        """The fact of the row that words name with a probability of at least ``least``, which is noted.

        A row that has these words for its label names it plainly, however likely it is.
        """
        found = self.rows.find(
            words, period, self._apart.get(words), self.units.get(words), self.pairs.get(words)
        )
        if found is None or (found.probability < least and not _says(found.fact, words)):
            return None
        if found.fact.unit:
            self.units.setdefault(words, found.fact.unit)  # of one quantity all numbers have one
        if words not in self.chances or found.probability < self.chances[words]:
            self.chances[words], self.signs[words] = found.probability, found.signs
        return FoundFact(found.fact)
