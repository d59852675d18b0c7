"""Documents with tables as grids of text, written anew before they are indexed (Kim et al.).

FinQA, TAT-QA and the sets of FinanceRAG print a table as lines of cells separated by ``|``. The paper
compares such a corpus restructured as Markdown with one whose tables are told in words; it does not publish
how its language model wrote either, so both are made by rule here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

RESTRUCTURE_VERSION = "1"
"""Changes with what becomes of a document."""

_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_SENTENCE_END = (".", ";", ",", ":", "?", "!")
_LONGEST_HEADING = 80


def as_markdown(text: str) -> str:
    """The document in Markdown: tables with a rule, short lines as headings, lines as paragraphs."""
    return "\n\n".join(_markdown_table(part) if grid else _prose(part) for grid, part in _parts(text))


def with_table_sentences(text: str) -> str:
    """The document with a sentence behind each table for every cell: row, column and value in words."""
    return "\n".join("\n".join([*part, *_cells(part)] if grid else part) for grid, part in _parts(text))


RESTRUCTURED: dict[str, Callable[[str], str]] = {
    "": lambda text: text,
    "markdown": as_markdown,
    "sentences": with_table_sentences,
}
"""Ways to write a document, by name."""


def _parts(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Runs of lines that are a table's or not, blank lines and rules of tables left out."""
    run: list[str] = []
    grid = False
    for line in filter(str.strip, text.splitlines()):
        if ("|" in line) != grid and run:
            yield grid, run
            run = []
        grid = "|" in line
        if not (grid and _RULE.fullmatch(line)):
            run.append(line.strip())
    if run:
        yield grid, run


def _rows(lines: list[str]) -> list[list[str]]:
    rows = [[" ".join(cell.split()) for cell in line.strip("|").split("|")] for line in lines]
    # An empty first cell is lost with the white space before its separator.
    width = max(map(len, rows))
    return [["", *row] if len(row) == width - 1 else row for row in rows]


def _markdown_table(lines: list[str]) -> str:
    header, *rows = _rows(lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def _cells(lines: list[str]) -> list[str]:
    header, *rows = _rows(lines)
    return [
        f"{label}, {column}: {value}." if column else f"{label}: {value}."
        for label, *values in rows
        for column, value in zip(header[1:], values, strict=False)
        if label and value
    ]


def _prose(lines: list[str]) -> str:
    """Lines joined to a paragraph; a short one without an end of sentence is a heading."""
    found: list[str] = []
    for line in lines:
        if len(line) <= _LONGEST_HEADING and not line.rstrip().endswith(_SENTENCE_END):
            found.append(f"\n\n## {line}\n\n")
        else:
            found.append(f"{line} ")
    return re.sub(r"\n{3,}", "\n\n", "".join(found)).strip()
