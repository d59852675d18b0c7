"""Double-entry bookkeeping in whole reporting units, the accounting behind the sample filings.

A period is a set of signed integer amounts. Each posts to two accounts (one credited, one debited), so
total assets equal total liabilities and equity by construction, and the closing cash of a year is the
opening cash of the next. Every figure that a filing prints is read from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from finrag_pipeline.sample.words import quotient

INCOME = ("revenue.", "cost.", "opex.", "other.", "tax.")
OPERATING = (*INCOME, "adj.", "wc.")
INVESTING = ("inv.",)
FINANCING = ("fin.",)
CASH = (*OPERATING, *INVESTING, *FINANCING, "fx.")
OCI = ("fx.", "oci.")
_CASH_FREE = ("oci.", "noncash.")
TOTALS: Mapping[str, tuple[str, ...]] = {
    "revenue": ("revenue.",),
    "gross_profit": ("revenue.", "cost."),
    "operating_income": ("revenue.", "cost.", "opex."),
    "pretax": ("revenue.", "cost.", "opex.", "other."),
    "net_income": INCOME,
    "operating_cash": OPERATING,
    "investing_cash": INVESTING,
    "financing_cash": FINANCING,
    "change_in_cash": CASH,
    "other_comprehensive": OCI,
}
"""Sums that have a name of their own."""


@dataclass(frozen=True)
class Chart:
    """Accounts of a company, in the order of the balance sheet, and where its items post.

    Args:
        credits: account credited per item, for items that move cash. Income items need no entry: they
            credit ``retained``.
        transfers: (account credited, account debited) per item that moves no cash.
    """

    current_assets: tuple[str, ...]
    noncurrent_assets: tuple[str, ...]
    current_liabilities: tuple[str, ...]
    noncurrent_liabilities: tuple[str, ...]
    equity: tuple[str, ...]
    credits: Mapping[str, str]
    transfers: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def assets(self) -> tuple[str, ...]:
        """All asset accounts."""
        return self.current_assets + self.noncurrent_assets

    @property
    def liabilities(self) -> tuple[str, ...]:
        """All liability accounts."""
        return self.current_liabilities + self.noncurrent_liabilities

    @property
    def claims(self) -> tuple[str, ...]:
        """All liability and equity accounts."""
        return self.liabilities + self.equity

    def accounts(self, name: str) -> tuple[str, ...]:
        """The accounts of a group (``current_assets``, ``claims``), or the one account of that name."""
        group: tuple[str, ...] = getattr(self, name, (name,))
        return group

    def open(self, plug: str, balances: Mapping[str, int]) -> Mapping[str, int]:
        """Opening balances, with the equity account ``plug`` as the rest of the assets."""
        claims = sum(balances[account] for account in self.claims if account != plug)
        return MappingProxyType({**balances, plug: sum(balances[a] for a in self.assets) - claims})

    def close(self, opening: Mapping[str, int], flows: Mapping[str, int]) -> Mapping[str, int]:
        """Closing balances after ``flows``. An income or cash item is positive where it adds to cash."""
        closing = dict(opening)
        for item, amount in flows.items():
            if item.startswith(_CASH_FREE):
                credit, debit = self.transfers[item]
            else:
                credit, debit = ("retained" if item.startswith(INCOME) else self.credits[item]), "cash"
            closing[credit] += -amount if credit in self.assets else amount
            closing[debit] += amount if debit in self.assets else -amount
        return MappingProxyType(closing)


@dataclass(frozen=True)
class Period:
    """Flows of one period, a signed amount per item, between two balance sheets.

    Args:
        basic: weighted-average shares, in the unit that the statements use for shares.
        diluted: the same, diluted.
        memo: figures outside the books (stores, employees, backlog, segment profit).
    """

    chart: Chart
    flows: Mapping[str, int]
    opening: Mapping[str, int]
    closing: Mapping[str, int]
    basic: Decimal
    diluted: Decimal
    memo: Mapping[str, int]

    def total(self, *keys: str) -> int:
        """Sum over ``keys``, of which one that starts with a minus is subtracted.

        A key is an item, a prefix of items that ends in a dot, one of `TOTALS`, a figure outside the books
        (``memo:stores``), or a balance at either end, of an account or a group of accounts
        (``opening:cash``, ``closing:current_assets``).

        Raises:
            KeyError: no such account, figure or total.
        """
        return sum(-self._amount(key[1:]) if key.startswith("-") else self._amount(key) for key in keys)

    def __getitem__(self, key: str) -> int:
        """`total` of one key; templates write ``period.revenue`` for ``period["revenue"]``."""
        return self.total(key)

    def _amount(self, key: str) -> int:
        side, _, account = key.partition(":")
        if side == "memo":
            return self.memo[account]
        if account:
            balances = self.opening if side == "opening" else self.closing
            return sum(balances[one] for one in self.chart.accounts(account))
        if key.endswith("."):
            return sum(amount for item, amount in self.flows.items() if item.startswith(key))
        return self.flows.get(key, 0) if "." in key else self.total(*TOTALS[key])

    def balance(self, accounts: Iterable[str]) -> int:
        """Sum of closing balances over ``accounts``."""
        return sum(self.closing[account] for account in accounts)

    @property
    def eps(self) -> Decimal:
        """Basic earnings per share, two decimals."""
        return quotient(self["net_income"], self.basic)

    @property
    def eps_diluted(self) -> Decimal:
        """Diluted earnings per share, two decimals."""
        return quotient(self["net_income"], self.diluted)

    def less(self, earlier: Period) -> Period:
        """The part of this period after ``earlier``, which starts on the same day."""
        keys = dict.fromkeys((*self.flows, *earlier.flows))
        flows = {key: self.flows.get(key, 0) - earlier.flows.get(key, 0) for key in keys}
        memo = {key: self.memo[key] - earlier.memo.get(key, 0) for key in self.memo}
        return Period(self.chart, flows, earlier.closing, self.closing, self.basic, self.diluted, memo)


def post(
    chart: Chart,
    opening: Mapping[str, int],
    flows: Mapping[str, int],
    shares: tuple[Decimal | str, Decimal | str],
    memo: Mapping[str, int] | None = None,
) -> Period:
    """Post ``flows`` to ``opening`` and return the period; ``shares`` are basic and diluted averages."""
    basic, diluted = (Decimal(value) for value in shares)
    return Period(chart, flows, opening, chart.close(opening, flows), basic, diluted, memo or {})


def year_columns(table: Mapping[str, Sequence[int]], first: int) -> dict[int, dict[str, int]]:
    """Turn rows of figures, one column per year from ``first`` on, into one mapping per year."""
    count = len(next(iter(table.values())))
    return {first + i: {key: values[i] for key, values in table.items()} for i in range(count)}


def share_of(flows: Mapping[str, int], percent: int) -> dict[str, int]:
    """The part of a year's ``flows`` that falls into an interim period."""
    return {key: round_half_up(amount * percent, 100) for key, amount in flows.items()}


def round_half_up(numerator: int, denominator: int) -> int:
    """Nearest integer to a quotient, halves away from zero."""
    sign = -1 if (numerator < 0) != (denominator < 0) else 1
    return sign * ((2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator)))


def allocate(total: int, weights: Sequence[int]) -> list[int]:
    """Split ``total`` in proportion to ``weights``; the last part takes the rounding difference."""
    parts = [round_half_up(total * weight, sum(weights)) for weight in weights[:-1]]
    return [*parts, total - sum(parts)]
