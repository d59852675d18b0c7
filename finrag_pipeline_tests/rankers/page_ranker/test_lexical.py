"""BM25, coverage, passages and word pairs on pages of a few terms."""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.lexical import (
    PASSAGE_TERMS,
    PageTerms,
    lexical_scores,
    page_terms,
    pair_coverage,
)

Pages = list[list[str]]


class Scores(NamedTuple):
    bm25: np.ndarray
    coverage: np.ndarray
    passage: np.ndarray


def scored(pages: PageTerms, query: list[str]) -> Scores:
    return Scores(*lexical_scores(pages, query))


def filler(count: int) -> list[str]:
    return [f"w{n}" for n in range(count)]


class TestBm25:
    def test_golden_value(self) -> None:
        # N = 3, df = 1: idf = ln(1 + 2.5/1.5) = ln(8/3). Lengths 2, 2, 4; mean 8/3; k1 = 1.2, b = 0.75.
        # Page 0, tf = 2: norm = 1.2·(0.25 + 0.75·2/(8/3)) = 0.975; idf·2·2.2/2.975.
        pages = page_terms([["paint", "paint"], ["oil", "sand"], ["oil", "sand", "lime", "clay"]])
        found = scored(pages, ["paint"]).bm25
        assert found == pytest.approx([math.log(8 / 3) * 4.4 / 2.975, 0.0, 0.0], rel=1e-6)
        # 'oil', df = 2: idf = ln(1 + 1.5/2.5) = ln 1.6. Page 2: norm = 1.2·(0.25 + 0.75·1.5) = 1.65.
        found = scored(pages, ["oil"]).bm25
        assert found == pytest.approx(
            [0.0, math.log(1.6) * 2.2 / 1.975, math.log(1.6) * 2.2 / 2.65], rel=1e-6
        )

    def test_a_term_that_is_repeated_in_the_question_counts_once(self) -> None:
        pages = page_terms([["paint"], ["oil"]])
        once, twice = (scored(pages, query).bm25 for query in (["paint"], ["paint", "paint"]))
        assert np.array_equal(once, twice)

    def test_a_term_on_every_page_still_counts_for_the_page(self) -> None:
        found = scored(page_terms([["the", "the"], ["the", "oil"]]), ["the"])
        assert found.bm25[0] > found.bm25[1] > 0


class TestCoverage:
    def test_share_of_the_idf(self) -> None:
        # df(paint) = 1: ln(1 + 1.5/1.5) = ln 2; df(oil) = 2: ln(1 + 0.5/2.5) = ln 1.2.
        pages = page_terms([["paint", "oil"], ["oil"]])
        share = math.log(1.2) / math.log(2.4)
        assert scored(pages, ["paint", "oil"]).coverage == pytest.approx([1.0, share])

    def test_what_the_filing_lacks_counts_like_its_rarest_term(self) -> None:
        pages = page_terms([["paint", "oil"], ["oil"]])
        assert scored(pages, ["paint", "zebra"]).coverage == pytest.approx([0.5, 0.0])


