from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from finrag_pipeline.errors import LakeError
from finrag_pipeline.retrieval.bm25 import (
    Bm25Index,
    RankBm25,
    build_bm25,
    finance_tokens,
    load_bm25,
    save_bm25,
    top_documents,
)
from finrag_pipeline.storage.lake import Lake

_VOCABULARY = [
    "net",
    "sales",
    "$",
    "%",
    "1,577.0",
    "revenue",
    "of",
    "the",
    "tax",
    "goodwill",
    "2022",
    "株式",
    "capex",
]
_DOCUMENT = st.lists(st.sampled_from(_VOCABULARY), max_size=25).map(" ".join)
_CORPUS = st.lists(_DOCUMENT, min_size=1, max_size=30).filter(any)
_QUERY = st.lists(st.sampled_from([*_VOCABULARY, "unknown"]), max_size=10).map(" ".join)


def _reference(texts: list[str], query: str) -> np.ndarray:
    return BM25Okapi([finance_tokens(text) for text in texts]).get_scores(finance_tokens(query))


def _assert_parity(texts: list[str], query: str) -> None:
    index, package = build_bm25(texts), RankBm25(texts)
    scores, expected = index.scores(query), _reference(texts, query)
    np.testing.assert_array_equal(package.scores(query), expected.astype(np.float32))
    for document in range(len(texts)):
        ours, theirs = index.matched_terms(query, document), package.matched_terms(query, document)
        assert dict(ours) == pytest.approx(dict(theirs), rel=1e-4, abs=1e-5)
    assert scores.shape == expected.shape
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    # The same five first, up to ties that rounding to float32 makes or breaks.
    best = top_documents(scores, 5)
    np.testing.assert_allclose(expected[best], np.sort(expected)[::-1][:5], rtol=1e-4, atol=1e-5)


class TestParity:
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(_CORPUS, _QUERY)
    def test_scores_equal_rank_bm25_s(self, texts: list[str], query: str) -> None:
        _assert_parity(texts, query)

    @pytest.mark.parametrize(
        ("texts", "query"),
        [
            # A term in most documents: its idf would be negative, and becomes a share of the mean.
            (["net sales", "net tax", "net net net", "goodwill", "net capex of 2022"], "net sales"),
            # All terms in all documents: the mean idf is negative too, and so are the scores.
            (["net sales", "sales net"], "net sales sales"),
            # Empty documents count for the average length.
            (["", "net sales", "", ""], "net"),
            # A single document.
            (["net sales of 2022"], "sales"),
            # A term exactly in half of the documents: its idf is zero.
            (["net", "tax", "net", "tax"], "net"),
            # Repeated terms of the query count as often as they stand there.
            (["net sales", "tax", "capex", "goodwill of"], "sales sales sales net"),
            (["net sales"] * 3 + ["tax"], ""),
            (["net sales"] * 3 + ["tax"], "no such term"),
        ],
    )
    def test_special_cases(self, texts: list[str], query: str) -> None:
        _assert_parity(texts, query)

    def test_a_corpus_with_terms_of_every_frequency(self) -> None:
        random = np.random.default_rng(0)
        words = [f"w{n}" for n in range(300)]
        weights = 1.0 / np.arange(1, 301)
        texts = [
            " ".join(random.choice(words, size=random.integers(0, 60), p=weights / weights.sum()))
            for _ in range(700)
        ]
        index = build_bm25(texts)
        reference = BM25Okapi([text.split() for text in texts])
        for _ in range(30):
            query = list(random.choice(words, size=8))
            np.testing.assert_allclose(
                index.scores(" ".join(query)), reference.get_scores(query), rtol=1e-4, atol=1e-5
            )


def test_a_golden_value_by_hand() -> None:
    """Three documents of 2, 2 and 4 terms: |d|/avg = 3/4, 3/4, 3/2; 'tax' stands twice in the third."""
    index = build_bm25(["net sales", "net capex", "tax tax of goodwill"])
    idf = math.log((3 - 1 + 0.5) / (1 + 0.5))
    norm = 1.5 * (1 - 0.75 + 0.75 * 4 / (8 / 3))
    np.testing.assert_allclose(index.scores("tax"), [0, 0, idf * 2 * 2.5 / (2 + norm)], rtol=1e-6)


@pytest.mark.parametrize("texts", [[], [""], ["", "  ", "…"]])
@pytest.mark.parametrize("make", [build_bm25, RankBm25])
def test_a_corpus_without_terms(texts: list[str], make: type[RankBm25]) -> None:
    index = make(texts)
    assert index.documents == len(texts)
    np.testing.assert_array_equal(index.scores("net sales"), np.zeros(len(texts)))
    assert all(index.matched_terms("net sales", document) == [] for document in range(len(texts)))


def test_terms_that_matched() -> None:
    index = build_bm25(["net sales of 2022", "sales sales", "tax", "goodwill", "capex"])
    matched = index.matched_terms("Sales 2022 sales unknown tax", 0)
    assert [term for term, _ in matched] == ["2022", "sales"], "the rarer term weighs more"
    assert sum(weight for _, weight in matched) == pytest.approx(
        index.scores("Sales 2022 sales unknown tax")[0]
    )
    assert index.matched_terms("unknown", 0) == []
    assert index.matched_terms("tax", 0) == []


