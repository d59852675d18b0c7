"""Filings and questions as Jinja templates, which the books of a company fill with figures."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jinja2

from finrag_pipeline.sample import notes, words
from finrag_pipeline.sample.company import Company, annual_statement, equity_statement, figures
from finrag_pipeline.sample.content import Figures
from finrag_pipeline.sample.ledger import allocate

_OF_COMPANY = (
    figures,
    annual_statement,
    equity_statement,
    notes.debt_table,
    notes.debt_maturities,
    notes.property_table,
    notes.split_table,
    notes.lease_maturities,
    notes.tax_reconciliation,
)
_FREE = (
    allocate,
    words.cell,
    words.day,
    words.growth,
    words.higher,
    words.joined,
    words.moved,
    words.percent,
    words.quotient,
    words.word,
)


def fill(template: str, company: Company, year: int | None = None) -> tuple[str, list[Figures]]:
    """The text of a template on ``company`` and its ``year``, and the tables that ``%0%`` … stand for."""
    tables: list[Figures] = []
    values: dict[str, Any] = {function.__name__: function for function in _FREE}
    values |= {function.__name__: partial(function, company) for function in _OF_COMPANY}
    text = (
        _environment()
        .get_template(template)
        .render(
            values,
            c=company,
            money=partial(words.money, unit=company.unit),
            usd_millions=partial(words.usd_millions, unit=company.unit),
            tables=tables,
            year=year,
            now=company.years.get(year) if year else None,
        )
    )
    return text, tables


@cache
def _environment() -> jinja2.Environment:
    # A name that is misspelt in a template is an error, not an empty string.
    return jinja2.Environment(
        loader=jinja2.PackageLoader("finrag_pipeline.sample"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_place,
    )


@jinja2.pass_context
def _place(context: jinja2.runtime.Context, value: object) -> object:
    """Set a table of figures apart as a block that stands for it."""
    if not isinstance(value, Figures):
        return value
    context["tables"].append(value)
    return f"\n\n%{len(context['tables']) - 1}%\n\n"
