"""Pre-training on derived questions: who is left out, and that it is off unless asked for."""

from __future__ import annotations

from typing import Any

import pytest

from finrag_pipeline.errors import BenchmarkError, ModelError
from finrag_pipeline.page_scorer import SCORER_VERSION
from finrag_pipeline.page_scorer.cards import deciding
from finrag_pipeline.page_scorer.derived_pretraining import DerivedPretraining, derived_folder
from finrag_pipeline.page_scorer.model import base_encoder, base_fingerprint, base_length, load_card
from finrag_pipeline.page_scorer.pairs import Neighbourhood, benchmark_pairs
from finrag_pipeline.page_scorer.recipe import Recipe
from finrag_pipeline.page_scorer.texts import PageTexts, pages_fingerprint
from finrag_pipeline.settings import PageScorerSettings, Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.page_scorer.corpus import question, write_corpus, write_filing
from finrag_pipeline_tests.page_scorer.sample_filing import write_sample_filing

A, B, C, D = "TORVEXLEY_2022_10K", "TORVEXLEY_2023_10K", "PELLAMOOR_2023_10K", "SUNDREVALE_2022_10K"
NAMES = [A, B, C, D]
COMPANIES = {A: "Torvexley", B: "Torvexley", C: "Pellamoor", D: "Sundrevale"}


def asked(*filings: str) -> list[dict[str, Any]]:
    return [
        question(NAMES.index(name), name, [6], f"What about {name}?", company=COMPANIES[name])
        for name in filings
    ]


@pytest.fixture
def filled(lake: Lake) -> Lake:
    for name in NAMES:
        write_sample_filing(lake, name)
    return lake


@pytest.fixture
def derived_settings(scorer_settings: Settings) -> Settings:
    update = {"derived": 6, "epochs": 1, "learning_rate": 1e-3}
    scorer = scorer_settings.page_scorer.model_copy(update=update)
    return scorer_settings.model_copy(update={"page_scorer": scorer})


def stage(lake: Lake, settings: Settings, tested: list[dict[str, Any]], **changes: Any) -> DerivedPretraining:
    texts = PageTexts(lake, settings.page_scorer, base_encoder(settings), base_length(settings))
    plain: dict[str, Any] = {"filings": NAMES, "held": {D}}
    return DerivedPretraining(lake, settings, texts, tested=tested, **{**plain, **changes})


