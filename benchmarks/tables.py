"""Table detectors on labelled pages, on printed inline XBRL and on ICDAR 2013; ``finrag tables`` runs it.

    python -m benchmarks.tables --labels finrag_pipeline_tests/golden/table_labels.jsonl --pdfs FOLDER \\
        --ixbrl FOLDER --detector words,pymupdf,tatr [--icdar FOLDER] [--errors FILE]

The labels and how they were made: docs/table-labels.md. Filings in inline XBRL are printed to PDF by a
headless Chromium; the numbers that their filers tagged in tables are the truth, each at its place
(`benchmarks.printed_tags`). Models are those of FINRAG_TABLES__…. Intervals are 95 %, bootstrapped over
filings.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import arguments
from benchmarks.intervals import cluster_bootstrap
from benchmarks.printed_tags import MEASURES, Number, outcomes, print_filing, read_numbers
from benchmarks.table_metrics import (
    Detections,
    Rates,
    adjacency_rates,
    covering,
    detection_rates,
    ious,
    match_tables,
    read_cell,
)
from finrag_pipeline.filings.identity import read_identity
from finrag_pipeline.filings.pdf import inspect_pdf, read_pages
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.facts import statement_facts
from finrag_pipeline.tables.context import filing_context
from finrag_pipeline.tables.extract import get_detector
from finrag_pipeline.tables.model import Box, Cell, PageWords, Table, TableDetector
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline.tables.words_of_pages import page_words

THRESHOLDS = (0.5, 0.75)
UNREADABLE = ("eu-015",)
"""Documents of ICDAR 2013 whose text cannot be extracted."""
COVER_PAGES = 60
"""Pages in which the cover page is looked for."""
READINGS = ("found", "printed", "value", "scale", "value and scale", "unit", "period_end")


@dataclass
class Scores:
    """What is counted, with the filing of each, for the bootstrap."""

    tables: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    """(filing, right) of 'recall@IoU' and 'precision@IoU'."""
    cells: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    """(filing, right) of each of `READINGS`."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    pages: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)


def words_of(path: Path) -> list[PageWords]:
    return page_words(read_pages(path, path.stem, 0, inspect_pdf(path).pages))


def values_of(
    name: str, pages: Sequence[PageWords], tables: Mapping[int, list[Table]]
) -> dict[int, list[dict[str, Any]]]:
    """Rows of ``page_tables`` by page."""
    texts = [page.text for page in pages]
    context = filing_context(asdict(read_identity(texts[:COVER_PAGES])), texts)
    in_order = [table for page in sorted(tables) for table in tables[page]]
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in normalise_tables(name, in_order, context).to_pylist():
        found[row["page"]].append(row)
    return found


def score_page(
    scores: Scores, label: Mapping[str, Any], tables: Sequence[Table], cells: Sequence[Mapping[str, Any]]
) -> None:
    """Adds a labelled page, and what is wrong on it to the errors."""
    filing = label["filing"]
    labelled = [Box(*box) for box in label["tables"]]
    detected = [table.box for table in tables]
    optional = [Box(*box) for box in label["optional"]]
    missed: dict[str, Any] = {}
    for threshold in THRESHOLDS:
        matched = match_tables(labelled, detected, threshold, optional)
        scores.tables[f"recall@{threshold}"] += [(filing, place is not None) for place in matched.found]
        scores.tables[f"precision@{threshold}"] += [
            (filing, right) for right in matched.right if right is not None
        ]
        missed[str(threshold)] = table_errors(labelled, detected, matched)
    wrong = []
    for one in label["cells"]:
        read = read_cell(one, cells)
        read["value and scale"] = read["value"] and read["scale"]
        for name in READINGS:
            if read[name] is not None:
                scores.cells[name].append((filing, read[name]))
        if not all(right is None or right for right in read.values()):
            wrong.append({"label": one, "read": read, "cells": shown(covering(one["box"], cells))})
    if wrong or any(any(lists.values()) for lists in missed.values()):
        scores.errors.append({"filing": filing, "page": label["page"], "tables": missed, "cells": wrong})


def table_errors(labelled: Sequence[Box], detected: Sequence[Box], matched: Detections) -> dict[str, Any]:
    """Labelled tables without a detection and detections without a table, each with what overlaps it most."""
    overlap = ious(labelled, detected)
    return {
        "missed": [
            {"box": labelled[row], "overlaps": _overlaps(overlap[row], detected)}
            for row, place in enumerate(matched.found)
            if place is None
        ],
        "false": [
            {"box": detected[column], "overlaps": _overlaps(overlap[:, column], labelled)}
            for column, right in enumerate(matched.right)
            if right is False
        ],
    }


def _overlaps(overlap: np.ndarray, boxes: Sequence[Box]) -> list[dict[str, Any]]:
    return [
        {"iou": round(float(value), 3), "box": [round(float(edge), 1) for edge in box]}
        for value, box in zip(overlap, boxes, strict=True)
        if value > 0
    ]


