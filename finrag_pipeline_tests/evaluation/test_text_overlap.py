from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from finrag_pipeline.evaluation.retrieval_metrics import TextOverlap, overlap_scores

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
TEXTS = [
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


@pytest.mark.parametrize("evidence", TEXTS)
def test_scores_are_those_of_the_libraries(evidence):
    pairs = [(evidence, chunk) for chunk in TEXTS]
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
    pairs = [(rng.choice(TEXTS), rng.choice(TEXTS)) for _ in range(80)]
    single = TextOverlap()
    assert overlap_scores(pairs) == [(single.bleu(*pair), single.rouge_l(*pair)) for pair in pairs]
    assert overlap_scores([]) == []


def test_batches_can_be_mapped_by_a_process_pool():
    batches = [[(STATEMENT, text) for text in TEXTS[5:9]], [(PROSE, text) for text in TEXTS[5:9]]]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(overlap_scores, batches)) == [overlap_scores(batch) for batch in batches]


def test_tokenised_texts_are_not_kept_after_a_batch():
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    overlap_scores([(STATEMENT, text) for text in TEXTS])
    assert Tokenizer13a.__call__.cache_info().currsize == 0