class TestTopDocuments:
    @settings(max_examples=200, deadline=None)
    @given(st.data())
    def test_equals_a_full_sort(self, data: st.DataObject) -> None:
        size = data.draw(st.sampled_from([0, 1, 5, 63, 64, 65, 127, 128, 129, 640, 1000, 5003]))
        levels = data.draw(st.sampled_from([1, 5, 50, 10**6]))
        seed = data.draw(st.integers(0, 2**32 - 1))
        k = data.draw(st.integers(0, 12) | st.integers(0, size + 3))
        random = np.random.default_rng(seed)
        scores = (random.integers(-levels, levels, size) / 7).astype(np.float32)  # many ties, some negative
        order = np.lexsort((np.arange(size), -scores))
        np.testing.assert_array_equal(top_documents(scores, k), order[:k])
        allowed = np.flatnonzero(random.random(size) < data.draw(st.sampled_from([0.0, 0.1, 0.7, 1.0])))
        kept = order[np.isin(order, allowed)]
        np.testing.assert_array_equal(top_documents(scores, k, allowed), kept[:k])

    def test_the_best_may_stand_behind_the_last_whole_block(self) -> None:
        scores = np.zeros(64 * 20 + 5, np.float32)
        scores[-1], scores[-3], scores[100] = 3, 2, 1
        assert top_documents(scores, 3).tolist() == [1284, 1282, 100]

    def test_ties_go_by_number(self) -> None:
        assert top_documents(np.ones(1000, np.float32), 3).tolist() == [0, 1, 2]
        assert top_documents(np.ones(9, np.float32), 2, np.array([4, 6, 8])).tolist() == [4, 6]


class TestKeeping:
    FOLDER = ("bm25", "f")

    @pytest.fixture
    def index(self) -> Bm25Index:
        return build_bm25([f"net sales {n % 7} 株式 {n}" for n in range(200)] + ["", "tax"])

    def test_round_trip(self, lake: Lake, index: Bm25Index) -> None:
        assert load_bm25(lake, self.FOLDER) is None
        save_bm25(index, lake, self.FOLDER)
        loaded = load_bm25(lake, self.FOLDER)
        assert loaded is not None
        assert loaded.vocabulary == index.vocabulary
        assert loaded.documents == index.documents
        for query in ("net sales 5", "株式 150 tax", ""):
            np.testing.assert_array_equal(loaded.scores(query), index.scores(query))

    def test_an_index_without_terms(self, lake: Lake) -> None:
        save_bm25(build_bm25([""]), lake, self.FOLDER)
        loaded = load_bm25(lake, self.FOLDER)
        assert loaded is not None
        assert loaded.scores("x").tolist() == [0.0]

    def test_a_killed_writer_leaves_no_index(
        self, lake: Lake, index: Bm25Index, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The arrays are written last: without them there is no index, whatever else is there."""

        def killed(path: str, data: bytes) -> None:
            raise KeyboardInterrupt

        written = lake.write_bytes
        monkeypatch.setattr(
            lake, "write_bytes", lambda path, data: (killed if path.endswith(".npz") else written)(path, data)
        )
        with pytest.raises(KeyboardInterrupt):
            save_bm25(index, lake, self.FOLDER)
        assert lake.fs.exists(lake.path(*self.FOLDER, "vocabulary.json"))
        assert load_bm25(lake, self.FOLDER) is None

    @pytest.mark.parametrize(
        ("name", "contents"),
        [
            ("bm25.npz", b""),
            ("bm25.npz", b"garbage" * 99),
            ("bm25.npz", "half"),
            ("bm25.npz", "flipped"),
            ("vocabulary.json", b""),
            ("vocabulary.json", "half"),
            ("vocabulary.json", b"null"),
            ("vocabulary.json", b'["net"]'),
        ],
    )
    def test_damaged_files(self, lake: Lake, index: Bm25Index, name: str, contents: bytes | str) -> None:
        save_bm25(index, lake, self.FOLDER)
        path = Path(lake.path(*self.FOLDER, name))
        whole = bytearray(path.read_bytes())
        if contents == "flipped":
            whole[len(whole) // 2] ^= 0xFF
        path.write_bytes(
            bytes(whole)
            if contents == "flipped"
            else whole[: len(whole) // 2]
            if contents == "half"
            else contents
        )
        with pytest.raises(LakeError, match="BM25 index in bm25/f is damaged") as caught:
            load_bm25(lake, self.FOLDER)
        assert "Delete" in caught.value.remedy

    def test_arrays_are_never_unpickled(self, lake: Lake, index: Bm25Index) -> None:
        save_bm25(index, lake, self.FOLDER)
        buffer = io.BytesIO()
        odd = np.array([{"a": 1}], dtype=object)
        np.savez(buffer, indptr=odd, postings=odd, weights=odd, documents=3)
        lake.write_bytes(lake.path(*self.FOLDER, "bm25.npz"), buffer.getvalue())
        with pytest.raises(LakeError, match="allow_pickle"):
            load_bm25(lake, self.FOLDER)
