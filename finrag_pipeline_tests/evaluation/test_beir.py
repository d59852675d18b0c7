from __future__ import annotations

import gzip
import json
from math import log2
from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.beir import (
    JudgedCorpus,
    document_clusters,
    ndcg,
    read_beir_folder,
    score_documents,
)
from finrag_pipeline_tests.beir_folder import write_beir


def test_ndcg_by_hand() -> None:
    assert ndcg(["a", "b"], {"a": 1}) == 1.0
    assert ndcg(["b", "a"], {"a": 1}) == pytest.approx(1 / log2(3))
    assert ndcg(["x"] * 10 + ["a"], {"a": 1}) == 0.0
    # Gains 3 and 1 at ranks 2 and 1, against the ideal order.
    found = ndcg(["low", "high"], {"high": 3, "low": 1})
    assert found == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))
    # The ideal ranking holds ten of eleven relevant documents.
    names = [str(n) for n in range(11)]
    assert ndcg(names, dict.fromkeys(names, 1)) == pytest.approx(1.0)


def test_scores_of_rankings() -> None:
    corpus = JudgedCorpus(
        "made up", {"a": "", "b": "", "c": ""}, {"q": "?", "r": "?"}, {"q": {"a": 1, "b": 1}, "r": {"c": 1}}
    )
    scores = score_documents({"q": ["c", "a"]}, corpus)
    both = 1 + 1 / log2(3)
    assert scores == pytest.approx(np.array([[1 / log2(3) / both, 0.5, 0.5], [0, 0, 0]]))
    assert document_clusters(corpus) == ["a", "c"]


class TestReading:
    def test_a_folder(self, tmp_path: Path) -> None:
        folder = write_beir(
            tmp_path / "made_up", {"a": "one", "b": "two"}, {"q": "?"}, {"q": {"a": 1, "b": 0}}
        )
        found = read_beir_folder(folder)
        assert found.name == "made_up" and found.documents == {"a": "one", "b": "two"}
        assert found.gains == {"q": {"a": 1}}, "a judgement of 0 makes nothing relevant"

    def test_titles_packed_files_and_other_names(self, tmp_path: Path) -> None:
        folder = write_beir(tmp_path, {"a": "one"}, {"q": "?"}, {"q": {"a": 2}})
        (folder / "corpus.jsonl").unlink()
        rows = [{"corpus_id": "a", "title": "Title", "text": "one"}]
        packed = gzip.compress("\n".join(map(json.dumps, rows)).encode())
        (folder / "corpus.jsonl.gz").write_bytes(packed)
        found = read_beir_folder(folder)
        assert found.documents == {"a": "Title\none"} and found.gains == {"q": {"a": 2}}

    def test_queries_that_cannot_be_measured_are_counted(self, tmp_path: Path) -> None:
        asked = {"q": "?", "lost": "?", "unjudged": "?"}
        folder = write_beir(tmp_path, {"a": "one"}, asked, {"q": {"a": 1}, "lost": {"nowhere": 1}})
        found = read_beir_folder(folder)
        assert list(found.queries) == ["q"] and found.left_out == 2

    @pytest.mark.parametrize(
        ("file", "content", "told"),
        [
            ("corpus.jsonl", '{"_id": "a"}', "line 1"),
            ("corpus.jsonl", "{broken", "line 1"),
            ("qrels/test.tsv", "query\tdocument\tgain\nq a 1", "line 2"),
            ("qrels/test.tsv", "query\tdocument\tgain\nq\tz\t1", "No query"),
            ("queries.jsonl", None, "queries"),
            ("qrels/test.tsv", None, "cannot be read"),
        ],
    )
    def test_damage_is_named(self, tmp_path: Path, file: str, content: str | None, told: str) -> None:
        folder = write_beir(tmp_path, {"a": "one"}, {"q": "?"}, {"q": {"a": 1}})
        if content is None:
            (folder / file).unlink()
        else:
            (folder / file).write_text(content)
        with pytest.raises(BenchmarkError, match=told):
            read_beir_folder(folder)


def test_a_drawn_corpus_keeps_what_answers() -> None:
    names = [f"d{n}" for n in range(50)]
    corpus = JudgedCorpus("made up", dict.fromkeys(names, ""), {"q": "?"}, {"q": {"d7": 1, "d9": 1}})
    drawn = corpus.drawn(10, seed=3)
    assert len(drawn.documents) == 10 and {"d7", "d9"} <= drawn.documents.keys()
    assert drawn.documents == corpus.drawn(10, seed=3).documents
    assert drawn.documents != corpus.drawn(10, seed=4).documents
    assert corpus.drawn(None, 3).documents == corpus.documents
    assert set(corpus.drawn(1, 3).documents) == {"d7", "d9"}


def test_drawn_queries_take_their_answers_along() -> None:
    names = [f"d{n}" for n in range(20)]
    corpus = JudgedCorpus(
        "made up", dict.fromkeys(names, ""), dict.fromkeys(names, "?"), {n: {n: 1} for n in names}
    )
    drawn = corpus.drawn(8, 3, queries=5)
    assert len(drawn.queries) == len(drawn.gains) == 5 and len(drawn.documents) == 8
    assert set(drawn.queries) == drawn.gains.keys() <= drawn.documents.keys()
    assert corpus.drawn(None, 3, queries=20) == corpus.drawn(None, 3)
