from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise

import ir_measures
import numpy as np
import pyarrow as pa
import pytest
from ir_measures import RR, R, nDCG

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.evaluation.retrieval_metrics import score_runs
from finrag_pipeline.evaluation.trec import export_qrels, export_run, trec_id
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, run_rows, runs_table

FILINGS = ["ACME 2020 10K", "ACME%202020 10K", "Brim_2021"]
PAGES = 6
INDEX = [
    (f"{filing}#{page}#{n}", filing, page) for filing in FILINGS for page in range(PAGES) for n in range(3)
]


def benchmark(seed: int = 0, questions: int = 40):
    """Random rankings of 54 chunks, most of whose scores tie, and questions with one to three gold pages."""
    rng = np.random.default_rng(seed)
    rows, runs, gold = [], [], {}
    for i in range(questions):
        filing = FILINGS[i % 3]
        pages = sorted(rng.choice(PAGES, size=1 + i % 3, replace=False).tolist())
        rows.append(question_row(f"q {i}", filing, pages))
        gold[f"q {i}"] = frozenset(c for c, f, p in INDEX if f == filing and p in pages)
        order = rng.permutation(len(INDEX))[: rng.integers(1, len(INDEX))]
        ranking = run_rows("bm25", "corpus", f"q {i}", [INDEX[j] for j in order])
        for row in ranking:
            # Ties, scores apart by less than a 32-bit float can hold, zeros and negative scores.
            row["score"] = float(2 - row["rank"] // 5) + (1e-12 * -row["rank"] if i % 2 else 0.0)
        runs += ranking
    return questions_table(*rows), runs_table(runs), gold


QUESTIONS, RUNS, GOLD = benchmark()
SCORES = {
    (r["question_id"], r["metric"], r["k"]): r["value"]
    for r in score_runs(RUNS, QUESTIONS, {c: c for c, _, _ in INDEX}, GOLD).to_pylist()
}
RANX = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file(sys.argv[1], kind="trec"), Run.from_file(sys.argv[2], kind="trec")
evaluate(qrels, run, sys.argv[3:], return_mean=False)
print(json.dumps({m: {q: float(v) for q, v in s.items()} for m, s in run.scores.items()}))
"""


def run_ranx(tmp_path, qrels: str, run: str, *metrics: str) -> dict[str, dict[str, float]]:
    """Scores of ranx in a process of its own: interpreted, because compiling it takes a minute."""
    (tmp_path / "qrels.trec").write_text(qrels)
    (tmp_path / "run.trec").write_text(run)
    command = [sys.executable, "-c", RANX, tmp_path / "qrels.trec", tmp_path / "run.trec", *metrics]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_ir_measures(qrels: str, run: str, measures: list) -> dict[tuple[str, str], float]:
    values = ir_measures.iter_calc(
        measures, list(ir_measures.read_trec_qrels(qrels)), list(ir_measures.read_trec_run(run))
    )
    return {(str(m.measure), m.query_id): m.value for m in values}


@pytest.fixture(scope="module")
def question_ids() -> list[str]:
    return QUESTIONS["question_id"].to_pylist()


def test_chunk_level_scores_of_ir_measures_are_ours(question_ids):
    found = run_ir_measures(
        export_qrels(QUESTIONS, "chunk", GOLD),
        export_run(RUNS, "chunk"),
        [R @ 5, R @ 10, R @ 20, nDCG @ 10, RR],
    )
    assert len(found) == 5 * len(question_ids)
    for question in question_ids:
        for name, key in (("R@5", ("recall", 5)), ("R@10", ("recall", 10)), ("R@20", ("recall", 20))):
            assert found[name, trec_id(question)] == pytest.approx(SCORES[question, *key], abs=1e-9)
        assert found["nDCG@10", trec_id(question)] == pytest.approx(SCORES[question, "ndcg", 10], abs=1e-9)
        assert found["RR", trec_id(question)] == pytest.approx(SCORES[question, "mrr", 0], abs=1e-9)


def test_chunk_level_scores_of_ranx_are_ours(tmp_path, question_ids):
    found = run_ranx(
        tmp_path,
        export_qrels(QUESTIONS, "chunk", GOLD),
        export_run(RUNS, "chunk"),
        *("recall@5", "recall@10", "recall@20", "ndcg@10", "mrr"),
    )
    names = {
        "recall@5": ("recall", 5),
        "recall@10": ("recall", 10),
        "recall@20": ("recall", 20),
        "ndcg@10": ("ndcg", 10),
        "mrr": ("mrr", 0),
    }
    for name, key in names.items():
        expected = {trec_id(question): SCORES[question, *key] for question in question_ids}
        assert found[name] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("k", [1, 3, 5, 10, 20])
def test_recall_of_the_page_level_run_cut_at_k_is_page_rec(question_ids, k):
    found = run_ir_measures(export_qrels(QUESTIONS, "page", GOLD), export_run(RUNS, "page", cut=k), [R @ k])
    for question in question_ids:
        assert found[f"R@{k}", trec_id(question)] == pytest.approx(SCORES[question, "page_rec", k], abs=1e-9)


def test_the_page_level_run_holds_each_page_once_at_its_best_rank():
    rows = run_rows("dense", "filing", "q", [("a", "F", 0), ("b", "F", 0), ("c", "F", 2), ("d", "G", 0)])
    lines = export_run(runs_table(rows), "page", cut=3).splitlines()
    assert [line.split()[:4] for line in lines] == [["q", "Q0", "F/p0", "1"], ["q", "Q0", "F/p2", "2"]]
    assert [float(line.split()[4]) for line in lines] == [9.0, 7.0]
    assert {line.split()[5] for line in lines} == {"dense.filing"}


@pytest.mark.parametrize("level", ["chunk", "page"])
def test_scores_fall_strictly_in_single_precision_and_ranks_count_up(level):
    previous: dict[str, tuple[float, int]] = {}
    for line in export_run(RUNS, level).splitlines():
        question, _, _, rank, score, _ = line.split()
        single = np.float32(score)
        assert float(single) == float(np.float32(float(score)))
        above, last = previous.get(question, (np.inf, 0))
        assert single < above
        assert int(rank) == last + 1
        previous[question] = (single, int(rank))
    assert len(previous) == len(QUESTIONS)


@pytest.mark.parametrize("score", [0.0, 1e300, -1e300, 1e-300, 16_777_217.0])
def test_ties_at_the_ends_of_the_range_are_broken(score):
    rows = run_rows("s", "corpus", "q", [(f"c{n}", "F", n) for n in range(4)])
    for row in rows:
        row["score"] = score
    text = export_run(runs_table(rows), "chunk")
    scores = [float(np.float32(line.split()[4])) for line in text.splitlines()]
    assert np.isfinite(scores).all()
    assert all(a > b for a, b in pairwise(scores))


def test_identifiers_lose_their_whitespace_but_not_their_difference():
    ids = ["a b", "a%20b", "a\tb", "a\u00a0b", "a\u2028b", "a_b", "a\x1fb"]
    encoded = [trec_id(identifier) for identifier in ids]
    assert all(len(identifier.split()) == 1 for identifier in encoded)
    assert len(set(encoded)) == len(ids)
    assert trec_id("plain-ID_1.x#2/p0") == "plain-ID_1.x#2/p0"


def test_only_measured_questions_are_judged():
    questions = questions_table(
        question_row("a", "F", [0, 2]), question_row("b", "F", [1], status="excluded", problem="why")
    )
    assert export_qrels(questions, "page", {}) == "a 0 F/p0 1\na 0 F/p2 1\n"
    assert export_qrels(questions, "chunk", {"a": frozenset({"y", "x"})}) == "a 0 x 1\na 0 y 1\n"


def test_requests_that_make_no_sense_are_refused():
    two = pa.concat_tables([RUNS, runs_table(run_rows("dense", "corpus", "q 0", [("c", "F", 0)]))])
    with pytest.raises(UsageError) as caught:
        export_run(two, "chunk")
    assert caught.value.remedy
    assert export_run(runs_table([]), "chunk") == ""


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_scores_that_are_no_numbers_are_refused(score):
    rows = run_rows("s", "corpus", "q", [("c", "F", 0)])
    rows[0]["score"] = score
    with pytest.raises(LakeError, match="'c' for question 'q'"):
        export_run(runs_table(rows), "chunk")
