"""Filings a question asks about: company, periods and form read by rule, filings ranked with reasons."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.filings.cover_text import find_dates, squeeze
from finrag_pipeline.resolver.companies import Names, read_companies
from finrag_pipeline.resolver.fit import Facts, Fit, fit, may_fit, read_facts
from finrag_pipeline.resolver.forms import AskedForm, read_form
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.resolver.mentions import (
    Mention,
    every_mention,
    find_mentions,
    first_of_each,
    possible_name,
    unknown_name,
)
from finrag_pipeline.resolver.periods import AskedPeriod, anchor, read_periods
from finrag_pipeline.resolver.tokens import fold, one_line, plain_question
from finrag_pipeline.storage.lake import Lake

MOST_CANDIDATES = 200
"""What more filings than this may fit narrows nothing."""

IDENTITY = (
    "filing", "status", "source", "company", "declared_company", "ticker", "form", "declared_form",
    "fiscal_year", "declared_year", "fiscal_quarter", "declared_quarter", "period_end", "filed",
)  # fmt: skip
"""Columns of ``filings`` that say whose a filing is and of which period."""
_COVER_CHARACTERS = 20_000
_COVER = ("filing", "page", "text")
_WITHOUT_COMPANY = 0.6
_WORTH_NAMING = 0.6
_NOTHING_FITS = 0.1
_OTHER_PERIOD = 0.3
_NEARLY_THE_BEST = 0.97
_ITEM = any_case(r"item\s*([1-9]\.\d\d)(?!\d)")


@dataclass(frozen=True)
class RankedFiling:
    """A filing, how likely a question means it, and why.

    Attributes:
        filing: identifier.
        score: in [0, 1]; from 0.5 on it is likely. Scores of several filings do not sum to 1.
        reasons: what speaks for it, in words.
    """

    filing: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Resolution:
    """What a question asks about.

    Attributes:
        question: the question.
        companies: keys of the companies it names, the surest first; empty if it names none of the index.
        periods: periods it names, the latest first.
        form: ``10-K``, ``10-Q``, ``8-K`` or ``EARNINGS`` if it names one.
        filings: filings that may be meant, best first; empty where nothing matched and all must be searched.
            Of several companies named the best filing of each comes first.
        unknown_company: name of a company that seems to be asked about and is not in the index.
        ties: number of filings at the top that fit equally well, where the question names no company.
        printed_names: the companies' names as the question has them, in the order of ``companies``.
        other_names: further names of these companies in the question, each with the one in ``printed_names``.
    """

    question: str
    companies: tuple[str, ...]
    periods: tuple[AskedPeriod, ...]
    form: str | None
    filings: tuple[RankedFiling, ...]
    unknown_company: str | None = None
    ties: int = 0
    printed_names: tuple[str, ...] = ()
    other_names: tuple[tuple[str, str], ...] = ()

    def allowed(self, most: int = 3) -> tuple[str, ...] | None:
        """Filings to search, at most ``most``; None for no filter.

        A question without a company is filtered only if no more than ``most`` filings fit it equally well.
        """
        if not self.filings or most < 1 or self.ties > most:
            return None
        return tuple(ranked.filing for ranked in self.filings[:most])


class Resolver:
    """Resolves questions against the filings of an index.

    Args:
        filings: rows of the table ``filings``; failed ones are left out.
        covers: text of the first page or pages of a filing, by filing; names, dates and the items of an 8-K
            are read from it.
    """

    def __init__(self, filings: Iterable[Mapping[str, Any]], covers: Mapping[str, str] | None = None) -> None:
        texts = {filing: one_line(text[:_COVER_CHARACTERS]) for filing, text in (covers or {}).items()}
        rows = sorted(
            (row for row in filings if row.get("status", "ok") == "ok"), key=lambda r: str(r["filing"])
        )
        self._names: Names = read_companies(rows, texts)
        self._facts: dict[str, Facts] = {}
        for row in rows:
            text = texts.get(str(row["filing"]), "")
            dates = frozenset(day for _, _, day in find_dates(squeeze(text)))
            self._facts[str(row["filing"])] = read_facts(row, dates, frozenset(_ITEM.findall(text)))
        self._recency = self._rank_by_date()

    def resolve(self, question: str) -> Resolution:
        """Read company, periods and form out of ``question`` and rank the filings; any text will do."""
        text = plain_question(question)
        every = every_mention(text, self._names)
        mentions = first_of_each(every)
        periods, form = read_periods(text, [mention.printed for mention in mentions]), read_form(text)
        if mentions:
            return Resolution(
                question=question,
                companies=tuple(self._names.companies[mention.company].key for mention in mentions),
                periods=periods,
                form=form.form,
                filings=self._of_companies(mentions, periods, form),
                printed_names=tuple(mention.printed for mention in mentions),
                other_names=tuple(
                    dict.fromkeys(
                        (other.printed, mention.printed)
                        for mention in mentions
                        for other in every
                        if other.company == mention.company and fold(other.printed) != fold(mention.printed)
                    )
                ),
            )
        unknown = unknown_name(text, self._names)
        ranked, ties = ((), 0) if unknown else self._of_all(periods, form)
        return Resolution(question, (), periods, form.form, ranked, unknown, ties)

    def stranger(self, question: str) -> str | None:
        """A name that may be of a company without a filing; None where a company of the index is named."""
        resolution, text = self.resolve(question), plain_question(question)
        if resolution.companies or not self._names.companies:
            return None
        return resolution.unknown_company or possible_name(text, self._names)

    def filings_of(self, filing: str) -> tuple[str, ...]:
        """Filings of the company that filed ``filing``, itself included; none if it is unknown."""
        return next((c.filings for c in self._names.companies if filing in c.filings), ())

    def company_of(self, filing: str) -> str:
        """Key of the company that filed ``filing``; the filing itself if it is unknown."""
        return next((c.key for c in self._names.companies if filing in c.filings), filing)

    def companies(self) -> dict[str, str]:
        """Key of the company of each filing."""
        return {filing: company.key for company in self._names.companies for filing in company.filings}

    def named_at(self, question: str) -> tuple[int, ...]:
        """Positions of the first letters of companies' names in the plain characters of a question."""
        text = plain_question(question)
        return tuple(sorted({mention.start for mention in find_mentions(text, self._names)}))

    def _rank_by_date(self) -> dict[str, int]:
        """For each filing, how many of its company and form end later."""
        recency: dict[str, int] = {}
        for company in self._names.companies:
            seen: dict[str | None, int] = {}
            for filing in sorted(company.filings, key=self._ended, reverse=True):
                form = self._facts[filing].form
                recency[filing] = seen.get(form, 0)
                seen[form] = recency[filing] + 1
        return recency

    def _ended(self, filing: str) -> tuple[dt.date, str]:
        facts = self._facts[filing]
        year = max(facts.years, default=dt.MINYEAR)
        return facts.end or dt.date(min(max(year, dt.MINYEAR), dt.MAXYEAR), 1, 1), filing

    def _of_companies(
        self, mentions: Sequence[Mention], periods: tuple[AskedPeriod, ...], form: AskedForm
    ) -> tuple[RankedFiling, ...]:
        # Companies that share a name in the question compete; those named apart are all asked about.
        named_at: dict[int, list[RankedFiling]] = {}
        for mention in mentions:
            company = self._names.companies[mention.company]
            alone = len(company.filings) == 1
            rated = {
                filing: fit(self._facts[filing], periods, form, self._recency[filing], alone)
                for filing in company.filings
            }
            if max(found.score for found in rated.values()) < _NOTHING_FITS:
                rated = {filing: self._without_periods(filing, form, alone) for filing in rated}
            named_at.setdefault(mention.start, []).extend(
                RankedFiling(
                    filing, round(found.score * mention.confidence, 4), (mention.reason, *found.reasons)
                )
                for filing, found in rated.items()
            )
        # The best of each name, then the second best of each, and so on.
        placed = [
            (place, -item.score, item.filing, item)
            for ranking in named_at.values()
            for place, item in enumerate(sorted(ranking, key=self._order))
        ]
        return tuple(item for *_, item in sorted(placed, key=lambda item: item[:3]))

    def _without_periods(self, filing: str, form: AskedForm, alone: bool) -> Fit:
        """Fit of a filing where no filing of the company reports on the periods asked for."""
        found = fit(self._facts[filing], (), form, self._recency[filing], alone)
        return Fit(round(_OTHER_PERIOD * found.score, 4), ("no filing on the period asked for",))

    def _order(self, ranked: RankedFiling) -> tuple[float, int, str]:
        ended = self._ended(ranked.filing)[0]
        return -ranked.score, -ended.toordinal(), ranked.filing

    def _of_all(
        self, periods: tuple[AskedPeriod, ...], form: AskedForm
    ) -> tuple[tuple[RankedFiling, ...], int]:
        """Filings that fit a question without company, and how many fit it as well as the best."""
        naming = anchor(periods)
        near = [facts for facts in self._facts.values() if may_fit(facts, naming, form)]
        if len(near) > MOST_CANDIDATES:
            return (), 0
        rated = [(facts.filing, fit(facts, periods, form, 0, False)) for facts in near]
        rated = [(filing, found) for filing, found in rated if found.score >= _WORTH_NAMING]
        if not rated:
            return (), 0
        best = max(found.score for _, found in rated)
        ties = sum(found.score >= best * _NEARLY_THE_BEST for _, found in rated)
        ranked = [
            RankedFiling(filing, round(_WITHOUT_COMPANY * found.score / ties, 4), found.reasons)
            for filing, found in rated
        ]
        return tuple(sorted(ranked, key=self._order)), ties


def load_resolver(
    lake: Lake, filings: Collection[str], rows: Iterable[Mapping[str, Any]] | None = None
) -> Resolver:
    """The resolver over those of ``filings`` that the lake has rows of.

    Args:
        lake: holds ``filings`` and ``filing_pages``.
        filings: names of filings.
        rows: the `IDENTITY` of all filings, where it was read already.
    """
    if rows is None:
        rows = lake.first_rows("filings", IDENTITY).to_pylist()
    wanted = set(filings)
    covers = {
        page["filing"]: page["text"]
        for page in lake.first_rows("filing_pages", _COVER).to_pylist()
        if page["filing"] in wanted and page["page"] == 0
    }
    return Resolver([row for row in rows if row["filing"] in wanted], covers)
