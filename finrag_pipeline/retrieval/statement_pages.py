"""Which statements a question is about, and on which pages they stand.

The Mixpeek technical guide (section 6) maps a metric to the statements it is computed from: ratios first,
because 'return on assets' holds the word 'assets'; then single metrics; all three statements where none is
named. It then adds keyword searches such as '2017 cash flow statement', ten chunks for each of the first two
years and each statement, to the fifteen chunks nearest to the question.

Here the pages of the statements are known, so that no keyword has to find them: the search, by keywords and
by meaning, is made inside the pages that hold facts of the primary statements for the first two fiscal years
asked about, in the filings that the resolver allows. What both searches find is fused, which drops doubles.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from finrag_pipeline.storage.lake import Lake

STATEMENT_PAGES_VERSION = "1"

INCOME, POSITION, CASH = "income_statement", "financial_position", "cash_flows"
STATEMENTS = (INCOME, POSITION, CASH)
"""The three statements of the guide, by the names of ``statement_facts``."""

_RATIOS: Mapping[str, tuple[str, ...]] = {
    "operating cash flow ratio": (CASH, POSITION),
    "cash conversion cycle": (INCOME, POSITION),
    "free cash flow conversion": (CASH, INCOME),
    "capital intensive|capital intensity": (CASH, INCOME, POSITION),
    "return on (total )?assets|roa": (INCOME, POSITION),
    "return on (shareholders |stockholders )?equity|roe": (INCOME, POSITION),
    "return on (invested )?capital|roic|roce": (INCOME, POSITION),
    "asset turnover": (INCOME, POSITION),
    "inventory turnover|days inventory( outstanding)?|dio": (INCOME, POSITION),
    "days sales outstanding|dso|receivables? turnover": (INCOME, POSITION),
    "days payables? outstanding|dpo|payables? turnover": (INCOME, POSITION),
    "current ratio|quick ratio|working capital( ratio)?|liquidity (profile|ratio)": (POSITION,),
    "debt to equity|leverage ratio": (POSITION,),
    "interest coverage( ratio)?": (INCOME,),
    "dividend payout( ratio)?|payout ratio|retention ratio": (CASH, INCOME),
    "capex (margin|to revenue)|capital expenditures? (margin|as a percent)": (CASH, INCOME),
    "d ?& ?a margin|depreciation (and|&) amortization margin": (CASH, INCOME),
    "ebitda( margin)?": (INCOME, CASH),
}

_METRICS: Mapping[str, tuple[str, ...]] = {
    INCOME: (
        "revenues?", "(net )?sales", "gross (profit|margin)", "operating (income|profit|margin|loss)",
        "net (income|earnings|loss|profit)", "earnings", "eps", "cogs", "costs? of (goods|sales|revenues?)",
        "sg ?& ?a", "selling,? general", "r ?& ?d", "research and development", "interest expense",
        "(effective )?tax rate", "income tax(es)?", "operating expenses?",
    ),
    POSITION: (
        "(total |current )?assets", "(total |current )?liabilities", "equity", "(accounts )?receivables?",
        "(accounts )?payables?", "inventor(y|ies)", "debt", "pp ?& ?n?e", "ppn?e", "goodwill", "intangibles?",
        "property,? plant,? (and|&) equipment", "cash and cash equivalents", "balance sheet",
        "statement of financial position",
    ),
    CASH: (
        "cash (from|provided by|used in) operat(ions|ing activities)", "(operating |free )?cash flows?",
        "fcf",
        "capex", "capital expenditures?", "dividends? paid", "(operating|investing|financing) activities",
        "depreciation (and|&) amortization", "share repurchases?|buybacks?", "cash flow statement",
    ),
}  # fmt: skip

_P_AND_L = re.compile(
    r"(?<![\w&])p ?& ?l(?!\w)|(?<!\w)income statement(?!\w)|(?<!\w)statement of operations(?!\w)"
)


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)")


_RATIO_PATTERNS = [(_compiled([words]), statements) for words, statements in _RATIOS.items()]
_METRIC_PATTERNS = {statement: _compiled(words) for statement, words in _METRICS.items()}


def needed_statements(question: str) -> tuple[str, ...]:
    """Statements that a question's metric is computed from, in the order of `STATEMENTS`.

    Ratios are looked for first, then single metrics; all three where the question names neither.
    """
    text = re.sub(r"[-‐‑–—/]", " ", question.lower())
    for pattern, statements in _RATIO_PATTERNS:
        if pattern.search(text):
            return tuple(statement for statement in STATEMENTS if statement in statements)
    found = {statement for statement, pattern in _METRIC_PATTERNS.items() if pattern.search(text)}
    if _P_AND_L.search(text):
        found.add(INCOME)
    return tuple(statement for statement in STATEMENTS if statement in found) or STATEMENTS


@dataclass(frozen=True)
class StatementPages:
    """Pages of primary statements.

    Attributes:
        years: fiscal years whose facts stand on a page, by filing, page and statement.
    """

    years: Mapping[tuple[str, int, str], frozenset[int]]

    def __bool__(self) -> bool:
        return bool(self.years)

    def places(
        self, filings: Collection[str] | None, statements: Collection[str], years: Sequence[int] = ()
    ) -> tuple[tuple[str, int], ...]:
        """Pages of some statements, as (filing, zero-based page), in order.

        Args:
            filings: filings to look in; all when None.
            statements: kinds of statement.
            years: fiscal years of which a page must show one; when no page does, years are left aside.
        """
        of_kind = {
            (filing, page): shown
            for (filing, page, statement), shown in self._merged(statements).items()
            if filings is None or filing in filings
        }
        of_years = [place for place, shown in of_kind.items() if shown & set(years)]
        return tuple(sorted(of_years or of_kind))

    def _merged(self, statements: Collection[str]) -> dict[tuple[str, int, str], frozenset[int]]:
        merged: dict[tuple[str, int, str], frozenset[int]] = defaultdict(frozenset)
        for (filing, page, statement), shown in self.years.items():
            if statement in statements:
                merged[filing, page, ""] |= shown
        return merged


def read_statement_pages(lake: Lake, filings: Collection[str]) -> StatementPages:
    """Pages with facts of primary statements in ``filings``, from ``statement_facts``."""
    facts = lake.read_all(
        "statement_facts", ["filing", "page", "statement", "scope", "fiscal_year"], {"filing": filings}
    )
    facts = facts.filter(pc.equal(facts["scope"], "primary"))
    years: dict[tuple[str, int, str], set[int]] = defaultdict(set)
    for row in facts.to_pylist():
        shown = years[row["filing"], row["page"], row["statement"]]
        if row["fiscal_year"] is not None:
            shown.add(row["fiscal_year"])
    return StatementPages({place: frozenset(found) for place, found in years.items()})