class TestPassage:
    def test_terms_close_together_beat_terms_far_apart_on_a_page(self) -> None:
        near = ["paint", "oil", *filler(200)]
        far = ["paint", *filler(200), "oil"]
        found = scored(page_terms([near, far]), ["paint", "oil"])
        assert found.coverage == pytest.approx([1.0, 1.0])
        assert found.passage == pytest.approx([1.0, 0.5])

    @pytest.mark.parametrize("place", [0, 1, 23, 24, 100, 199, 200])
    def test_two_neighbours_are_one_passage_wherever_they_stand(self, place: int) -> None:
        text = filler(200)
        page = [*text[:place], "paint", "oil", *text[place:]]
        assert scored(page_terms([page, ["sand"]]), ["paint", "oil"]).passage[0] == 1.0

    def test_a_page_shorter_than_a_passage_is_one(self) -> None:
        pages = page_terms([["sand"], ["paint", *filler(PASSAGE_TERMS // 2 - 2), "oil"], ["sand", "paint"]])
        found = scored(pages, ["paint", "oil"])
        assert np.array_equal(found.passage, found.coverage)
        assert found.passage[1] == 1.0

    def test_no_passage_goes_over_the_end_of_a_page(self) -> None:
        found = scored(page_terms([[*filler(60), "paint"], ["oil", *filler(60)]]), ["paint", "oil"])
        assert found.passage == pytest.approx([0.5, 0.5])


class TestPairs:
    def test_neighbours_in_the_order_of_the_question(self) -> None:
        pages = page_terms([["gross", "margin"], ["margin", "gross"], ["gross", "profit", "margin"]])
        assert pair_coverage(pages, ["gross", "margin"]) == pytest.approx([1.0, 0.0, 0.0])

    def test_pairs_weigh_by_their_rarity(self) -> None:
        pages = page_terms([["net", "sales", "growth"], ["net", "sales"]])
        # df 2: ln(1 + 0.5/2.5) = ln 1.2; df 1: ln 2.
        share = math.log(1.2) / math.log(2.4)
        assert pair_coverage(pages, ["net", "sales", "growth"]) == pytest.approx([1.0, share])

    def test_the_end_of_a_page_parts_a_pair(self) -> None:
        assert pair_coverage(page_terms([["gross"], ["margin"]]), ["gross", "margin"]).tolist() == [0.0, 0.0]


class TestEmpty:
    @pytest.mark.parametrize("texts", [[], [[]], [[], []], [["paint"], []]])
    @pytest.mark.parametrize("query", [[], ["zebra"], ["zebra", "lion"]])
    def test_nothing_found_is_zero(self, texts: Pages, query: list[str]) -> None:
        pages = page_terms(texts)
        found = scored(pages, query)
        for values in (found.bm25, found.coverage, found.passage, pair_coverage(pages, query)):
            assert values.shape == (len(texts),) and not values.any() and values.dtype == np.float32

    def test_empty_pages_between_others(self) -> None:
        found = scored(page_terms([[], ["paint"], [], ["oil", "paint"], []]), ["oil"])
        assert found.passage.tolist() == found.coverage.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


words = st.sampled_from("abcdefgh")
pages_of_words = st.lists(st.lists(words, max_size=120), min_size=1, max_size=6)


class TestProperties:
    @given(pages_of_words, st.lists(st.sampled_from("abcdxyz"), max_size=8))
    def test_ranges(self, texts: Pages, query: list[str]) -> None:
        pages = page_terms(texts)
        found = scored(pages, query)
        pairs = pair_coverage(pages, query)
        for values in (found.coverage, found.passage, pairs):
            assert values.shape == (len(texts),)
            assert (values >= 0).all() and (values <= 1).all()
        assert (found.passage <= found.coverage + 1e-6).all(), "a passage is part of its page"
        assert (found.bm25 >= 0).all() and np.isfinite(found.bm25).all()
        wanted = set(query)
        assert (
            [bool(wanted & set(text)) for text in texts]
            == (found.bm25 > 0).tolist()
            == (found.passage > 0).tolist()
        )

    @given(pages_of_words, st.lists(words, max_size=6), st.randoms(use_true_random=False))
    def test_the_order_of_pages_does_not_matter(self, texts: Pages, query: list[str], random: Random) -> None:
        order = list(range(len(texts)))
        random.shuffle(order)
        pages, shuffled = page_terms(texts), page_terms([texts[place] for place in order])
        one, other = scored(pages, query), scored(shuffled, query)
        for name in ("bm25", "coverage", "passage"):
            assert getattr(one, name)[order] == pytest.approx(getattr(other, name), abs=1e-6)
        assert pair_coverage(pages, query)[order] == pytest.approx(pair_coverage(shuffled, query), abs=1e-6)

    @given(pages_of_words)
    def test_positions_are_where_the_term_stands(self, texts: Pages) -> None:
        pages = page_terms(texts)
        flat = [word for text in texts for word in text]
        for word in "abcdefghz":
            assert pages.positions(word).tolist() == [
                place for place, found in enumerate(flat) if found == word
            ]
