"""Pages by their best sentence: dense retrieval without vectors of chunks."""

from __future__ import annotations

import numpy as np
import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.page_stage import sentence_vectors
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import corpus_of

QUESTION = "goodwill and inventory"
ROW = SYSTEMS["filtered_sentences"]


def test_pages_are_ranked_by_their_best_sentence(indexed: IndexedLake) -> None:
    vector = indexed.encoder.embed_queries([QUESTION])[0]
    expected = []
    for filing in indexed.filings:
        pages, vectors = sentence_vectors(indexed.lake, filing)
        for page in sorted(set(pages.tolist())):
            expected.append((-float((vectors[pages == page] @ vector).max()), filing, page))
    hits = ROW.search(QUESTION, Inputs(corpus_of(indexed)), depth=8)
    first = sorted(expected)[:8]
    assert [(hit.filing, hit.page) for hit in hits] == [(filing, page) for _, filing, page in first]
    np.testing.assert_allclose([-hit.score for hit in hits], [score for score, *_ in first], atol=1e-5)


@pytest.mark.parametrize("pages", [None, (1, 3)])
def test_a_scope_holds(indexed: IndexedLake, pages: tuple[int, ...] | None) -> None:
    scope = Scope((indexed.filings[1],), pages)
    hits = ROW.search(QUESTION, Inputs(corpus_of(indexed)), scope)
    assert {(hit.filing, hit.page) for hit in hits} == {
        (indexed.filings[1], page) for page in pages or range(5)
    }


def test_a_filing_without_sentences_is_named(indexed: IndexedLake) -> None:
    with pytest.raises(LakeError, match="'nobody' has no sentences"):
        sentence_vectors(indexed.lake, "nobody")
