"""Training by recipe, and ranking pages by what came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.rankers.page_scorer.model import load_card, load_model, save_scorer
from finrag_pipeline.rankers.page_scorer.ranking import PageScorerRanker
from finrag_pipeline.rankers.page_scorer.recipe import Recipe, scorer_folder
from finrag_pipeline.rankers.page_scorer.training import embed_texts
from finrag_pipeline.retrieval.component import Learned
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.rankers.page_scorer.corpus import write_corpus
from finrag_pipeline_tests.retrieval.stand_ins import rank


def changed(settings: Settings, **changes: Any) -> Settings:
    scorer = settings.page_scorer.model_copy(update=changes)
    return settings.model_copy(update={"page_scorer": scorer})


class TestRecipe:
    @pytest.fixture
    def corpus(self, lake: Lake) -> tuple[list[str], list[dict[str, Any]]]:
        return write_corpus(lake)

    def test_the_card_says_what_was_seen(
        self, lake: Lake, scorer_settings: Settings, corpus: tuple[list[str], list[dict[str, Any]]]
    ) -> None:
        names, questions = corpus
        tested = [row for row in questions if row["filing"] == names[0]]
        learned = [row for row in questions if row["filing"] != names[0]]
        settings = changed(scorer_settings, epochs=1, negatives=("statement",))
        recipe = Recipe(lake, settings, learned, tested, names)
        told: list[tuple[int, int]] = []
        card = recipe.trained("the scorer", lambda done, total: told.append((done, total)))
        assert told[-1][0] == told[-1][1] == card["steps"] and card["made_from"] == recipe.fingerprint
        assert set(card["question_ids"]) == {row["question_id"] for row in learned}
        # C0_2021 holds the statements of the tested C0_2020 in another year, not the other way round.
        assert names[0] not in card["filings"] and set(card["filings"]) == set(names[1:])
        assert set(card["validation_question_ids"]) < set(card["question_ids"])
        folder = lake.local_path(*recipe.folder)
        assert card["weights_sha256"] == file_sha256(folder / "model.safetensors")
        assert card["seed"] == settings.seed and card["hyper_parameters"]["batch_size"] == 4
        assert len(card["curve"]) == 2 and card["curve"][0]["epoch"] == 0
        assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
        assert not lake.fs.exists(lake.path("checkpoints", "page_scorer", f"{recipe.fingerprint}.pt"))

    def test_a_leak_fails_before_anything_is_trained(
        self,
        lake: Lake,
        scorer_settings: Settings,
        corpus: tuple[list[str], list[dict[str, Any]]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        names, questions = corpus
        monkeypatch.setattr("finrag_pipeline.rankers.page_scorer.recipe.fit", None)
        for tested in ([questions[0]], [{**questions[0], "question_id": "another of the same filing"}]):
            with pytest.raises(BenchmarkError, match="was trained on what it is measured on"):
                Recipe(lake, scorer_settings, questions, tested, names).trained("it")
        company = {**questions[0], "question_id": "new", "filing": "C0_2030"}
        assert company["company"] == questions[2]["company"]
        with pytest.raises(BenchmarkError, match="companies it is measured on: \\['C0'\\]"):
            Recipe(lake, scorer_settings, questions, [company], names, "company").trained("it")

    def test_what_makes_another_model(
        self, lake: Lake, scorer_settings: Settings, corpus: tuple[list[str], list[dict[str, Any]]]
    ) -> None:
        names, questions = corpus

        def made_from(
            settings: Settings, rows: list[dict[str, Any]] = questions, policy: Any = "document"
        ) -> str:
            return Recipe(lake, settings, rows, [], names, policy).fingerprint

        plain = made_from(scorer_settings)
        assert plain == made_from(scorer_settings, questions[::-1])
        assert plain == made_from(changed(scorer_settings, checkpoint_seconds=7, policies=("company",)))
        others = [
            made_from(changed(scorer_settings, epochs=9)),
            made_from(changed(scorer_settings, text="windows")),
            made_from(scorer_settings.model_copy(update={"seed": 3})),
            made_from(scorer_settings, questions[1:]),
            made_from(scorer_settings, [{**questions[0], "gold_pages": [5]}, *questions[1:]]),
            made_from(scorer_settings, policy="company"),
        ]
        assert len({plain, *others}) == 7

    def test_a_model_without_its_files_is_trained_again(
        self, lake: Lake, scorer_settings: Settings, corpus: tuple[list[str], list[dict[str, Any]]]
    ) -> None:
        names, questions = corpus
        recipe = Recipe(lake, changed(scorer_settings, epochs=1), questions, [], names)
        first = recipe.trained("it")
        weights = lake.path(*recipe.folder, "model.safetensors")
        lake.fs.rm(weights)
        with pytest.raises(LakeError, match=r"lacks model\.safetensors"):
            load_card(lake, recipe.folder)
        assert recipe.kept() is None and recipe.trained("it") == first and lake.fs.exists(weights)
        lake.write_bytes(lake.path(*recipe.folder, "card.json"), b"{")
        assert recipe.kept() is None


class TestRanking:
    @pytest.fixture
    def ranker(self, indexed: IndexedLake, tiny_model: Path) -> PageScorerRanker:
        return self.make(indexed, tiny_model)

    def make(self, indexed: IndexedLake, tiny_model: Path, text: str = "cut") -> PageScorerRanker:
        folder = scorer_folder(f"test {text}")
        card = {"text": text, "max_characters": 200, "max_tokens": 32}
        save_scorer(load_model(tiny_model, 32), indexed.lake, folder, card)
        found = load_card(indexed.lake, folder)
        assert found
        return PageScorerRanker(indexed.lake, indexed.settings, folder, found)

    def brute_force(self, indexed: IndexedLake, tiny_model: Path, question: str) -> list[tuple[str, int]]:
        model = load_model(tiny_model, 32)
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
        everything = ranker.rank_pages(question, corpus, None, None, 99)
        assert len({(hit.filing, hit.page) for hit in everything}) == len(everything) == 20
        assert ranker.rank_pages(question, corpus, None, [1], 4) == everything[:4], "pages count with filings"
        inside = ranker.rank_pages(question, corpus, [indexed.filings[1], "unknown"], [1, 3, 77], 9)
        assert inside == [
            hit for hit in everything if hit.filing == indexed.filings[1] and hit.page in (1, 3)
        ]
        assert ranker.rank_pages(question, corpus, [], None, 9) == []
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

    model = load_model(tiny_model, 48)
    with __import__("torch").no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01)
    save_scorer(model, lake, scorer_folder("x"), {})
    folder = lake.local_path(*scorer_folder("x"))
    encoder = Encoder(settings.encoder.model_copy(update={"name": str(folder)}), lake)
    texts = ["net revenue", "tax of the year " * 40]
    assert np.allclose(encoder.embedder.embed(texts), embed_texts(model, texts), atol=1e-5)
    assert encoder.embedder.max_tokens == 48 and encoder.window_tokens == 46
    card = json.loads((folder / "card.json").read_text())
    assert "model.safetensors" in card["files"]
