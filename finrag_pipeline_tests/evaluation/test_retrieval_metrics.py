from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from math import log2

import pyarrow as pa
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation import retrieval_metrics
from finrag_pipeline.evaluation.metrics import Metric, definitions
from finrag_pipeline.evaluation.retrieval_metrics import (
    RETRIEVAL_METRICS,
    SERIES,
    GoldStandard,
    RankedChunk,
    TextOverlap,
    find_gold_chunks,
    overlap_scores,
    score_question,
    score_runs,
)
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import EvaluationSettings
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, run_rows, runs_table

GOLD = GoldStandard("A_10K", frozenset({0, 7}), frozenset({"A0.0", "A0.1", "A7.0"}))


def chunk(name: str) -> RankedChunk:
    """'A7.0' is the first chunk on page 7 of filing A_10K."""
    page = int(name[1:].split(".")[0])
    return RankedChunk(name, f"{name[0]}_10K", page)


def score(names: list[str], gold=GOLD, overlap=None) -> dict[tuple[str, int], float]:
    ranking = [chunk(name) for name in names]
    overlap = overlap or dict.fromkeys(names, (0.0, 0.0))
    return {(metric, k): value for metric, k, value in score_question(ranking, gold, overlap)}


def test_a_ranking_worked_by_hand():
    # Rank 1: page 7 of another filing. Rank 3: gold page 0. Rank 6: its second chunk. Rank 12: gold page 7.
    names = ["B7.0", "A1.0", "A0.1", "A2.0", "A3.0", "A0.0", "A4.0", "A5.0", "A6.0", "A6.1", "A8.0", "A7.0"]
    overlap = {name: (0.05 * rank, 0.5 / rank) for rank, name in enumerate(names, start=1)}
    scores = score(names, overlap=overlap)
    assert [scores["doc_rec", k] for k in (1, 3, 5, 10, 20)] == [0, 1, 1, 1, 1]
    assert [scores["hit", k] for k in (1, 3, 5, 10, 20)] == [0, 1, 1, 1, 1]
    assert [scores["page_rec", k] for k in (1, 3, 5, 10, 20)] == [0, 0.5, 0.5, 0.5, 1]
    assert [scores["recall", k] for k in (5, 10, 20)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert scores["mrr", 0] == pytest.approx(1 / 3)
    ideal = 1 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert scores["ndcg", 10] == pytest.approx((1 / log2(4) + 1 / log2(7)) / ideal)
    assert [scores["max_bleu", k] for k in (1, 3, 5, 10)] == pytest.approx([0.05, 0.15, 0.25, 0.5])
    assert [scores["max_rouge_l", k] for k in (1, 3, 5, 10)] == [0.5] * 4


def test_every_series_is_scored_once_in_order():
    assert len(SERIES) == len(set(SERIES)) == 28
    assert [(m, k) for m, k, _ in score_question([], GOLD, {})] == list(SERIES)


def test_an_empty_ranking_scores_zero_everywhere():
    assert set(score([]).values()) == {0.0}


def test_page_zero_is_a_gold_page_like_any_other():
    gold = GoldStandard("A_10K", frozenset({0}), frozenset({"A0.0"}))
    scores = score(["A0.0"], gold)
    assert scores["hit", 1] == scores["page_rec", 1] == scores["mrr", 0] == scores["ndcg", 10] == 1.0


def test_the_same_page_number_in_another_filing_is_no_hit():
    scores = score(["B0.0", "B7.0"])
    assert all(scores[metric, 5] == 0 for metric in ("doc_rec", "page_rec", "hit", "recall"))


def test_two_chunks_of_one_gold_page_count_as_one_page_but_two_chunks():
    scores = score(["A0.0", "A0.1"])
    assert scores["page_rec", 5] == 0.5
    assert scores["recall", 5] == pytest.approx(2 / 3)


def test_gold_pages_without_chunks_score_zero_rather_than_fail():
    scores = score(["A1.0"], GoldStandard("A_10K", frozenset({3}), frozenset()))
    assert scores["ndcg", 10] == scores["recall", 20] == scores["page_rec", 20] == 0.0
    assert scores["doc_rec", 1] == 1.0


def test_the_ideal_ranking_of_many_relevant_chunks_is_cut_at_ten():
    relevant = [f"A0.{n}" for n in range(15)]
    scores = score(relevant, GoldStandard("A_10K", frozenset({0}), frozenset(relevant)))
    assert scores["ndcg", 10] == pytest.approx(1.0)
    assert scores["recall", 10] == pytest.approx(10 / 15)


NAMES = st.lists(
    st.builds(lambda f, p, n: f"{f}{p}.{n}", st.sampled_from("AB"), st.integers(0, 8), st.integers(0, 1)),
    unique=True,
    max_size=30,
)


@given(NAMES, st.sets(st.integers(0, 8), min_size=1))
def test_values_lie_between_zero_and_one_and_grow_with_k(names, pages):
    gold = GoldStandard("A_10K", frozenset(pages), frozenset(f"A{p}.{n}" for p in pages for n in range(2)))
    scores = score(names, gold, dict.fromkeys(names, (0.1, 0.9)))
    assert all(0 <= value <= 1 + 1e-12 for value in scores.values())
    for metric in ("doc_rec", "page_rec", "hit", "recall", "max_bleu", "max_rouge_l"):
        values = [scores[m, k] for m, k in SERIES if m == metric]
        assert values == sorted(values)
    for k in (1, 3, 5, 10, 20):
        assert scores["doc_rec", k] >= scores["hit", k] >= scores["page_rec", k]
        assert (scores["mrr", 0] >= 1 / k) == (scores["hit", k] == 1)


TEXTS = {
    "A0.0": "evidence on page 0",
    "A0.1": "something else",
    "A1.0": "nothing of use",
    "A7.0": "evidence on page 7 is here",
    "B7.0": "another filing entirely",
}
CHUNKS = pa.Table.from_pylist(
    [
        {
            "chunk_id": name,
            "filing": f"{name[0]}_10K",
            "page": int(name[1]),
            "ordinal": int(name[3]),
            "kind": "text",
            "text": text,
            "tokens": 4,
        }
        for name, text in TEXTS.items()
    ],
    schema=FILING_CHUNKS,
)
QUESTIONS = questions_table(
    question_row("q1", "A_10K", [0, 7]),
    question_row("q2", "B_10K", [7]),
    question_row("gone", "C_10K", [1], status="excluded", problem="why"),
)


def ranked(*names: str) -> list[tuple[str, str, int]]:
    return [tuple(chunk(name)) for name in names]


def by_key(table: pa.Table) -> dict[tuple, float]:
    return {
        (r["system"], r["space"], r["question_id"], r["metric"], r["k"]): r["value"]
        for r in table.to_pylist()
    }


def test_gold_chunks_are_all_chunks_on_gold_pages_of_measured_questions():
    assert find_gold_chunks(QUESTIONS, CHUNKS) == {
        "q1": frozenset({"A0.0", "A0.1", "A7.0"}),
        "q2": frozenset({"B7.0"}),
    }
    assert find_gold_chunks(QUESTIONS, CHUNKS.slice(0, 0)) == {"q1": frozenset(), "q2": frozenset()}


def test_runs_are_scored_per_system_and_space_and_missing_questions_get_zeros():
    rows = [
        *run_rows("bm25", "corpus", "q1", ranked("A1.0", "A7.0")),
        *run_rows("bm25", "filing", "q2", ranked("B7.0")),
        *run_rows("bm25", "corpus", "gone", ranked("B7.0")),
    ]
    table = score_runs(
        runs_table(rows[::-1]),  # rows in any order
        QUESTIONS,
        TEXTS,
        find_gold_chunks(QUESTIONS, CHUNKS),
        expected=[("bm25", "corpus"), ("dense", "corpus")],
    )
    scores = by_key(table)
    assert table.num_rows == len(scores) == 3 * 2 * len(SERIES)
    assert scores["bm25", "corpus", "q1", "hit", 1] == 0
    assert scores["bm25", "corpus", "q1", "page_rec", 3] == 0.5
    assert scores["bm25", "filing", "q2", "ndcg", 10] == 1
    for pair, question in (
        (("bm25", "corpus"), "q2"),
        (("bm25", "filing"), "q1"),
        (("dense", "corpus"), "q1"),
    ):
        assert {v for key, v in scores.items() if key[:3] == (*pair, question)} == {0.0}
    # Against the gold passages joined with a newline, best of the first k chunks.
    evidence = "evidence on page 0\nevidence on page 7"
    (first, second) = overlap_scores([(evidence, TEXTS["A1.0"]), (evidence, TEXTS["A7.0"])])
    assert scores["bm25", "corpus", "q1", "max_bleu", 1] == first[0]
    assert scores["bm25", "corpus", "q1", "max_bleu", 3] == max(first[0], second[0])
    assert scores["bm25", "corpus", "q1", "max_rouge_l", 5] == max(first[1], second[1]) > 0.5


def test_each_distinct_pair_is_scored_once_for_all_systems_and_only_as_deep_as_needed():
    names = [f"A{page}.{n}" for page in range(1, 7) for n in range(3)]
    rows = [
        row
        for system in ("bm25", "dense")
        for space in ("corpus", "filing")
        for row in run_rows(system, space, "q1", ranked(*names))
    ]
    seen: list[tuple[str, str]] = []

    def spy(pairs):
        seen.extend(pairs)
        return overlap_scores(pairs)

    texts = {name: f"text {name}" for name in names}
    score_runs(runs_table(rows), QUESTIONS, texts, {}, overlap=spy)
    assert sorted(text for _, text in seen) == sorted(texts[name] for name in names[:10])


def test_a_metric_is_added_by_its_declaration(monkeypatch):
    toy = Metric("depth", "Depth", "1 if the ranking is as deep as k.", lambda one, k: float(len(one.ranking) >= k),
                 cutoffs=(1, 9), lower_is_better=True)  # fmt: skip
    monkeypatch.setattr(retrieval_metrics, "RETRIEVAL_METRICS", (*RETRIEVAL_METRICS, toy))
    runs = runs_table(run_rows("bm25", "corpus", "q1", ranked("A1.0", "A2.0")))
    scores = score_runs(runs, QUESTIONS, {name: name for name in ("A1.0", "A2.0")}, {})
    means = summarise(scores, QUESTIONS, {}, EvaluationSettings()).to_pylist()
    whole = {(row["metric"], row["k"]): row["mean"] for row in means if row["slice"] == "all"}
    measured = QUESTIONS["status"].to_pylist().count("measured")
    assert (whole["depth", 1], whole["depth", 9]) == (pytest.approx(1 / measured), 0.0)
    told = definitions(retrieval_metrics.RETRIEVAL_METRICS)["depth"]
    assert told == ("Depth@k", "1 if the ranking is as deep as k. Lower is better.", "")


def test_no_rows_and_no_expectation_give_no_scores():
    assert score_runs(runs_table([]), QUESTIONS, {}, {}).num_rows == 0


@pytest.mark.parametrize(
    ("names", "texts", "gold", "complaint"),
    [
        (["A1.0", "A1.0"], TEXTS, {}, "holds a chunk twice"),
        (["A1.0"], {}, {}, "has no text"),
        (["A7.0"], TEXTS, {}, "disagree"),
        (["A1.0"], TEXTS, {"q1": frozenset({"A1.0"})}, "disagree"),
    ],
)
def test_runs_that_do_not_fit_the_chunks_are_refused(names, texts, gold, complaint):
    with pytest.raises(LakeError, match=complaint) as caught:
        score_runs(runs_table(run_rows("bm25", "corpus", "q1", ranked(*names))), QUESTIONS, texts, gold)
    assert "aterialise" in caught.value.remedy


REFERENCE_ROUGE = RougeScorer(["rougeL"], use_stemmer=True)


def reference(evidence: str, chunk: str) -> tuple[float, float]:
    """Scores of the libraries themselves."""
    bleu = sacrebleu.sentence_bleu(chunk, [evidence]).score / 100
    return bleu, REFERENCE_ROUGE.score(evidence, chunk)["rougeL"].fmeasure


STATEMENT = """Consolidated Statement of Cash Flows\nYears ended December 31\n(Millions)\n \n2018\n \n2017
Net income including noncontrolling interests\n$\n5,363 \n$\n4,869
Adjustments to reconcile net income to net cash provided by operating activities
Depreciation and amortization\n1,488 \n1,544\nPurchases of property, plant and equipment (PP&E)\n(1,577)
"""
PROSE = (
    "The Company's capital expenditures were $1.6 billion in 2018, compared with $1.4 billion in 2017; "
    "investments in property, plant and equipment &amp; acquisitions are discussed in more detail later — "
    'see "Cash Flows from Investing Activities". R&D-related spending rose 3.5% year-on-year.'
)
OVERLAP_TEXTS = [
    "",
    " \n\t ",
    ".",
    "—",
    "cat",
    "the cat sat on the mat",
    STATEMENT,
    PROSE,
    PROSE.upper(),
    STATEMENT + PROSE,
    STATEMENT.replace(" ", ""),
    "日本語の有価証券報告書 café naïve ß İ",
    "a-\nb c-\nd <skipped> &lt;tag&gt; &quot;x&quot;",
    "1 2 3 4 5 6 7 8 9 10 . .",
]


@pytest.mark.parametrize("evidence", OVERLAP_TEXTS)
def test_scores_are_those_of_the_libraries(evidence):
    pairs = [(evidence, chunk) for chunk in OVERLAP_TEXTS]
    for pair, (bleu, rouge_l) in zip(pairs, overlap_scores(pairs), strict=True):
        expected = reference(*pair)
        assert bleu == pytest.approx(min(expected[0], 1.0), abs=1e-12), pair
        assert rouge_l == pytest.approx(expected[1], abs=1e-12), pair


WORDS = st.sampled_from(
    [
        "the",
        "cash",
        "flows",
        "flowing",
        "flow",
        "1,577",
        "(1,373)",
        "$",
        "2018.",
        "increased",
        "PP&E",
        "U.S.",
        "-",
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.lists(WORDS, max_size=60), st.lists(WORDS, max_size=60)), max_size=4), st.text())
def test_scores_are_those_of_the_libraries_on_random_texts(pairs, text):
    texts = [(" ".join(a), " ".join(b)) for a, b in pairs] + [(text, " ".join("cash"))]
    for pair, (bleu, rouge_l) in zip(texts, overlap_scores(texts), strict=True):
        expected = reference(*pair)
        assert bleu == pytest.approx(min(expected[0], 1.0), abs=1e-12)
        assert rouge_l == pytest.approx(expected[1], abs=1e-12)


