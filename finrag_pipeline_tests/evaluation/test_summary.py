from __future__ import annotations

import json
import time

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.intervals import cluster_proportion
from finrag_pipeline.evaluation.retrieval_metrics import SERIES
from finrag_pipeline.evaluation.summary import metrics_records, summarise
from finrag_pipeline.schemas import RETRIEVAL_SCORES
from finrag_pipeline.settings import EvaluationSettings
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, scores_table

SETTINGS = EvaluationSettings()
QUESTIONS = questions_table(
    question_row("q1", "ACME_2020_10K", [0], question_type="novel"),
    question_row("q2", "ACME_2020_10K", [1], question_type="metrics"),
    question_row("q3", "ACME_2021Q1_10Q", [1], doc_type="10-Q"),
    question_row("q4", "BRIM_memo", [1], doc_type=None),
    question_row("gone", "BRIM_memo", [1], status="excluded", problem="why"),
)
SOURCES = {"ACME_2020_10K": "pdf", "ACME_2021Q1_10Q": "page_text"}
VALUES = {"q1": 1.0, "q2": 0.0, "q3": 0.5, "q4": 1.0}


def scores(system: str = "bm25", values: dict[str, float] = VALUES):
    return [(system, "corpus", question, "hit", 5, value) for question, value in values.items()]


def rows_of(table: pa.Table) -> dict[tuple[str, str, str], dict]:
    return {(r["system"], r["slice"], r["slice_value"]): r for r in table.to_pylist()}


def test_every_slice_has_its_mean_and_counts():
    table = summarise(scores_table(scores()), QUESTIONS, SOURCES, SETTINGS)
    found = {key[1:]: (r["mean"], r["n"], r["documents"]) for key, r in rows_of(table).items()}
    assert found == {
        ("all", "all"): (0.625, 4, 3),
        ("question_type", "metrics"): (0.5, 3, 3),
        ("question_type", "novel"): (1.0, 1, 1),
        ("kind", "value"): (0.625, 4, 3),
        ("doc_type", "10-K"): (0.5, 2, 1),
        ("doc_type", "10-Q"): (0.5, 1, 1),
        ("doc_type", "unknown"): (1.0, 1, 1),
        ("company", "ACME"): (0.5, 3, 2),
        ("company", "BRIM"): (1.0, 1, 1),
        ("source", "page_text"): (0.5, 1, 1),
        ("source", "pdf"): (0.5, 2, 1),
        ("source", "unknown"): (1.0, 1, 1),
    }
    for row in table.to_pylist():
        assert (row["low"] is None) == (row["high"] is None) == (row["documents"] < 2)
        assert row["low"] is None or row["low"] <= row["mean"] <= row["high"]


def test_intervals_are_those_of_a_clustered_proportion():
    rows = rows_of(summarise(scores_table(scores()), QUESTIONS, SOURCES, SETTINGS))
    filings = dict(zip(QUESTIONS["question_id"].to_pylist(), QUESTIONS["filing"].to_pylist(), strict=True))
    for key, of in ((("all", "all"), ("q1", "q2", "q3", "q4")), (("company", "ACME"), ("q1", "q2", "q3"))):
        expected = cluster_proportion([VALUES[name] for name in of], [filings[name] for name in of])
        found = rows["bm25", *key]
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_no_failure_seen_is_no_certainty():
    every = dict.fromkeys(VALUES, 1.0)
    whole = rows_of(summarise(scores_table(scores(values=every)), QUESTIONS, SOURCES, SETTINGS))
    assert (whole["bm25", "all", "all"]["mean"], whole["bm25", "all", "all"]["high"]) == (1.0, 1.0)
    assert whole["bm25", "all", "all"]["low"] < 0.5, "three filings show little"


def test_results_are_deterministic_and_do_not_depend_on_the_other_systems():
    alone = rows_of(summarise(scores_table(scores()), QUESTIONS, SOURCES, SETTINGS))
    both = summarise(
        scores_table(scores("dense", dict.fromkeys(VALUES, 0.3)) + scores()), QUESTIONS, SOURCES, SETTINGS
    )
    assert {key: row for key, row in rows_of(both).items() if key[0] == "bm25"} == alone
    constant = rows_of(both)["dense", "all", "all"]
    assert constant["mean"] == pytest.approx(0.3)
    assert constant["low"] < 0.3 < constant["high"]


def test_a_system_without_some_questions_is_summarised_over_its_own():
    partial = scores("dense", {"q1": 1.0, "q3": 1.0})
    found = rows_of(summarise(scores_table(scores() + partial), QUESTIONS, SOURCES, SETTINGS))
    assert found["dense", "all", "all"]["n"] == 2
    assert found["dense", "all", "all"]["documents"] == 2
    assert found["bm25", "all", "all"]["n"] == 4
    assert ("dense", "company", "BRIM") not in found


def test_scores_of_excluded_questions_do_not_count_and_no_scores_give_no_rows():
    table = summarise(scores_table(scores(values={"gone": 1.0})), QUESTIONS, SOURCES, SETTINGS)
    assert table.num_rows == 0
    assert summarise(scores_table([]), QUESTIONS, SOURCES, SETTINGS).num_rows == 0


def test_overlapping_folds_are_refused():
    with pytest.raises(LakeError, match="twice"):
        summarise(scores_table(scores() + scores()), QUESTIONS, SOURCES, SETTINGS)


def test_rounding_is_forgiven_and_nothing_else():
    rounded = summarise(
        scores_table(scores(values={**VALUES, "q1": 1 + 1e-12})), QUESTIONS, SOURCES, SETTINGS
    )
    assert max(row["high"] or 0.0 for row in rounded.to_pylist()) <= 1
    for wrong in (1.1, -0.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            summarise(scores_table(scores(values={**VALUES, "q1": wrong})), QUESTIONS, SOURCES, SETTINGS)


def test_records_have_the_keys_of_the_contract_and_survive_strict_json():
    table = summarise(scores_table(scores()), QUESTIONS, SOURCES, SETTINGS)
    records = json.loads(json.dumps(metrics_records(table), allow_nan=False))
    assert len(records) == table.num_rows
    keys = ["system", "space", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]
    assert all(list(record) == keys for record in records)
    novel = next(record for record in records if record["slice_value"] == "novel")
    assert (novel["mean"], novel["low"], novel["high"], novel["n"]) == (1.0, None, None, 1)


def test_a_sweep_of_the_size_of_the_benchmark_takes_seconds():
    rng = np.random.default_rng(0)
    questions = questions_table(
        *(
            question_row(
                f"q{i}", f"C{i % 32}_{i % 84}_10K", [0], question_type=f"type{i % 3}", doc_type=f"form{i % 4}"
            )
            for i in range(150)
        )
    )
    keys = [
        (system, space, f"q{i}", metric, k)
        for system in ("bm25", "dense", "hybrid_rrf")
        for space in ("corpus", "filing", "pages")
        for i in range(150)
        for metric, k in SERIES
    ]
    columns = [*zip(*keys, strict=True), rng.random(len(keys))]
    table = pa.table(list(map(pa.array, columns)), names=RETRIEVAL_SCORES.names).cast(RETRIEVAL_SCORES)
    start = time.perf_counter()
    result = summarise(table, questions, {}, EvaluationSettings())
    assert time.perf_counter() - start < 30  # about 3 s on one quiet core
    values = 1 + 3 + 1 + 4 + 32 + 1
    assert result.num_rows == 9 * len(SERIES) * values
