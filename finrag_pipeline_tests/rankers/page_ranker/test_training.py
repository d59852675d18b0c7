from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.rankers.card import check_no_leak
from finrag_pipeline.rankers.page_ranker import training
from finrag_pipeline.rankers.page_ranker.candidates import candidate_filings, company_words, read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import train_model
from finrag_pipeline.rankers.page_ranker.training import (
    Examples,
    PageRankerRecipe,
    card_of,
    page_examples,
)
from finrag_pipeline.resolver.resolver import RankedFiling, Resolution, load_resolver
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.profiled_lake import copied
from finrag_pipeline_tests.rankers.page_ranker.made_up import planted

QUESTIONS = [
    {"question_id": f"q{n}", "question": f"What was item {n}?", "filing": f"F{n // 2}", "gold_pages": [n, 9]}
    for n in range(6)
]


class TestLeakCheck:
    @staticmethod
    def check(ids: list[str], filings: list[str], tested: list[dict[str, Any]]) -> None:
        check_no_leak({"question_ids": ids, "filings": filings}, tested, "The ranker", "page_ranker")

    def test_nothing_shared(self) -> None:
        self.check(["q0", "q1"], ["F0"], QUESTIONS[2:])
        self.check([], [], QUESTIONS)
        self.check(["q0"], ["F0"], [])

    def test_a_shared_question(self) -> None:
        moved = {**QUESTIONS[0], "filing": "elsewhere"}
        with pytest.raises(
            BenchmarkError, match="The ranker was trained on what it is measured on"
        ) as caught:
            self.check(["q0", "q1"], ["F0"], [moved])
        assert "q0" in caught.value.reason and "page_ranker" in caught.value.remedy

    def test_a_shared_filing(self) -> None:
        with pytest.raises(BenchmarkError, match="F1"):
            self.check(["q2"], ["F1"], [QUESTIONS[3]])


