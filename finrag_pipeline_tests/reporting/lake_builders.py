"""The optional tables of a report, with one of everything that a page shows."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.report_data import FACT_COLUMNS, PROFILE_COLUMNS, ReportData
from finrag_pipeline.schemas import (
    FOLDS,
    PAGE_PROFILES,
    PAGE_RANKER,
    PAGE_SCORER,
    RETRIEVAL_SCORES,
    STATEMENT_FACTS,
    TABLES,
)
from finrag_pipeline_tests.reporting.builders import (
    failed_row,
    filing_row,
    filings_table,
    metric_row,
    metrics_table,
    question_row,
    questions_table,
    random_metrics,
    report_data,
)

FILING = "EXAMPLE_1940_10K"
YEAR = (date(2022, 1, 1), date(2022, 12, 31))


def fact(
    row: int,
    column: int,
    label: str,
    value: float,
    statement: str = "financial_position",
    concept: str | None = None,
    path: tuple[str, ...] = (),
    **overrides: Any,
) -> dict[str, Any]:
    """A fact of a balance sheet: column 1 is the last day of 2022, column 2 that of 2021."""
    filing, page = overrides.get("filing", FILING), overrides.get("page", 40)
    end = date(2023 - column, 12, 31)
    return {
        "fact_id": f"{filing}:{page}:0:{row}:{column}",
        "filing": filing,
        "statement": statement,
        "scope": "primary",
        "concept": concept,
        "line": concept,
        "label": label,
        "path": [*path, label],
        "qualifier": None,
        "period_start": None,
        "period_end": end,
        "period_kind": "instant",
        "fiscal_year": end.year,
        "fiscal_quarter": None,
        "value": value,
        "unit": "currency",
        "currency": "USD",
        "printed": f"{value / 1e6:,.0f}",
        "scale": 1e6,
        "scale_source": None,
        "source": "table",
        "page": page,
        "table": 0,
        "row": row,
        "column": column,
        **dict.fromkeys(("x0", "y0", "x1", "y1")),
        **overrides,
    }


def balance_sheet(filing: str = FILING, off_by: float = 0.0) -> list[dict[str, Any]]:
    """A balance sheet of two years; assets differ from their sources by ``off_by`` in the first."""
    lines = (
        ("Cash", "CashAndCashEquivalentsAtCarryingValue", ("Current assets",), 40e6),
        ("Total assets", "Assets", (), 100e6),
        ("Total liabilities", "Liabilities", (), 60e6),
        ("Total equity", "StockholdersEquity", (), 40e6),
        ("Total liabilities and equity", "LiabilitiesAndStockholdersEquity", (), 100e6),
    )
    found = []
    for column in (1, 2):
        for row, (label, concept, path, value) in enumerate(lines, start=2):
            off = off_by if concept == "Assets" and column == 1 else 0.0
            found.append(fact(row, column, label, value + off, concept=concept, path=path, filing=filing))
    return found


def facts_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=STATEMENT_FACTS).select(list(FACT_COLUMNS))


def profile(page: int, filing: str = FILING, **overrides: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {name: [] for name in ("concepts", "years", "body", "head", "labels")}
    return {
        "filing": filing,
        "page": page,
        "sections": ["statements"],
        "note": "",
        "headings": ["Example Holdings, Inc.", f"Heading of page {page}"],
        "characters": 100,
        "words": 1234,
        "numeric_words": 10,
        "tables": 1,
        "cells": 12,
        "statements": [],
        **nothing,
        **overrides,
    }


def profiles_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=PAGE_PROFILES).select(list(PROFILE_COLUMNS))


def answer_rows(system: str, space: str, mean: float, n: int = 150) -> list[dict[str, Any]]:
    rows = []
    for name, value in (("all", "all"), ("question_type", "metrics")):
        of = {"slice": name, "slice_value": value, "n": n}
        rows += [
            metric_row(system, space, metric, 0, mean, **of)
            for metric in ("numeric_match", "rouge_l", "abstained")
        ]
        rows.append(metric_row(system, space, "strict_match", 0, mean, **{**of, "n": 52}))
    return rows


def answer_metrics() -> pa.Table:
    return metrics_table(
        [
            *answer_rows("recorded gpt-4_closedBook", "corpus", 0.22),
            *answer_rows("recorded gpt-4_oracle", "pages", 0.9),
            *answer_rows("extractive on finrag", "corpus", 0.4),
            *answer_rows("calculator on finrag", "corpus", 0.65),
        ]
    )


def comparison_row(system: str, baseline: str, difference: float, **overrides: Any) -> dict[str, Any]:
    return {
        "system": system,
        "baseline": baseline,
        "space": "corpus",
        "metric": "page_rec",
        "k": 5,
        "mean": 0.5 + difference,
        "baseline_mean": 0.5,
        "difference": difference,
        "low": difference - 0.1,
        "high": difference + 0.1,
        "p_value": 0.02,
        "p_holm": 0.04,
        "detectable": 0.12,
        "detectable_in_family": 0.15,
        "better": 30,
        "worse": 10,
        "equal": 110,
        "n": 150,
        "documents": 84,
        **overrides,
    }


def table_of(name: str, *rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=TABLES[name])


def gap_count(retrieval: str, kind: str, value: str, count: int) -> dict[str, Any]:
    share = count / 150
    return {
        "retrieval": retrieval,
        "answering": None,
        "space": "corpus",
        "kind": kind,
        "value": value,
        "count": count,
        "share": share,
        "low": max(share - 0.05, 0.0),
        "high": min(share + 0.05, 1.0),
        "n": 150,
    }


def gap_row(question_id: str, retrieval: str, label: str, why: str) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "retrieval": retrieval,
        "answering": None,
        "space": "corpus",
        "level": "page",
        "labels": [label],
        "why": why,
        "filing": FILING,
        "page": 3,
    }


def epoch(fold: str, number: int, chosen: bool = False, policy: str = "document") -> dict[str, Any]:
    return {
        "policy": policy,
        "model": "0" * 32,
        "epoch": number,
        "loss": 1.0 / number if number else None,
        "page_rec": 0.3 + 0.05 * number,
        "mrr": 0.25,
        "chosen": chosen,
        "tested_page_rec": 0.4 if chosen else None,
        "fold": fold,
    }


def with_fold(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema.append(pa.field("fold", pa.string())))


def sweep() -> pa.Table:
    rows = [
        {
            "system": f"alpha={alpha:.2f}",
            "space": space,
            "question_id": f"q{question}",
            "metric": metric,
            "k": 5,
            "value": min(1.0, alpha + 0.1 * question),
        }
        for alpha in (0.0, 0.5, 1.0)
        for space in ("corpus", "filing", "pages")
        for question in range(4)
        for metric in ("doc_rec", "page_rec")
    ]
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_SCORES)


def judged_row(method: str, **overrides: Any) -> dict[str, Any]:
    return {
        "system": "calculator on finrag",
        "space": "corpus",
        "criterion": "veracity",
        "judge": "baseline",
        "theme": "all",
        "method": method,
        "estimate": 0.8,
        "low": 0.7,
        "high": 0.88,
        "effective_n": 31.98,
        "lam": None,
        "labels": 29,
        "verdicts": 800,
        "missing": 0,
        "questions": 40,
        **overrides,
    }


def calibration_row(**overrides: Any) -> dict[str, Any]:
    known = dict.fromkeys(("observed", "chance", "kappa", "human_rate", "judge_rate"), 0.7)
    ends = {f"{name}_{end}": 0.6 for name in ("observed", "kappa") for end in ("low", "high")}
    names = {"judge": "baseline", "criterion": "correctness", "labels": "two", "group": "all"}
    return {**names, "n": 2400, "missing": 3, **known, **ends, **overrides}


def full_tables() -> dict[str, pa.Table]:
    """Every optional table, small."""
    return {
        "statement_facts": facts_table([*balance_sheet(), *balance_sheet("EXAMPLE_1941_10K", off_by=7e6)]),
        "page_profiles": profiles_table([profile(page) for page in range(45)]),
        "table_counts": pa.Table.from_pylist(
            [
                {
                    "filing": FILING,
                    "detector": "words",
                    "pages": 30,
                    "tables": 41,
                    "numbers": 900,
                    "unread": 20,
                },
                {
                    "filing": "OTHER",
                    "detector": "pymupdf",
                    "pages": 3,
                    "tables": 4,
                    "numbers": 50,
                    "unread": 1,
                },
            ]
        ),
        "answer_metrics": answer_metrics(),
        "closed_book": pa.table({"system": ["recorded gpt-4_closedBook"]}),
        "system_comparisons": table_of(
            "system_comparisons",
            comparison_row("bm25", "dense", -0.1, p_holm=0.4),
            comparison_row("hybrid_rrf", "dense", 0.2, p_holm=0.0004),
            comparison_row(
                "dense", "bm25", 0.1, low=None, high=None, p_value=None, p_holm=None, detectable=None
            ),
        ),
        "folds": pa.Table.from_pylist(
            [{"question_id": f"q{n}", "filing": f"F{n}", "fold": n % 2} for n in range(4)], schema=FOLDS
        ),
        "hybrid_alpha_sweep": sweep(),
        "page_scorer": with_fold(
            PAGE_SCORER, [epoch("fold_0", n, chosen=n == 2) for n in range(4)] + [epoch("fold_1", 0, True)]
        ),
        "page_ranker": with_fold(
            PAGE_RANKER,
            [
                {"feature": feature, "gain": gain, "fold": fold}
                for fold in ("fold_0", "fold_1")
                for feature, gain in (("bm25_terms_body", 0.6), ("best_cosine", 0.4))
            ],
        ),
        "retrieval_gap": table_of(
            "retrieval_gap",
            *(gap_row(f"q{n}", "bm25", "wrong_year", f"reason {n}") for n in range(5)),
            gap_row("q1", "dense", "wrong_year", "another reason"),
            gap_row("q2", "dense", "lexical_gap", "few words"),
        ),
        "gap_counts": table_of(
            "gap_counts",
            gap_count("bm25", "level", "filing", 60),
            gap_count("bm25", "level", "none", 90),
            gap_count("bm25", "label", "wrong_year", 20),
        ),
        "answer_rates": table_of(
            "answer_rates",
            {
                "system": "calculator on finrag",
                "space": "corpus",
                "metric": "response",
                "theme": "all",
                "difficulty": "all",
                "rate": 0.9,
                "low": 0.8,
                "high": 0.95,
                "n": 150,
                "questions": 150,
                "effective_n": 140.0,
            },
        ),
        "judge_calibration": table_of("judge_calibration", calibration_row(), calibration_row(group="x")),
        "judged_estimates": table_of("judged_estimates", judged_row("judge"), judged_row("ppi")),
        "judge_sensitivity": table_of(
            "judge_sensitivity",
            *(
                {
                    "agreement": agreement,
                    **dict.fromkeys(("half_width", "half_width_low", "half_width_high"), 0.06),
                    "effective_n": 30.0,
                    "lam": 0.5,
                    "coverage": 0.95,
                    "expected_half_width": 0.06,
                    "expected_effective_n": 31.0,
                }
                for agreement in (0.8, 0.9)
            ),
        ),
    }


def small_data() -> ReportData:
    """Every table and kind of page, with few rows: browsers take their time."""
    filings = [
        filing_row(f"EXAMPLE_{year}_10K", fiscal_year=year, pages=year - 1900) for year in range(1940, 1968)
    ]
    filings[3]["conflicts"] = ["the cover page says form 10-Q, the file name says 10-K"]
    filings.append(failed_row("BROKEN", "BROKEN.pdf is encrypted.", "Remove its password."))
    questions = [question_row(f"q{number}", FILING) for number in range(3)]
    questions.append(question_row("q_out", "BROKEN", status="excluded", problem="could not be read"))
    return full_data(
        metrics=random_metrics(companies=1),
        filings=filings_table(*filings),
        questions=questions_table(*questions),
    )


def full_data(**overrides: Any) -> ReportData:
    """A report with every optional table."""
    known: dict[str, Any] = {
        "tables": full_tables(),
        "models": [("Encoder", "an-encoder, fp32", "abc123")],
        "hardware": {"processor": "a processor", "memory": "1.0 GiB"},
    }
    return report_data(**{**known, **overrides})
