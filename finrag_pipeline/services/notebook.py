"""A lake in a notebook or a script, and results that show themselves there.

Nothing is loaded before it is used: an index with the first search, the calculator with the first question.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.errors import UsageError
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.modes import AnswerMode
    from finrag_pipeline.services.ask import Asker
    from finrag_pipeline.services.search import Searcher
    from finrag_pipeline.settings import Settings

_SHOWN = 40
_PICTURES = 3


@dataclass(frozen=True)
class Rows:
    """Rows with named columns.

    Attributes:
        title: what they are.
        arrow: the rows.
    """

    title: str
    arrow: pa.Table

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.arrow.to_batches():
            yield from batch.to_pylist()

    def df(self) -> Any:
        """The rows as a data frame of pandas, or of polars where pandas is not installed.

        Raises:
            UsageError: neither is installed; ``arrow`` has the rows in any case.
        """
        if find_spec("pandas"):
            import duckdb

            with (
                duckdb.connect() as connection
            ):  # PyArrow was told that there is no pandas: it takes a second
                return connection.from_arrow(self.arrow).df()
        if find_spec("polars"):
            import polars

            return polars.from_arrow(self.arrow)
        raise UsageError("Neither pandas nor polars is installed.", "Install one, or use .arrow.")

    def __repr__(self) -> str:
        lines = [f"{self.title}: {len(self)} rows", *map(str, self.arrow.slice(0, _SHOWN).to_pylist())]
        return "\n".join([*lines, "…"] if len(self) > _SHOWN else lines)

    def _repr_html_(self) -> str:
        names = self.arrow.column_names
        shown = [list(row.values()) for row in self.arrow.slice(0, _SHOWN).to_pylist()]
        more = f"<p>{len(self) - _SHOWN} more rows</p>" if len(self) > _SHOWN else ""
        return f"<p><b>{escape(self.title)}</b></p>{_html_table([names], shown)}{more}"


@dataclass(frozen=True)
class PageTable(Rows):
    """A table as it was read from a page: ``arrow`` has the texts of its cells, a column each.

    Attributes:
        page_label: the page as people count, from 1.
        headers: texts of its header rows, a list for each.
        scales: words that set the scale of its numbers.
        picture: PNG of the part of the page that it stands on; None where there is no picture of it.
    """

    filing: str
    page_label: str
    headers: tuple[tuple[str, ...], ...]
    scales: tuple[str, ...]
    picture: bytes | None = field(repr=False)

    def _repr_html_(self) -> str:
        body = [list(row.values()) for row in self.arrow.to_pylist()]
        place = f"{self.filing}, page {self.page_label}"
        scales = escape("; ".join(self.scales))
        table = _html_table(self.headers, body)
        return f"<p><b>{escape(self.title)}</b> {escape(place)} {scales}</p>{table}{_image(self.picture)}"


@dataclass(frozen=True)
class Answered:
    """An answer with its proof, in the fields that ``docs/answers.md`` explains.

    Attributes:
        text: the answer with its formula and the page of every number, in lines.
        inputs, series, evidence: the numbers it is made of; its values where there are several; the closest
            printed rows where it abstains.
        fields: all fields as ``finrag ask --json`` has them.
        pictures: PNG of the parts of pages that its inputs stand on, these marked; with filing and page.
    """

    question: str
    answer: str
    value: float | None
    unit: str | None
    formula: str | None
    abstained: bool
    why: str | None
    text: str = field(repr=False)
    inputs: Rows = field(repr=False)
    series: Rows = field(repr=False)
    evidence: Rows = field(repr=False)
    fields: Mapping[str, Any] = field(repr=False)
    pictures: Mapping[str, bytes] = field(repr=False)

    @property
    def arrow(self) -> pa.Table:
        """Its several values, else its inputs, else the evidence."""
        return next((rows for rows in (self.series, self.inputs) if len(rows)), self.evidence).arrow

    def df(self) -> Any:
        """``arrow`` as a data frame; see `Rows.df`."""
        return Rows(self.question, self.arrow).df()

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        head, _, rest = self.text.partition("\n")
        pictures = "".join(
            f"<figure><figcaption>{escape(place)}</figcaption>{_image(picture)}</figure>"
            for place, picture in self.pictures.items()
        )
        proof = f"<pre>{escape(rest.strip(chr(10)))}</pre>" if rest.strip() else ""
        rows = self.evidence._repr_html_() if len(self.evidence) else ""
        return f"<p>{escape(self.question)}</p><p><b>{escape(head)}</b></p>{proof}{pictures}{rows}"


class OpenLake:
    """A lake that is open for questions; `finrag_pipeline.open` gives it.

    Raises:
        LakeError: there is no lake.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lake = Lake(settings.lake).required()

    def __repr__(self) -> str:
        return f"OpenLake({self._lake.root!r})"

    @cached_property
    def _searcher(self) -> Searcher:
        from finrag_pipeline.services.search import Searcher

        return Searcher(self.settings)

    @cached_property
    def _asker(self) -> Asker:
        from finrag_pipeline.services.ask import Asker

        return Asker(self.settings)

    def ask(
        self,
        question: str,
        *,
        mode: AnswerMode = "calculator",
        filings: Sequence[str] = (),
        system: str | None = None,
    ) -> Answered:
        """Answer a question, with the page of every number; as `Asker.ask`, which says what it raises."""
        reply = self._asker.ask(question, mode, filings, system)
        said = reply.as_json()
        boxes: dict[tuple[str, int], list[Any]] = {}
        for one in said["inputs"]:
            if one["box"]:
                boxes.setdefault((one["filing"], one["page"]), []).append(one["box"])
        pictures = {
            f"{filing}, page {page + 1}": self._picture(filing, page, found)
            for (filing, page), found in list(boxes.items())[:_PICTURES]
        }
        taken = ("question", "answer", "value", "unit", "formula", "abstained", "why")
        return Answered(
            **{name: said[name] for name in taken},
            text=reply.answer.as_text(),
            inputs=_rows("Inputs", said["inputs"]),
            series=_rows("Values", said["series"]),
            evidence=_rows("Closest rows", [_flat(row) for row in said["evidence"]]),
            fields=said,
            pictures={place: picture for place, picture in pictures.items() if picture},
        )

    def search(
        self, question: str, *, k: int = 5, filings: Sequence[str] = (), system: str | None = None
    ) -> Rows:
        """The best ``k`` pages for a question; as `Searcher.search`, which says what it raises."""
        found = self._searcher.search(question, system, k, filings)
        shown = ("rank", "filing", "page", "page_label", "why", "snippet", "chunk_id")
        return _rows(found.question, [{name: one[name] for name in shown} for one in found.results])

    def facts(
        self,
        filing: str,
        *,
        concept: str | None = None,
        label: str | None = None,
        year: int | None = None,
        statement: str | None = None,
        quarterly: bool = False,
        yearly: bool = False,
        trailing: bool = False,
    ) -> Rows:
        """Values of a filing's statements, in full units, with the page each stands on.

        With ``quarterly``, ``yearly`` or ``trailing`` (twelve months) those of one concept over all filings
        of a company; ``filing`` may then be its name or ticker.

        Raises:
            UsageError: no such filing, company or concept.
            LakeError: the facts of the filing have not been made.
        """
        from finrag_pipeline.services.filings import asked_series, facts_json

        series = asked_series(quarterly, yearly, trailing)
        found = facts_json(
            self._lake, filing, concept, series=series, label=label, year=year, statement=statement
        )
        return _rows(f"{concept} of {filing}" if series else f"Facts of {filing}", found)

    def table(self, filing: str, page: int, number: int = 0) -> PageTable:
        """A table of a page, counted from 1, as it was read; ``number`` tells several of them apart, from 0.

        Raises:
            UsageError: there is no such filing, page or table.
            LakeError: the tables of the filing have not been made.
        """
        from finrag_pipeline.services.filings import page_content

        content = page_content(self._lake, filing, page)
        name, grids = content["filing"], {one["table"]: one for one in content["tables"]}
        if number not in grids:
            have = f"It has tables {', '.join(map(str, grids))}." if grids else "It has none."
            raise UsageError(f"Page {page} of {name} has no table {number}.", have)
        found = grids[number]
        headers, body = found["grid"][: found["header_rows"]], found["grid"][found["header_rows"] :]
        texts = [" ".join(filter(None, dict.fromkeys(column))) for column in zip(*headers, strict=True)]
        texts = texts or [""] * len(found["grid"][0])
        named = [text if text and texts.count(text) == 1 else f"{text} [{n}]" for n, text in enumerate(texts)]
        schema = pa.schema([(text.strip(), pa.string()) for text in named])
        return PageTable(
            found["caption"] or f"Table {number}",
            pa.table([[row[place] for row in body] for place in range(len(named))], schema=schema),
            name,
            str(page),
            tuple(map(tuple, headers)),
            tuple(found["scales"]),
            self._picture(name, content["page"], [found["box"]]) if found["box"] else None,
        )

    def filings(self) -> Rows:
        """What is in the lake: identity, state, and what is odd about it."""
        from finrag_pipeline.services.filings import list_filings

        return _rows("Filings", list_filings(self._lake, failed=False))

    def metrics(self, by: str | None = None) -> Rows:
        """How well systems did on the benchmark, with intervals; ``by`` a slice, such as ``doc_type``.

        Raises:
            UsageError: there is no such slice.
            LakeError: nothing was measured yet.
        """
        from finrag_pipeline.evaluation.summary import metrics_records
        from finrag_pipeline.services.results import metrics_table

        return _rows("Metrics", metrics_records(metrics_table(self._lake, by)))

    def sql(self, query: str) -> Rows:
        """Rows of a query over the tables and views of the lake; `run_sql` says what it raises."""
        from finrag_pipeline.services.sql import run_sql

        return Rows(query, run_sql(self._lake, query))

    def _picture(self, filing: str, page: int, boxes: Sequence[Any]) -> bytes | None:
        from finrag_pipeline.reporting.page_pictures import marked_part

        return marked_part(self._lake, filing, page, [tuple(box) for box in boxes])


def _rows(title: str, rows: Sequence[Mapping[str, Any]]) -> Rows:
    names = dict.fromkeys(name for row in rows for name in row)  # PyArrow takes those of the first row
    return Rows(title, pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of evidence with a column for each of its numbers."""
    told = {name: row[name] for name in ("filing", "page_label", "caption", "label", "unit")}
    return told | {value["column"]: value["printed"] for value in row["values"]}


def _html_table(headers: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]) -> str:
    def line(cells: Sequence[Any], tag: str) -> str:
        texts = ("" if cell is None else escape(str(cell)) for cell in cells)
        return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"

    head = "".join(line(cells, "th") for cells in headers)
    body = "".join(line(cells, "td") for cells in rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _image(png: bytes | None) -> str:
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(png).decode()}">' if png else ""