def test_values_worked_by_hand():
    overlap = TextOverlap()
    # Common subsequence 'the cat': precision 2/2, recall 2/3.
    assert overlap.rouge_l("the cat sat", "the cat") == pytest.approx(2 * (2 / 3) / (1 + 2 / 3))
    # The stemmer makes 'flows' and 'flowing' one word.
    assert overlap.rouge_l("cash flows", "cash flowing") == 1.0
    # Precisions 3/4, 2/3, 1/2 and, smoothed, 1/(2·1); lengths agree, so no brevity penalty.
    assert overlap.bleu("a b c d", "a b c x") == pytest.approx((3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25)
    assert overlap.bleu(PROSE, PROSE) == overlap.rouge_l(PROSE, PROSE) == 1.0


def test_a_batch_keeps_the_order_of_its_pairs_and_of_repeated_ones():
    rng = random.Random(3)
    pairs = [(rng.choice(OVERLAP_TEXTS), rng.choice(OVERLAP_TEXTS)) for _ in range(80)]
    single = TextOverlap()
    assert overlap_scores(pairs) == [(single.bleu(*pair), single.rouge_l(*pair)) for pair in pairs]
    assert overlap_scores([]) == []


def test_batches_can_be_mapped_by_a_process_pool():
    batches = [
        [(STATEMENT, text) for text in OVERLAP_TEXTS[5:9]],
        [(PROSE, text) for text in OVERLAP_TEXTS[5:9]],
    ]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(overlap_scores, batches)) == [overlap_scores(batch) for batch in batches]


def test_tokenised_texts_are_not_kept_after_a_batch():
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    overlap_scores([(STATEMENT, text) for text in OVERLAP_TEXTS])
    assert Tokenizer13a.__call__.cache_info().currsize == 0