class TestSources:
    def test_tested_and_held_out_filings_are_no_source(
        self, filled: Lake, derived_settings: Settings
    ) -> None:
        found = stage(filled, derived_settings, asked(A))
        assert found.sources == [C, B] and found.held == [D]
        assert {row.filing for row in found.questions(found.sources, 6)} == {B, C}
        assert stage(filled, derived_settings, asked(A, D)).held == []

    def test_for_production_all_are_allowed(self, filled: Lake, derived_settings: Settings) -> None:
        assert stage(filled, derived_settings, [], held=set()).sources == sorted(NAMES)

    def test_by_company_its_other_years_are_none_either(
        self, filled: Lake, derived_settings: Settings
    ) -> None:
        assert stage(filled, derived_settings, asked(A), by_company=True).sources == [C]

    def test_questions_of_the_benchmark_are_dropped(self, filled: Lake, derived_settings: Settings) -> None:
        plain = stage(filled, derived_settings, [])
        first, *others = plain.questions([B], 6)
        found = stage(filled, derived_settings, [], asked=[f" {first.question.upper()} "])
        assert found.questions([B], 6) == others and found.fingerprint != plain.fingerprint

    @pytest.mark.parametrize("by_company", [False, True])
    def test_a_leak_fails_before_anything_is_trained(
        self,
        by_company: bool,
        filled: Lake,
        derived_settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("finrag_pipeline.page_scorer.derived_pretraining.fit", None)
        found = stage(filled, derived_settings, asked(A), by_company=by_company)
        found.sources = [B] if by_company else [A, C]  # as a mistake in the choice would have it
        with pytest.raises(BenchmarkError, match="measured on"):
            found.trained(base_folder(derived_settings), "it")

    def test_a_kept_model_that_has_seen_a_tested_filing_is_refused(
        self, filled: Lake, derived_settings: Settings
    ) -> None:
        found = stage(filled, derived_settings, asked(A))
        filled.write_json(
            filled.path(*derived_folder(found.fingerprint), "card.json"), {"files": [], "filings": [A, C]}
        )
        with pytest.raises(BenchmarkError, match="measured on"):
            found.trained(base_folder(derived_settings), "it")


def base_folder(settings: Settings) -> Any:
    from pathlib import Path

    return Path(settings.encoder.name)


class TestTraining:
    def test_a_recipe_learns_from_them_first(
        self, filled: Lake, derived_settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recipe = Recipe(filled, derived_settings, asked(B, C, D), asked(A), NAMES)
        told: list[str] = []
        card = recipe.trained("it", lambda done, total: told.append(f"{done} of {total}"))
        made = load_card(filled, derived_folder(card["derived"]["made_from"]))
        assert made is not None and made["questions"] == sum(made["kinds"].values()) > 6
        assert A not in made["filings"] and set(made["filings"]) <= set(card["filings"]) == {B, C, D}
        assert "hyper_parameters" in card and card["pretrained"] is None
        # The derived model is kept: another training of the recipe finds it.
        filled.fs.rm(filled.path(*recipe.folder), recursive=True)
        calls: list[int] = []
        from finrag_pipeline.page_scorer import derived_pretraining

        monkeypatch.setattr(derived_pretraining, "fit", lambda *_: calls.append(1))
        assert recipe.trained("it")["weights_sha256"] == card["weights_sha256"] and not calls

    def test_without_facts_and_headings_it_says_so(self, lake: Lake, derived_settings: Settings) -> None:
        names, questions = write_corpus(lake, 4)
        with pytest.raises(ModelError, match="No question can be derived"):
            Recipe(lake, derived_settings, questions, [], names).trained("it")

    def test_pages_that_may_answer_too_are_no_negatives(self, lake: Lake, scorer_settings: Settings) -> None:
        write_filing(lake, "F", ["zero", "one", "two"])
        texts = PageTexts(lake, scorer_settings.page_scorer, base_encoder(scorer_settings), 32)
        row = question(0, "F", [0], "q", other_pages=[1])
        (pair,) = benchmark_pairs([row], texts, ("filing", "neighbour"), Neighbourhood(lake, texts, ["F"]))
        assert pair.negatives == (("two",), ("two",))


class TestOff:
    def test_fingerprints_are_those_of_before_the_option(self, lake: Lake, scorer_settings: Settings) -> None:
        assert set(deciding(PageScorerSettings())) == {
            "text", "max_characters", "max_tokens", "epochs", "batch_size", "mini_batch_size", "learning_rate",
            "warmup", "negatives", "validation_share", "validation_pages", "patience",
        }  # fmt: skip
        names, questions = write_corpus(lake, 4)
        rows = sorted(questions, key=lambda row: str(row["question_id"]))
        expected = fingerprint(
            "page_scorer",
            SCORER_VERSION,
            base_fingerprint(scorer_settings),
            base_length(scorer_settings),
            deciding(scorer_settings.page_scorer),
            None,
            [(r["question_id"], r["question"], r["filing"], sorted(r["gold_pages"]), []) for r in rows],
            "document",
            pages_fingerprint(lake, names),
            [
                part.fingerprint
                for name in sorted(names)
                if (part := lake.info("page_profiles", {"filing": name}))
            ],
            scorer_settings.seed,
        )
        assert Recipe(lake, scorer_settings, questions, [], names).fingerprint == expected

    def test_count_and_epochs_change_them_when_it_is_on(self, lake: Lake, scorer_settings: Settings) -> None:
        names, questions = write_corpus(lake, 4)

        def made(**changes: Any) -> str:
            scorer = scorer_settings.page_scorer.model_copy(update=changes)
            settings = scorer_settings.model_copy(update={"page_scorer": scorer})
            return Recipe(lake, settings, questions, [], names).fingerprint

        assert made() == made(derived_epochs=9)
        assert len({made(), made(derived=5), made(derived=6), made(derived=6, derived_epochs=2)}) == 4
