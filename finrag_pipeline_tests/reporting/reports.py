"""Whole reports on made-up data that several test modules read, each written once per test session."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from finrag_pipeline.reporting.report import write_report
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline_tests.reporting.builders import (
    HOSTILE,
    empty_data,
    failed_row,
    filing_row,
    filings_table,
    ledger_row,
    ledger_table,
    metrics_table,
    question_row,
    questions_table,
    random_metrics,
    report_data,
)
from finrag_pipeline_tests.reporting.lake_builders import (
    answer_rows,
    balance_sheet,
    comparison_row,
    facts_table,
    full_data,
    gap_count,
    gap_row,
    judged_row,
    profile,
    profiles_table,
    table_of,
)
from finrag_pipeline_tests.shared_run import made_once

LONG = "An_unusually_long_name_" * 20


def hostile_tables() -> dict[str, pa.Table]:
    """Texts of statements, pages, failure modes and answers as a hostile filing would have them."""
    facts = [
        {**row, "label": HOSTILE, "path": [HOSTILE, HOSTILE], "qualifier": HOSTILE, "concept": HOSTILE}
        for row in balance_sheet(HOSTILE)
    ]
    return {
        "statement_facts": facts_table([*facts, *balance_sheet(HOSTILE, off_by=1e6)]),
        "page_profiles": profiles_table(
            [profile(3, HOSTILE, sections=[HOSTILE], note=HOSTILE, headings=[HOSTILE])]
        ),
        "answer_metrics": metrics_table(answer_rows(HOSTILE, HOSTILE, 0.5)),
        "system_comparisons": table_of("system_comparisons", comparison_row(HOSTILE, HOSTILE, 0.1)),
        "retrieval_gap": table_of("retrieval_gap", gap_row(HOSTILE, HOSTILE, "wrong_year", HOSTILE)),
        "gap_counts": table_of("gap_counts", gap_count(HOSTILE, "level", "page", 3)),
        "judged_estimates": table_of("judged_estimates", judged_row("judge", system=HOSTILE, judge=HOSTILE)),
    }


def hostile_data() -> ReportData:
    systems = ("bm25", "dense", HOSTILE, LONG, *(f"system_{i}" for i in range(6)))
    return report_data(
        benchmark=HOSTILE,
        metrics=random_metrics(systems, companies=2, questions=40, documents=12),
        filings=filings_table(
            filing_row(HOSTILE, company=HOSTILE, file_name=HOSTILE, conflicts=[HOSTILE], warnings=[LONG]),
            failed_row(LONG, HOSTILE, HOSTILE),
            filing_row("ÉTÉ 2022 年報"),
        ),
        questions=questions_table(
            question_row(HOSTILE, HOSTILE, status="excluded", question=HOSTILE, problem=HOSTILE)
        ),
        ledger=ledger_table(ledger_row(HOSTILE, HOSTILE, "failed", error=HOSTILE, remedy=HOSTILE)),
        settings={HOSTILE: {"x": HOSTILE}},
        versions={HOSTILE: HOSTILE},
        hardware={HOSTILE: HOSTILE},
        models=((HOSTILE, HOSTILE, HOSTILE),),
        tables=hostile_tables(),
        command=f"finrag run --source '{HOSTILE}'",
    )


CASES = {
    "plain": report_data,
    "full": full_data,
    "empty": empty_data,
    "hostile": hostile_data,
    "single": lambda: report_data(
        metrics=random_metrics(("dense",), companies=1, questions=4, documents=1),
        filings=filings_table(filing_row("ONLY")),
    ),
}


def shared_report(factory: pytest.TempPathFactory, name: str) -> Path:
    """Folder of the report on one of `CASES`; for reading only."""
    return made_once(factory, f"report_{name}", lambda folder: write_report(CASES[name](), folder))
