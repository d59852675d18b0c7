"""Plausible tables for the reporting tests: random, seeded, of any size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.evaluation.corpus_statistics import STATISTICS, TOTALS
from finrag_pipeline.evaluation.retrieval_metrics import SERIES
from finrag_pipeline.reporting.report_data import ReportData, lake_tables
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, CORPUS_STATISTICS, FILINGS, LEDGER, SYSTEM_METRICS
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import lake_views

MADE = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
HOSTILE = '<script>alert("x")</script>../../etc/passwd\'"&|`$x$'
_FORMS = ("10-K", "10-Q", "8-K", "EARNINGS")


def metrics_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SYSTEM_METRICS)


def metric_row(system: str, space: str, metric: str, k: int, mean: float, **overrides: Any) -> dict[str, Any]:
    return {
        "system": system,
        "space": space,
        "slice": "all",
        "slice_value": "all",
        "metric": metric,
        "k": k,
        "mean": mean,
        "low": max(mean - 0.05, 0.0),
        "high": min(mean + 0.05, 1.0),
        "n": 150,
        "documents": 84,
        **overrides,
    }


def random_metrics(
    systems: tuple[str, ...] = ("bm25", "dense", "hybrid_rrf"),
    companies: int = 32,
    seed: int = 0,
    questions: int = 150,
    documents: int = 84,
) -> pa.Table:
    """Every series of a run on every slice; recall grows with k and with the help of the oracle."""
    rng = np.random.default_rng(seed)
    slices = [("all", "all", questions, documents)]
    slices += [
        ("question_type", name, questions // 3, documents // 2) for name in ("domain", "metrics", "novel")
    ]
    slices += [("doc_type", form, questions // 4, documents // 4) for form in _FORMS]
    slices += [("source", "page_text", 21, 10), ("source", "pdf", questions - 21, documents - 10)]
    slices += [
        ("company", f"Company {i:02d}", int(rng.integers(1, 9)), int(rng.integers(1, 4)))
        for i in range(companies)
    ]
    help_of = {"corpus": 0.0, "filing": 0.28, "pages": 0.75}
    rows = []
    for name, value, n, clusters in slices:
        for position, system in enumerate(systems):
            skill = 0.14 + 0.08 * position + rng.normal(0, 0.03)
            for space, gain in help_of.items():
                for metric, k in SERIES:
                    scale = {"doc_rec": 2.6, "max_bleu": 0.7, "max_rouge_l": 0.8}.get(metric, 1.0)
                    mean = (skill * scale + gain) * (0.55 + 0.2 * np.log2(max(k, 1)))
                    if metric.startswith("max"):
                        mean *= 0.6
                    if metric == "doc_rec" and space != "corpus":
                        mean = 1.0
                    mean = float(np.clip(mean, 0.0, 1.0))
                    half = 0.98 * (mean * (1 - mean) / n) ** 0.5 * 2
                    known = clusters > 1
                    rows.append(
                        metric_row(
                            system,
                            space,
                            metric,
                            k,
                            mean,
                            slice=name,
                            slice_value=value,
                            low=max(mean - half, 0.0) if known else None,
                            high=min(mean + half, 1.0) if known else None,
                            n=n,
                            documents=clusters,
                        )
                    )
    return metrics_table(rows)


def statistics_table(forms: tuple[str, ...] = _FORMS) -> pa.Table:
    rows = []
    for form in (*forms, "all"):
        for position, statistic in enumerate(STATISTICS):
            total = statistic in TOTALS
            rows.append(
                {
                    "doc_type": form,
                    "statistic": statistic,
                    "mean": 1234.0 + position if total else 12.5 + position,
                    "std": None if total else 3.25,
                    "n": 40,
                }
            )
    return pa.Table.from_pylist(rows, schema=CORPUS_STATISTICS)


def filing_row(filing: str, **overrides: Any) -> dict[str, Any]:
    return {
        "filing": filing,
        "status": "ok",
        "reason": None,
        "remedy": None,
        "file_name": f"{filing}.pdf",
        "source": "pdf",
        "bytes": 1000,
        "sha256": "0" * 64,
        "pages": 120,
        "company": "Example Holdings, Inc.",
        "form": "10-K",
        "fiscal_year": 2022,
        "fiscal_quarter": None,
        "period_end": date(2022, 12, 31),
        "filed": None,
        "ticker": "EXH",
        "declared_company": "Example",
        "declared_form": "10-K",
        "declared_year": 2022,
        "declared_quarter": None,
        "sector": None,
        "conflicts": [],
        "warnings": [],
        **overrides,
    }


def failed_row(filing: str, reason: str, remedy: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("company", "form", "fiscal_year", "period_end", "ticker"))
    return filing_row(filing, status="failed", reason=reason, remedy=remedy, pages=0, **nothing)


def filings_table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=FILINGS)


def questions_table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=BENCHMARK_QUESTIONS)


def question_row(question_id: str, filing: str, **overrides: Any) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "question": "What was revenue in the year?",
        "answer": "42",
        "justification": None,
        "question_type": "metrics",
        "reasoning": None,
        "company": "Example",
        "filing": filing,
        "doc_type": "10-K",
        "gold_pages": [3],
        "evidence": [{"filing": filing, "page": 3, "text": "Revenue 42"}],
        "status": "measured",
        "problem": None,
        **overrides,
    }


def ledger_row(asset: str, partition: str, outcome: str = "materialised", **overrides: Any) -> dict[str, Any]:
    return {
        "asset": asset,
        "partition": partition,
        "outcome": outcome,
        "fingerprint": "f" * 32,
        "rows": 10,
        "seconds": 1.5,
        "error": None,
        "remedy": None,
        "run_id": "run",
        "at": MADE,
        **overrides,
    }


def ledger_table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=LEDGER)


@cache
def no_tables() -> dict[str, pa.Table]:
    """The tables of a report of a lake that holds none of them."""
    with TemporaryDirectory() as folder, lake_views(Lake(folder)) as query:
        return lake_tables(query, ["none"])


def report_data(tables: Mapping[str, pa.Table] | None = None, **overrides: Any) -> ReportData:
    """A report of some size with one of everything that can go wrong; it has no ``tables`` but those given."""
    filings = [
        filing_row(f"EXAMPLE_{year}_10K", fiscal_year=year, pages=100 + year % 7)
        for year in range(1940, 2020)
    ]
    filings[3]["conflicts"] = ["the cover page says form 10-Q, the file name says 10-K"]
    filings[5]["warnings"] = ["the file is damaged and was repaired while reading"]
    filings.append(
        filing_row("QUARTER_2021_Q2", form="10-Q", fiscal_quarter=2, file_name="Quarter (2021) Q2.pdf")
    )
    filings.append(
        filing_row(
            "TEXT_ONLY", source="page_text", company=None, form=None, fiscal_year=None, period_end=None
        )
    )
    filings.append(
        failed_row("BROKEN", "BROKEN.pdf is encrypted.", "Remove its password and ingest it again.")
    )
    questions = [question_row(f"q{i}", "EXAMPLE_1940_10K") for i in range(150)]
    questions.append(
        question_row("q_out", "BROKEN", status="excluded", problem="gold filing 'BROKEN' could not be read")
    )
    ledger = [ledger_row("filing_pages", row["filing"], "cache_hit") for row in filings[:-1]]
    ledger.append(
        ledger_row(
            "filing_pages",
            "BROKEN",
            "failed",
            error="BROKEN.pdf is encrypted.",
            remedy="Remove its password.",
        )
    )
    ledger.append(ledger_row("system_metrics", ""))
    data = ReportData(
        benchmark="Example benchmark",
        metrics=random_metrics(),
        statistics=statistics_table(),
        filings=filings_table(*filings),
        questions=questions_table(*questions),
        ledger=ledger_table(*ledger),
        settings={
            "seed": 17,
            "lake": "/lake",
            "encoder": {"name": "an-encoder", "revision": None},
            "evaluation": {"confidence": 0.95},
        },
        versions={"python": "3.11", "pyarrow": "25.0"},
        command="finrag run --source data/example",
        tables={**no_tables(), **(tables or {})},
        made=MADE,
    )
    return replace(data, **overrides)


def empty_data() -> ReportData:
    """A report before anything was done."""
    return report_data(
        metrics=SYSTEM_METRICS.empty_table(),
        statistics=CORPUS_STATISTICS.empty_table(),
        filings=FILINGS.empty_table(),
        questions=BENCHMARK_QUESTIONS.empty_table(),
        ledger=LEDGER.empty_table(),
        settings={},
        versions={},
        command="",
    )
