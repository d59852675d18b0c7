"""Ranking pages by a page scorer that is kept in the lake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.rankers.card import kept_folder, load_card, save_model
from finrag_pipeline.rankers.page_scorer import PageScorerRanker, embed_texts, load_bi_encoder
from finrag_pipeline.retrieval.component import Learned
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import rank


class TestRanking:
    @pytest.fixture
    def ranker(self, indexed: IndexedLake, tiny_model: Path) -> PageScorerRanker:
        return self.make(indexed, tiny_model)

    def make(self, indexed: IndexedLake, tiny_model: Path, text: str = "cut") -> PageScorerRanker:
        folder = kept_folder("page_scorer", f"test {text}")
        card = {"text": text, "max_characters": 200, "max_tokens": 32}
        save_model(load_bi_encoder(tiny_model, 32), indexed.lake, folder, card)
        found = load_card(indexed.lake, folder)
        assert found
        return PageScorerRanker(indexed.lake, indexed.settings, folder, found)

    def brute_force(self, indexed: IndexedLake, tiny_model: Path, question: str) -> list[tuple[str, int]]:
        model = load_bi_encoder(tiny_model, 32)
        found = []
        for filing in sorted(indexed.filings):
            pages = indexed.lake.read("filing_pages", {"filing": filing})
            for page, text in zip(pages["page"].to_pylist(), pages["text"].to_pylist(), strict=True):
                vectors = embed_texts(model, [question, " ".join(text.split())[:200]])
                found.append((-round(float(vectors[0] @ vectors[1]), 5), filing, page))
        return [(filing, page) for _, filing, page in sorted(found)]

    def test_it_equals_an_exact_scan(
        self, indexed: IndexedLake, tiny_model: Path, ranker: PageScorerRanker
    ) -> None:
        for row in indexed.questions[:3]:
            found = ranker.rank(row["question"], indexed.filings)
            scores = [round(score, 5) for _, score in found]
            assert scores == sorted(scores, reverse=True) and len(found) == 20
            expected = self.brute_force(indexed, tiny_model, row["question"])
            rounded = sorted(zip([-score for score in scores], [place for place, _ in found], strict=True))
            assert [place for _, place in rounded] == expected

    def test_restrictions_hold_before_the_depth(self, indexed: IndexedLake, ranker: PageScorerRanker) -> None:
        corpus = indexed_corpus(indexed)
        question = indexed.questions[0]["question"]
        everything = ranker.rank_pages(question, corpus, Scope(), 99)
        assert len({(hit.filing, hit.page) for hit in everything}) == len(everything) == 20
        assert ranker.rank_pages(question, corpus, Scope(None, (1,)), 4) == everything[:4], (
            "pages count with filings"
        )
        inside = ranker.rank_pages(question, corpus, Scope((indexed.filings[1], "unknown"), (1, 3, 77)), 9)
        assert inside == [
            hit for hit in everything if hit.filing == indexed.filings[1] and hit.page in (1, 3)
        ]
        assert ranker.rank_pages(question, corpus, Scope(()), 9) == []
        assert everything[0].why.startswith("page scorer: cosine ")

    def test_pages_are_embedded_once(
        self, indexed: IndexedLake, tiny_model: Path, ranker: PageScorerRanker
    ) -> None:
        question = indexed.questions[0]["question"]
        first = ranker.rank(question, indexed.filings)
        again = self.make(indexed, tiny_model)
        asked: list[int] = []
        again.encoder.listener = lambda done, total: asked.append(total)
        assert again.rank(question, indexed.filings) == first and asked == []
        assert (
            again.fingerprint == ranker.fingerprint != self.make(indexed, tiny_model, "windows").fingerprint
        )

    def test_windows_find_what_the_cut_hides(self, indexed: IndexedLake, tiny_model: Path) -> None:
        question = indexed.questions[0]["question"]
        cut = dict(self.make(indexed, tiny_model).rank(question, indexed.filings))
        whole = self.make(indexed, tiny_model, "windows").rank(question, indexed.filings)
        texts = indexed.lake.read_all("filing_pages", only={"filing": indexed.filings})
        longer = {
            (filing, page)
            for filing, page, text in zip(
                *(texts[n].to_pylist() for n in ("filing", "page", "text")), strict=True
            )
            if len(text) > 400
        }
        assert longer and any(abs(score - cut[place]) > 1e-4 for place, score in whole if place in longer)

    def test_the_row_page_scorer_searches_inside_its_pages(
        self, indexed: IndexedLake, ranker: PageScorerRanker
    ) -> None:
        from dataclasses import replace

        corpus = indexed_corpus(indexed)
        system = replace(SYSTEMS["page_scorer"], pages=InsidePages("page_scorer", pages=3))
        for row in indexed.questions:
            pages = [place for place, _ in ranker.rank(row["question"], indexed.filings)[:3]]
            hits = rank(system, row["question"], corpus, learned=Learned({"page_scorer": ranker}))
            assert {(hit.filing, hit.page) for hit in hits} == set(pages), "a filter before the search"

    def test_page_recall(self, indexed: IndexedLake, ranker: PageScorerRanker) -> None:
        found = ranker.recall(indexed.questions, indexed.filings)
        shares = []
        for row in indexed.questions:
            first = [place for place, _ in ranker.rank(row["question"], indexed.filings, depth=5)]
            gold = {(row["filing"], page) for page in row["gold_pages"]}
            shares.append(len(gold & set(first)) / len(gold))
        assert found and found.page_rec == pytest.approx(np.mean(shares))
        assert ranker.recall([], indexed.filings) is None


def indexed_corpus(indexed: IndexedLake) -> Any:
    from finrag_pipeline.retrieval.corpus import Corpus

    return Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder)


def test_a_kept_model_is_the_trained_one_as_an_encoder(
    lake: Lake, settings: Settings, tiny_model: Path
) -> None:
    """Length, tokenizer and pooling survive being written; both backends would read the same files."""
    from finrag_pipeline.embedding.encoder import Encoder

    model = load_bi_encoder(tiny_model, 48)
    with __import__("torch").no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01)
    save_model(model, lake, kept_folder("page_scorer", "x"), {})
    folder = lake.local_path(*kept_folder("page_scorer", "x"))
    encoder = Encoder(settings.encoder.model_copy(update={"name": str(folder)}), lake)
    texts = ["net revenue", "tax of the year " * 40]
    assert np.allclose(encoder.embedder.embed(texts), embed_texts(model, texts), atol=1e-5)
    assert encoder.embedder.max_tokens == 48 and encoder.window_tokens == 46
    card = json.loads((folder / "card.json").read_text())
    assert "model.safetensors" in card["files"]
