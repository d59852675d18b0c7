"""Grids of what a report is about: filings, excluded questions, settings, versions and the ledger."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.estimates import SOURCE_NAMES
from finrag_pipeline.reporting.grid import Cell, Grid, Note, make_grid, number, prose, text

OUTCOMES = ("materialised", "cache_hit", "skipped", "failed")
_OUTCOME_NAMES = {"cache_hit": "Cache hit"}
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def identity_cells(record: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Filing, status, company, form and period of a row of ``schemas.FILINGS``."""
    failed = record["status"] != "ok"
    name = record["file_name"]
    other_name = name if name.rsplit(".", 1)[0] != record["filing"] else ""
    odd = "Conflict" if record["conflicts"] else "Warning" if record["warnings"] else "OK"
    return (
        Cell(record["filing"], other_name),
        Cell("Failed" if failed else odd, SOURCE_NAMES.get(record["source"], record["source"])),
        _stated_or_declared(record["company"], record["declared_company"]),
        _stated_or_declared(record["form"], record["declared_form"]),
        _period(record),
    )


def remarks(record: Mapping[str, Any]) -> tuple[Note, ...]:
    """What is wrong with a filing: why it failed and the remedy, conflicts, warnings."""
    notes = []
    if record["status"] != "ok":
        notes.append(Note("failure", record["reason"] or "No reason was given.", record["remedy"] or ""))
    notes += [Note("conflict", text) for text in record["conflicts"] or ()]
    notes += [Note("warning", text) for text in record["warnings"] or ()]
    return tuple(notes)


def _stated_or_declared(stated: str | None, declared: str | None) -> Cell:
    if stated:
        return Cell(stated)
    return Cell(declared, "declared") if declared else Cell("–", sort="")


def _period(record: Mapping[str, Any]) -> Cell:
    stated = record["fiscal_year"] is not None
    year = record["fiscal_year"] if stated else record["declared_year"]
    quarter = record["fiscal_quarter"] if stated else record["declared_quarter"]
    end = record["period_end"]
    day = f"{end:%Y-%m-%d}" if end else ""
    if year is None:
        return Cell(day or "–", sort=day)
    text = f"FY {year}" + (f" Q{quarter}" if quarter else "")
    return Cell(text, day if stated else "declared", sort=f"{year} {quarter or 5} {day}")


def filing_counts(filings: pa.Table) -> dict[str, int]:
    """Filings by what is to be said of them: failed, conflicts, warnings (one filing may count twice)."""
    records = filings.select(["status", "conflicts", "warnings"]).to_pylist()
    return {
        "failed": sum(record["status"] != "ok" for record in records),
        "conflicts": sum(bool(record["conflicts"]) for record in records),
        "warnings": sum(bool(record["warnings"]) for record in records),
    }


def excluded_grid(questions: pa.Table) -> Grid:
    """Questions that enter no metric, and why.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
    """
    rows = [
        (one["question_id"], one["filing"], one["question"], one["problem"] or "No reason was given.")
        for one in questions.to_pylist()
        if one["status"] != "measured"
    ]
    columns = (text("Question"), text("Gold filing"), prose("Text"), prose("Problem"))
    caption = "Questions left out of every metric"
    return make_grid("excluded", caption, columns, rows, "Every question is measured.")


def settings_grid(settings: Mapping[str, Any]) -> Grid:
    """Settings as dotted names and values; credentials inside URLs are blanked."""
    rows = [(name, _CREDENTIALS.sub("…@", str(value))) for name, value in _flat(settings)]
    columns = (text("Setting"), prose("Value"))
    return make_grid("settings", "Settings of the run", columns, rows, "No settings were recorded.")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", "not set" if value is None else value


def ledger_grid(ledger: pa.Table) -> Grid:
    """Latest outcomes, rows and seconds per asset.

    Args:
        ledger: table as ``schemas.LEDGER``.
    """
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    rows_of: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    for entry in ledger.to_pylist():
        outcomes[entry["asset"]][entry["outcome"]] += 1
        rows_of[entry["asset"]] += entry["rows"] or 0
        seconds[entry["asset"]] += entry["seconds"] or 0.0
    unknown = sorted({outcome for counts in outcomes.values() for outcome in counts} - set(OUTCOMES))
    kinds = [*OUTCOMES, *unknown]
    rows = [
        (
            asset,
            counts.total(),
            *(counts[kind] for kind in kinds),
            rows_of[asset],
            Cell(f"{seconds[asset]:,.1f}", sort=seconds[asset]),
        )
        for asset, counts in outcomes.items()
    ]
    names = (_OUTCOME_NAMES.get(kind, kind.capitalize()) for kind in kinds)
    columns = (text("Asset"), *map(number, ("Partitions", *names, "Rows", "Seconds")))
    return make_grid("ledger", "Latest outcome of every step", columns, rows, "The ledger is empty.")


def failures_grid(ledger: pa.Table) -> Grid:
    """Steps whose latest outcome is a failure, with reason and remedy.

    Args:
        ledger: table as ``schemas.LEDGER``.
    """
    rows = [
        (
            one["asset"],
            one["partition"] or "–",
            f"{one['at']:%Y-%m-%d %H:%M}" if one["at"] else "–",
            Cell(notes=(Note("failure", one["error"] or "No reason was given.", one["remedy"] or ""),)),
        )
        for one in ledger.to_pylist()
        if one["outcome"] == "failed"
    ]
    columns = (text("Asset"), text("Partition"), text("When (UTC)"), prose("What went wrong"))
    return make_grid("failures", "Steps that failed", columns, rows, "No step failed.")