def shown(cells: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names = ("table", "row", "column", "text", "kind", "printed", "value", "scale", "scale_source", "unit")
    return [
        {name: cell[name] for name in (*names, "reason")} | {"period_end": str(cell["period_end"])}
        for cell in cells
    ]


def measure(detector: TableDetector, labels: Path, pdfs: Path, whole: bool) -> Scores:
    """Scores of a detector on the labelled pages; ``whole``: it reads all pages of their filings."""
    scores = Scores()
    pages: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in labels.read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        pages[label["filing"]].append(label)
    for name, wanted in sorted(pages.items()):
        path = pdfs / f"{name}.pdf"
        words = words_of(path)
        numbers = [page.page for page in words] if whole else sorted(label["page"] for label in wanted)
        start, cpu_start = time.perf_counter(), time.process_time()
        read = detector.detect([words[number] for number in numbers], path)
        tables = dict(zip(numbers, read, strict=True))
        scores.seconds += time.perf_counter() - start
        scores.cpu_seconds += time.process_time() - cpu_start
        scores.pages += len(numbers)
        cells = values_of(name, words, tables)
        for label in wanted:
            score_page(scores, label, tables[label["page"]], cells.get(label["page"], []))
    return scores


@dataclass
class Tagged:
    """What became of the tagged numbers of printed filings."""

    read: list[tuple[str, Number, dict[str, bool]]] = field(default_factory=list)
    misses: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    pages: int = 0


def measure_tagged(detector: TableDetector, folder: Path, printed: Path) -> Tagged:
    """Scores a detector on filings in inline XBRL, printed to PDF into the folder ``printed``."""
    result = Tagged()
    for path in sorted([*folder.glob("*.htm"), *folder.glob("*.html")]):
        pdf = printed / f"{path.stem}.pdf"
        if not pdf.exists():
            print_filing(path, pdf)
        numbers, words = read_numbers(path, pdf), words_of(pdf)
        start, cpu_start = time.perf_counter(), time.process_time()
        tables = [table for found in detector.detect(words, pdf) for table in found]
        result.seconds += time.perf_counter() - start
        result.cpu_seconds += time.process_time() - cpu_start
        result.pages += len(words)
        texts = [page.text for page in words]
        identity = asdict(read_identity(texts[:COVER_PAGES]))
        rows = normalise_tables(path.stem, tables, filing_context(identity, texts))
        facts = {
            (fact["page"], fact["table"], fact["row"], fact["column"]): fact
            for fact in statement_facts(path.stem, rows, texts, identity["form"]).to_pylist()
            if fact["scope"] == "primary"
        }
        cells: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for cell in rows.to_pylist():
            cells[cell["page"]].append(cell)
        for number in numbers:
            read, cell = outcomes(number, cells[number.page], facts)
            result.read.append((path.stem, number, read))
            if not all(read.values()):
                result.misses.append(miss(path.stem, number, read, cell))
    return result


def miss(
    filing: str, number: Number, read: Mapping[str, bool], cell: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A number that was not read as it is tagged, for people."""
    names = ("table", "row", "column", "row_path", "column_path", "text", "kind", "value", "scale", "reason")
    days = ("scale_source", "period_start", "period_end")
    return {
        "filing": filing,
        "place": number.statement or number.note,
        "page": number.page + 1,
        "tags": [
            (one.name, one.printed, one.value, str(of.start), str(of.end), of.members)
            for one, of in ((one, one.context) for one in number.tags)
        ],
        "wrong": [name for name, right in read.items() if not right],
        "cell": cell and {name: str(cell[name]) for name in (*names, *days)},
    }


Icdar = tuple[dict[float, Rates], list[Rates]]
"""Detection of regions by threshold, and cell adjacency of each document."""


def measure_icdar(detector: TableDetector, folder: Path) -> Icdar:
    """Scores of a detector on ICDAR 2013."""
    regions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / "tables.jsonl").read_text(encoding="utf-8").splitlines():
        region = json.loads(line)
        if region["doc"] not in UNREADABLE:
            regions[region["pdf"]].append(region)
    detection: dict[float, Rates] = dict.fromkeys(THRESHOLDS, Rates())
    adjacency = []
    for pdf, wanted in sorted(regions.items()):
        pages = list(detector.detect(words_of(folder / pdf), folder / pdf))
        for number, tables in enumerate(pages):
            labelled = [_region_box(region) for region in wanted if region["page"] == number]
            for threshold in THRESHOLDS:
                matched = match_tables(labelled, [table.box for table in tables], threshold)
                detection[threshold] += detection_rates(matched)
        found = [table.cells for tables in pages for table in tables]
        adjacency.append(adjacency_rates(map(_region_cells, wanted), found))
    return detection, adjacency


def _region_box(region: Mapping[str, Any]) -> Box:
    # The boxes count from the bottom of the page.
    boxes = np.array([cell["bbox"] for cell in region["cells"]])
    height = region["page_height"]
    return Box(boxes[:, 0].min(), height - boxes[:, 3].max(), boxes[:, 2].max(), height - boxes[:, 1].min())


def _region_cells(region: Mapping[str, Any]) -> list[Cell]:
    cells = []
    for cell in region["cells"]:
        row, column = cell["row"], cell["col"]
        spans = cell["end_row"] - row + 1, cell["end_col"] - column + 1
        cells.append(Cell(row, column, Box(*cell["bbox"]), cell["text"], *spans))
    return cells


def interval(outcomes: Sequence[tuple[str, bool]]) -> str:
    if not outcomes:
        return "no case"
    values = np.array([[float(right)] for _, right in outcomes])
    mean, low, high = cluster_bootstrap(values, [filing for filing, _ in outcomes], 10_000, 0.95, 20)
    return f"{mean[0]:.3f} [{low[0]:.3f}, {high[0]:.3f}]  n = {len(outcomes)}"


def show_tagged(tagged: Tagged) -> None:
    """Prints shares of the tagged numbers by filing, by statement, and by note."""
    by_place: dict[tuple[str, ...], list[Mapping[str, bool]]] = defaultdict(list)
    for filing, number, read in tagged.read:
        part = "statements" if number.statement else "notes"
        for key in ((part,), (part, filing), (number.statement or number.note or "",)):
            by_place[key].append(read)
    print(f"  {'':<44}{'tags':>7}" + "".join(f"{name:>9}" for name in MEASURES))
    for key, reads in sorted(by_place.items(), key=lambda one: (len(one[0]), -len(one[1]), one[0])):
        shares = []
        for name in MEASURES:
            told = [read[name] for read in reads if name in read]
            shares.append(f"{sum(told) / len(told):>9.4f}" if told else f"{'':>9}")
        print(f"  {' '.join(key)[:43]:<44}{len(reads):>7}{''.join(shares)}")
    _show_speed(tagged)


def _show_speed(one: Scores | Tagged) -> None:
    pages = max(1, one.pages)
    print(
        f"  seconds per page {one.seconds / pages:.4f} (CPU {one.cpu_seconds / pages:.4f})  n = {one.pages}"
    )


def show(name: str, scores: Scores | None, tagged: Tagged | None, icdar: Icdar | None) -> None:
    print(f"\n{name}")
    if tagged:
        show_tagged(tagged)
    if scores:
        for metric, outcomes in {**scores.tables, **scores.cells}.items():
            print(f"  {metric:<16} {interval(outcomes)}")
        _show_speed(scores)
    if icdar:
        detection, documents = icdar
        for threshold, rates in detection.items():
            print(
                f"  ICDAR 2013 detection@{threshold}: precision {rates.precision:.3f}, "
                f"recall {rates.recall:.3f}, F1 {rates.f1:.3f}  n = {rates.labelled}"
            )
        pooled = sum(documents, Rates())
        # As in the competition, means over documents; where nothing is found, nothing is right.
        precision = float(np.mean([0.0 if not one.detected else one.precision for one in documents]))
        recall = float(np.mean([one.recall for one in documents]))
        both = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        print(
            f"  ICDAR 2013 adjacency: precision {precision:.3f}, recall {recall:.3f}, F1 {both:.3f} "
            f"(of all relations together {pooled.f1:.3f})  n = {len(documents)} documents"
        )


def main(given: Sequence[str] | None = None) -> None:
    parser = arguments(__doc__)
    parser.add_argument("--labels", type=Path, help="file of labelled pages, one JSON object per line")
    parser.add_argument("--pdfs", type=Path, help="folder of their PDFs, FILING.pdf")
    parser.add_argument("--detector", default="words,pymupdf", help="names, separated by commas")
    parser.add_argument(
        "--whole", default="words", help="detectors that read the whole filings, not only the pages"
    )
    parser.add_argument("--ixbrl", type=Path, help="folder of filings in inline XBRL, HTML")
    parser.add_argument("--prints", type=Path, help="folder that keeps their PDFs for the next time")
    parser.add_argument("--icdar", type=Path, help="folder of ICDAR 2013 with tables.jsonl")
    parser.add_argument(
        "--errors", type=Path, help="writes what each detector got wrong, page by page (JSON)"
    )
    options = parser.parse_args(given)
    if bool(options.labels) != bool(options.pdfs) or not (options.labels or options.icdar or options.ixbrl):
        parser.error("give --labels with --pdfs, --ixbrl, or --icdar")
    errors: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as passing:
        for name in options.detector.split(","):
            detector = get_detector(name, get_settings().tables)
            scores = tagged = None
            if options.labels:
                whole = name in options.whole.split(",")
                scores = measure(detector, options.labels, options.pdfs, whole)
            if options.ixbrl:
                tagged = measure_tagged(detector, options.ixbrl, options.prints or Path(passing))
            errors[name] = [*(scores.errors if scores else ()), *(tagged.misses if tagged else ())]
            show(name, scores, tagged, measure_icdar(detector, options.icdar) if options.icdar else None)
    if options.errors:
        options.errors.write_text(json.dumps(errors, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
