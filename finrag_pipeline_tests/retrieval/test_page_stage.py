"""Pages first: the learned page scorer and finrag, with rankers of pages that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from finrag_pipeline.chunking.registry import PARENT_CHILD
from finrag_pipeline.errors import ModelError
from finrag_pipeline.retrieval.bm25 import finance_tokens
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import SYSTEMS, variant
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages, ScoredBy, corpus_of, ids, rank

QUESTION = "What was the net revenue and the goodwill of the company?"


@pytest.fixture(scope="module")
def corpus(indexed: IndexedLake) -> Corpus:
    return corpus_of(indexed)


class TestPageScorer:
    def test_chunks_are_searched_inside_its_pages_alone(self, corpus: Corpus, indexed: IndexedLake) -> None:
        """A filter before the search: equal to a scan of all chunks that keeps those of the pages."""
        pages = [(indexed.filings[2], 3), (indexed.filings[0], 1), (indexed.filings[3], 4)]
        scorer = FixedPages([*pages, (indexed.filings[1], 0)])
        system = replace(SYSTEMS["page_scorer"], pages=InsidePages("page_scorer", pages=3))
        hits = rank(system, QUESTION, corpus, learned=Learned({"page_scorer": scorer}))
        everything = rank(SYSTEMS["dense"], QUESTION, corpus, depth=10_000)
        expected = [hit for hit in everything if (hit.filing, hit.page) in pages]
        assert expected and ids(hits) == ids(expected)
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-6)
        assert scorer.asked == [(QUESTION, None, None, 3)]

    def test_in_an_oracle_space_it_ranks_the_pages_of_that_space(
        self, corpus: Corpus, indexed: IndexedLake
    ) -> None:
        filing = indexed.filings[1]
        scorer = FixedPages([(name, page) for name in indexed.filings for page in range(5)])
        learned = Learned({"page_scorer": scorer})
        hits = rank(SYSTEMS["page_scorer"], QUESTION, corpus, (filing,), learned=learned)
        assert {hit.filing for hit in hits} == {filing} and {hit.page for hit in hits} == set(range(5))
        hits = rank(SYSTEMS["page_scorer"], QUESTION, corpus, (filing,), (2, 3), learned=learned)
        assert {(hit.filing, hit.page) for hit in hits} == {(filing, 2), (filing, 3)}

    def test_where_it_knows_no_page_the_space_stands(self, corpus: Corpus) -> None:
        hits = rank(
            SYSTEMS["page_scorer"], QUESTION, corpus, learned=Learned({"page_scorer": FixedPages([])})
        )
        assert ids(hits) == ids(rank(SYSTEMS["dense"], QUESTION, corpus))

    @pytest.mark.parametrize("name", ["page_scorer", "finrag", "finrag_rerank"])
    def test_untrained_it_is_not_run(self, corpus: Corpus, indexed: IndexedLake, name: str) -> None:
        with pytest.raises(ModelError, match="was trained for searching"):
            rank(SYSTEMS[name], QUESTION, corpus)
        with pytest.raises(ModelError, match="without the questions of fold 3"):
            run_system(SYSTEMS[name], Inputs(corpus, Learned(fold=3)), indexed.questions)


class TestFinrag:
    def test_pages_in_the_order_of_the_ranker_each_by_its_best_chunk(
        self, corpus: Corpus, indexed: IndexedLake
    ) -> None:
        pages = [(indexed.filings[n % 4], page) for n, page in enumerate([3, 1, 4, 0, 2, 3])]
        hits = rank(SYSTEMS["finrag"], QUESTION, corpus, learned=Learned({"page_ranker": FixedPages(pages)}))
        assert [(hit.filing, hit.page) for hit in hits] == pages
        chunks = [(place, *chunk) for place in pages for chunk in corpus.page_chunks(*place)]
        scores = BM25Okapi([finance_tokens(text) for *_, text in chunks]).get_scores(finance_tokens(QUESTION))
        best: dict[tuple[str, int], str] = {}
        for number in np.argsort(-scores, kind="stable"):
            best.setdefault(chunks[number][0], chunks[number][1])
        assert ids(hits) == [best[place] for place in pages]
        assert len(chunks) > len(pages), "a page has several"
        assert [hit.why for hit in hits] == [f"page rank {n}" for n in range(1, 7)]
        assert [hit.score for hit in hits] == [1 / n for n in range(1, 7)]

    def test_reranked_it_shows_the_pages_of_the_reranker(self, corpus: Corpus, indexed: IndexedLake) -> None:
        pages = [(indexed.filings[n % 4], page) for n, page in enumerate([3, 1, 4])]
        learned = Learned({"page_ranker": FixedPages(pages), "page_reranker": FixedPages(pages[::-1])})
        hits = rank(SYSTEMS["finrag_rerank"], QUESTION, corpus, learned=learned)
        assert [(hit.filing, hit.page) for hit in hits] == pages[::-1]
        plain = rank(SYSTEMS["finrag"], QUESTION, corpus, learned=learned)
        assert sorted(ids(hits)) == sorted(ids(plain)), "each page by the same chunk"

    def test_pages_without_a_chunk_are_left_out(self, corpus: Corpus, indexed: IndexedLake) -> None:
        ranker = FixedPages([(indexed.filings[0], 77), (indexed.filings[0], 1), ("nobody", 0)])
        hits = rank(SYSTEMS["finrag"], QUESTION, corpus, learned=Learned({"page_ranker": ranker}))
        assert [(hit.filing, hit.page) for hit in hits] == [(indexed.filings[0], 1)]

    def test_it_takes_any_chunking_and_a_reranker(self, indexed: IndexedLake) -> None:
        pages = [(indexed.filings[0], 2), (indexed.filings[1], 0)]
        learned = Learned({"page_ranker": FixedPages(pages)})
        parents = corpus_of(indexed, chunking=PARENT_CHILD, kinds=("parent",))
        hits = rank(variant(SYSTEMS["finrag"], chunking="parent_child"), QUESTION, parents, learned=learned)
        assert [(hit.filing, hit.page) for hit in hits] == pages and "/parent" in hits[0].chunk_id
        corpus = corpus_of(indexed, {"rerankers": {"mine": ScoredBy(lambda q, text: "x2y0z" in text)}})
        hits = rank(variant(SYSTEMS["finrag"], reranker="mine"), "x2y0z", corpus, learned=learned)
        assert [(hit.filing, hit.page) for hit in hits] == pages[::-1]