class TestFingerprint:
    @staticmethod
    def of(
        questions: list[dict[str, Any]],
        pages: str = "pages",
        seed: int = 13,
        known: tuple[str, ...] = ("F0",),
    ) -> str:
        library = SimpleNamespace(fingerprint=lambda filings: f"{pages} {filings}")
        nothing: Any = None
        examples: Any = SimpleNamespace(library=library)
        recipe = PageRankerRecipe(nothing, Settings(seed=seed), questions, (), known, examples=examples)
        return recipe.fingerprint

    def test_the_same_for_the_same(self) -> None:
        assert self.of(QUESTIONS) == self.of([dict(question) for question in QUESTIONS])
        turned = [{**question, "gold_pages": question["gold_pages"][::-1]} for question in QUESTIONS]
        assert self.of(turned) == self.of(QUESTIONS), "gold pages are a set"

    @pytest.mark.parametrize(
        "change", [{"gold_pages": [1]}, {"question": "Another?"}, {"filing": "F7"}, {"question_id": "q7"}]
    )
    def test_changes_with_a_question(self, change: dict[str, Any]) -> None:
        assert self.of([{**QUESTIONS[0], **change}, *QUESTIONS[1:]]) != self.of(QUESTIONS)

    def test_changes_with_the_questions_the_corpus_and_the_seed(self) -> None:
        others = [
            self.of(QUESTIONS[1:]),
            self.of(QUESTIONS, pages="other pages"),
            self.of(QUESTIONS, known=("F0", "F1")),
            self.of(QUESTIONS, seed=14),
        ]
        assert len({*others, self.of(QUESTIONS)}) == 5

    @pytest.mark.parametrize("name", ["RANKER_VERSION", "PROFILES_VERSION", "RESOLVER_VERSION"])
    def test_changes_with_the_code(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        before = self.of(QUESTIONS)
        monkeypatch.setattr(training, name, "next")
        assert self.of(QUESTIONS) != before

    def test_pages_of_a_library(self, indexed: IndexedLake) -> None:
        library = PageLibrary(indexed.lake)
        one, two, turned = (
            library.fingerprint(indexed.filings[cut]) for cut in (slice(1), slice(2), slice(1, None, -1))
        )
        assert one != two == turned


class TestModels:
    def test_the_card_names_questions_and_filings_for_the_leak_check(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("finrag_pipeline.rankers.page_ranker.model.ROUNDS", 3)
        model = train_model(planted(6), 13, card_of(QUESTIONS, "made from"))
        assert model.card["question_ids"] == [question["question_id"] for question in QUESTIONS]
        assert model.card["filings"] == ["F0", "F1", "F2"]
        assert model.card["made_from"] == "made from"
        with pytest.raises(BenchmarkError):
            check_no_leak(model.card, QUESTIONS[:1], "It", "page_ranker")

    def test_kept_undamaged(self, lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("finrag_pipeline.rankers.page_ranker.model.ROUNDS", 3)
        monkeypatch.setattr(training, "page_examples", lambda questions, *rest: planted(len(questions)))
        library: Any = SimpleNamespace(fingerprint=lambda filings: "pages")
        nothing: Any = None
        examples = Examples(QUESTIONS, library, nothing, lambda: nothing, ["F0"])

        def recipe(tested: list[dict[str, Any]]) -> PageRankerRecipe:
            return PageRankerRecipe(lake, settings, QUESTIONS[:4], tested, ["F0"], examples=examples)

        first = recipe(QUESTIONS[4:])
        assert first.kept() is None
        card = first.trained("it")
        assert first.kept() == card == recipe([]).kept() and card["questions"] == 4
        assert sum(row["gain"] for row in first.rows(card)) == pytest.approx(1.0)
        with pytest.raises(BenchmarkError, match="it was trained on what it is measured on"):
            recipe(QUESTIONS[3:]).trained("it")
        lake.local_path(*first.folder, "binary-0.txt").unlink()
        assert recipe([]).kept() is None, "damaged: it is trained again"
        assert recipe([]).trained("it") == card and recipe([]).kept() == card


@pytest.fixture
def library(indexed: IndexedLake) -> PageLibrary:
    return PageLibrary(indexed.lake)


class TestExamples:
    def test_labels_are_the_gold_pages_of_the_gold_filing(
        self, indexed: IndexedLake, library: PageLibrary
    ) -> None:
        resolver = load_resolver(indexed.lake, indexed.filings)
        examples = page_examples(
            indexed.questions, indexed.encoder.embed_short, library, resolver, indexed.filings
        )
        assert len({example.candidates.names for example in examples}) == 1
        for question, example in zip(indexed.questions, examples, strict=True):
            found = example.candidates
            places = {
                (found.filings[place], int(found.pages[place])) for place in np.flatnonzero(example.relevant)
            }
            assert places == {(question["filing"], page) for page in question["gold_pages"]}
            assert found.features.shape == (len(found.pages), len(found.names))
            assert found.features.dtype == np.float32 and np.isfinite(found.features).all()

    def test_the_gold_filing_is_learned_from_where_the_resolver_misses_it(
        self, indexed: IndexedLake, library: PageLibrary
    ) -> None:
        other, gold = indexed.filings[:2]
        resolver: Any = SimpleNamespace(
            resolve=lambda text: Resolution(text, ("alder",), (), None, (RankedFiling(other, 0.9, ()),))
        )
        question = {"question": "What was goodwill?", "filing": gold, "gold_pages": [1]}
        (example,) = page_examples(
            [question], indexed.encoder.embed_short, library, resolver, indexed.filings
        )
        assert set(example.candidates.filings) == {other, gold}
        assert example.relevant.sum() == 1
        searched = read_candidates(
            question["question"], indexed.encoder.embed_short, library, resolver, indexed.filings
        )
        assert set(searched.filings) == {other}, "a search must do without"

    def test_features_of_the_filing_tell_how_sure_the_resolver_is(
        self, indexed: IndexedLake, library: PageLibrary
    ) -> None:
        ranked = tuple(
            RankedFiling(filing, score, ())
            for filing, score in zip(indexed.filings, (0.9, 0.6), strict=False)
        )
        resolver: Any = SimpleNamespace(resolve=lambda text: Resolution(text, ("alder",), (), None, ranked))
        found = read_candidates(
            "What was goodwill?", indexed.encoder.embed_short, library, resolver, indexed.filings
        )
        values = {
            name: found.features[:, found.names.index(name)].reshape(2, -1)[:, 0].tolist()
            for name in ("filing_score", "filing_behind", "filing_rank", "filings")
        }
        assert values["filing_score"] == pytest.approx([0.9, 0.6])
        assert values["filing_behind"] == pytest.approx([0.0, 0.3])
        assert values["filing_rank"] == [0, 1] and values["filings"] == [2, 2]

    def test_similarities_are_those_of_the_vectors_of_the_page(
        self, indexed: IndexedLake, library: PageLibrary
    ) -> None:
        vector = indexed.encoder.embed_query("goodwill and inventory")
        found = library.similarities(indexed.filings[0], vector)
        rows = indexed.lake.read("page_sentences", {"filing": indexed.filings[0]})
        best = np.full(5, -0.2)
        for page, sentence in zip(rows["page"].to_pylist(), rows["vector"].to_pylist(), strict=True):
            best[page] = max(best[page], np.dot(sentence, vector))
        assert found["sentence"] == pytest.approx(best, abs=1e-3)
        assert (found["sentences"] <= found["sentence"] + 1e-6).all()

    def test_a_filing_without_profiles(self, indexed: IndexedLake, library: PageLibrary) -> None:
        with pytest.raises(LakeError, match="'NOPE' has no page profiles") as caught:
            library.pages("NOPE")
        assert caught.value.remedy

    def test_a_filing_without_sentences(self, indexed: IndexedLake, tmp_path: Path) -> None:
        changed = copied(indexed, tmp_path)
        filing = changed.filings[0]
        changed.lake.remove("page_sentences", {"filing": filing})
        library = PageLibrary(changed.lake)
        with pytest.raises(LakeError, match=f"'{re.escape(filing)}' has no sentences of pages") as caught:
            library.similarities(filing, changed.encoder.embed_query("goodwill"))
        assert caught.value.remedy


class TestCandidateFilings:
    KNOWN = ("A", "B", "C")

    @staticmethod
    def read(*filings: str, companies: tuple[str, ...] = ("x",)) -> Resolution:
        ranked = tuple(RankedFiling(name, 1 - place / 10, ()) for place, name in enumerate(filings))
        return Resolution("q", companies, (), None, ranked)

    @pytest.mark.parametrize(
        ("resolution", "filings", "expected"),
        [
            (read("B"), None, ["B"]),
            (read(), None, ["A", "B", "C"]),
            (read("gone"), None, ["A", "B", "C"]),
            (read("gone", "C"), None, ["C"]),
            (read("B"), ["A", "C"], ["A", "C"]),
            (read("B"), ["gone"], []),
            (read("B"), [], []),
            (read(*"ABC"), None, ["A", "B", "C"]),
        ],
    )
    def test_those_given_else_those_of_the_resolver_else_all(
        self, resolution: Resolution, filings: list[str] | None, expected: list[str]
    ) -> None:
        found = candidate_filings(resolution, self.KNOWN, filings)
        assert [ranked.filing for ranked in found] == expected

    def test_names_of_the_question_and_of_the_index_say_nothing_about_the_page(self) -> None:
        resolution = Resolution("q", ("qzi",), (), None, (), printed_names=("Quick Zone's",))
        assert company_words(resolution) == {"qzi", "quick", "zone"}

    def test_scores_of_the_resolver_are_kept(self) -> None:
        found = candidate_filings(self.read("B"), self.KNOWN, ["A", "B"])
        assert [(ranked.filing, ranked.score) for ranked in found] == [("A", 0.0), ("B", 1.0)]

    def test_no_more_than_asked_for(self) -> None:
        found = candidate_filings(self.read("C", "B", "A"), self.KNOWN, None, most=2)
        assert [ranked.filing for ranked in found] == ["C", "B"]
