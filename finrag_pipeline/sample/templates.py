"""Filings and questions as templates: Jinja fills in the figures, a light markup says what each block is.

Blocks stand apart by an empty line::

    # Item 7. | Discussion       an item, listed in the contents
    # TITLE => Item 1. | Entry   the same, listed under another name; a dash stands for no number
    ## Section                   a section; ### is a run-in title
    Words                        a paragraph
    * Words                      an item of a list
    | a | b |                    a bordered table, a row per line, the first one its header
    left || right                two texts side by side
    ---                          a new page; ``--- body`` starts the page numbers of the body
    ===                          a line across the page
    ~ 12                         vertical space in points
    [contents]                   the table of contents

A heading, paragraph or table may begin with options in brackets, ``[mark small centred]`` or
``[mark widths=2,1 total]``: the mark under which its place is recorded, and how it is set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import jinja2

from finrag_pipeline.sample import notes, words
from finrag_pipeline.sample.company import Company, annual_statement, equity_statement, figures
from finrag_pipeline.sample.content import (
    Block,
    Contents,
    Figures,
    Heading,
    PageBreak,
    Pair,
    Ruled,
    RuleLine,
    Space,
    Text,
)
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
    words.per_share,
    words.percent,
    words.quotient,
    words.word,
)
_PLACED = re.compile(r"%(\d+)%")
_OPTIONS = re.compile(r"\[([^\]]*)\] *")


def write_blocks(template: str, company: Company, year: int) -> list[Block]:
    """The blocks of a filing of ``company``; ``year`` is its fiscal year."""
    tables: list[Block] = []
    text = _render(template, company, tables=tables, year=year, now=company.years.get(year))
    return [_block(part.strip(), tables) for part in re.split(r"\n\s*\n", text) if part.strip()]


def write_text(template: str, company: Company) -> str:
    """The text of a template that is not a filing."""
    return _render(template, company)


def _render(template: str, company: Company, **values: Any) -> str:
    return (
        _environment()
        .get_template(template)
        .render(
            values,
            **{function.__name__: function for function in _FREE},
            **{function.__name__: partial(function, company) for function in _OF_COMPANY},
            c=company,
            money=partial(words.money, unit=company.unit),
            usd_millions=partial(words.usd_millions, unit=company.unit),
        )
    )


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
    if not isinstance(value, (Figures, Ruled)):
        return value
    context["tables"].append(value)
    return f"\n\n%{len(context['tables']) - 1}%\n\n"


@dataclass
class _Options:
    """What the brackets before a block say."""

    mark: str | None = None
    flags: set[str] = field(default_factory=set)
    widths: tuple[float, ...] | None = None


def _options(text: str) -> tuple[_Options, str]:
    found, options = _OPTIONS.match(text), _Options()
    if not found:
        return options, text
    for name in found[1].split():
        if name.startswith("widths="):
            options.widths = tuple(float(width) for width in name.removeprefix("widths=").split(","))
        elif name in ("small", "centred", "total"):
            options.flags.add(name)
        else:
            options.mark = name
    return options, text[found.end() :]


def _block(text: str, tables: Sequence[Block]) -> Block:
    if placed := _PLACED.fullmatch(text):
        return tables[int(placed[1])]
    if text == "[contents]":
        return Contents()
    if text == "===":
        return RuleLine()
    if text.startswith("---"):
        return PageBreak(text[3:].strip() or None)
    if text.startswith("~"):
        return Space(float(text[1:]))
    if text.startswith("#"):
        return _heading(text)
    bullet = text.startswith("* ")
    options, words_of_block = _options(text.removeprefix("* ").lstrip())
    if words_of_block.lstrip().startswith("| "):
        return _table(words_of_block, options)
    line = " ".join(words_of_block.split())
    if " || " in line:
        return Pair(*line.split(" || "))
    return Text(line, options.mark, bullet, "centred" in options.flags, "small" in options.flags)


def _heading(text: str) -> Heading:
    marks, _, rest = text.partition(" ")
    options, title = _options(" ".join(rest.split()))
    title, _, listed = title.partition(" => ")
    entry = None
    if " | " in (listed or title):
        number, _, name = (listed or title).partition(" | ")
        entry = (number.strip().removeprefix("-"), name)
    return Heading(title.replace(" | ", " "), len(marks), entry, "centred" in options.flags)


def _table(text: str, options: _Options) -> Ruled:
    header, *rows = [
        tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))
        for line in text.splitlines()
        if line.strip()
    ]
    return Ruled(header, rows, options.mark, options.widths, "total" in options.flags)
