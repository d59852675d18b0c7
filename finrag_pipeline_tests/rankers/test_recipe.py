"""Training by recipe, for every kind of model that is fine-tuned: what is seen, kept and made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.rankers.card import kept_folder, load_card
from finrag_pipeline.rankers.clean_rows import read_clean_rows, text_key
from finrag_pipeline.rankers.page_scorer import PageScorerRecipe
from finrag_pipeline.rankers.recipe import FineTuning, pretrained
from finrag_pipeline.rankers.reranker import RerankerRecipe
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.corpus import write_corpus
from finrag_pipeline_tests.rankers.test_clean_rows import finqa, write

Corpus = tuple[list[str], list[dict[str, Any]]]
Kind = type[FineTuning]


def changed(settings: Settings, **changes: Any) -> Settings:
    """Other settings of the training of both kinds."""
    parts = {
        name: getattr(settings, name).model_copy(update=changes)
        for name in ("page_scorer", "reranker_training")
    }
    return settings.model_copy(update=parts)


@pytest.fixture
def corpus(lake: Lake) -> Corpus:
    return write_corpus(lake)


@pytest.fixture(params=[PageScorerRecipe, RerankerRecipe], ids=lambda kind: kind.kind)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_the_card_says_what_was_seen(
    kind: Kind, lake: Lake, training_settings: Settings, corpus: Corpus
) -> None:
    names, questions = corpus
    tested = [row for row in questions if row["filing"] == names[0]]
    learned = [row for row in questions if row["filing"] != names[0]]
    settings = changed(training_settings, epochs=1, negatives=("statement",))
    recipe = kind(lake, settings, learned, tested, names)
    told: list[tuple[int, int]] = []
    card = recipe.trained("it", lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == card["steps"] and card["made_from"] == recipe.fingerprint
    assert recipe.folder == ("models", kind.kind, recipe.fingerprint)
    assert card["policy"] == "document" and set(card["question_ids"]) == {
        row["question_id"] for row in learned
    }
    # C0_2021 holds the statements of the tested C0_2020 in another year, not the other way round.
    assert names[0] not in card["filings"] and set(card["filings"]) == set(names[1:])
    assert set(card["validation_question_ids"]) < set(card["question_ids"])
    folder = lake.local_path(*recipe.folder)
    assert card["weights_sha256"] == file_sha256(folder / "model.safetensors")
    assert card["seed"] == settings.seed and card["hyper_parameters"]["batch_size"] == 4
    assert len(card["curve"]) == 2 and card["curve"][0]["epoch"] == 0
    assert card["curve"][0]["page_rec"] is not None
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    assert not lake.fs.exists(lake.path("checkpoints", kind.kind, f"{recipe.fingerprint}.pt"))
    rows = recipe.rows(card)
    assert [row["chosen"] for row in rows] == [row["tested_page_rec"] is not None for row in rows]


def test_the_cards_say_how_pages_are_read(lake: Lake, training_settings: Settings, corpus: Corpus) -> None:
    names, questions = corpus
    settings = changed(training_settings, epochs=1)
    cards = [
        kind(lake, settings, questions, [], names).trained("it")
        for kind in (PageScorerRecipe, RerankerRecipe)
    ]
    assert [card["loss"] for card in cards] == ["multiple negatives ranking", "binary cross-entropy"]
    assert [card["max_tokens"] for card in cards] == [64, 64]
    assert (cards[1]["text_tokens"], cards[1]["windows"]) == (32, 2), "the question has its half"


def test_a_leak_fails_before_anything_is_trained(
    kind: Kind, lake: Lake, training_settings: Settings, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, questions = corpus
    monkeypatch.setattr("finrag_pipeline.rankers.recipe.fit", None)
    for tested in ([questions[0]], [{**questions[0], "question_id": "another of the same filing"}]):
        with pytest.raises(BenchmarkError, match="was trained on what it is measured on") as caught:
            kind(lake, training_settings, questions, tested, names).trained("it")
        assert kind.kind in caught.value.remedy
    company = {**questions[0], "question_id": "new", "filing": "C0_2030"}
    assert company["company"] == questions[2]["company"]
    with pytest.raises(BenchmarkError, match="companies it is measured on: \\['C0'\\]"):
        kind(lake, training_settings, questions, [company], names, "company").trained("it")


def test_what_makes_another_model(
    kind: Kind, lake: Lake, training_settings: Settings, corpus: Corpus
) -> None:
    names, questions = corpus

    def made_from(
        settings: Settings, rows: list[dict[str, Any]] = questions, policy: Any = "document"
    ) -> str:
        return kind(lake, settings, rows, [], names, policy).fingerprint

    plain = made_from(training_settings)
    assert plain == made_from(training_settings, questions[::-1])
    same = {"checkpoint_seconds": 7, "policies": ("company",), "pretraining_rows": 9}
    if kind is RerankerRecipe:
        same |= {"pages": 7, "fusion_k": 60, "prediction_batch_size": 3}
    assert plain == made_from(changed(training_settings, **same))
    others = [
        made_from(changed(training_settings, epochs=9)),
        made_from(changed(training_settings, text="cut" if kind is RerankerRecipe else "windows")),
        made_from(training_settings.model_copy(update={"seed": 3})),
        made_from(training_settings, questions[1:]),
        made_from(training_settings, [{**questions[0], "gold_pages": [5]}, *questions[1:]]),
        made_from(training_settings, policy="company"),
    ]
    if kind is RerankerRecipe:
        others += [
            made_from(changed(training_settings, question_tokens=8)),
            made_from(changed(training_settings, windows=3)),
        ]
        others.append(PageScorerRecipe(lake, training_settings, questions, [], names).fingerprint)
    assert len({plain, *others}) == 1 + len(others)


def test_a_model_without_its_files_is_trained_again(
    kind: Kind, lake: Lake, training_settings: Settings, corpus: Corpus
) -> None:
    names, questions = corpus
    recipe = kind(lake, changed(training_settings, epochs=1), questions, [], names)
    first = recipe.trained("it")
    weights = lake.path(*recipe.folder, "model.safetensors")
    lake.fs.rm(weights)
    with pytest.raises(LakeError, match=r"lacks model\.safetensors"):
        load_card(lake, recipe.folder)
    assert recipe.kept() is None and recipe.trained("it") == first and lake.fs.exists(weights)
    for damaged in (b"{", b"{}"):
        lake.write_bytes(lake.path(*recipe.folder, "card.json"), damaged)
        assert recipe.kept() is None


def test_pretraining_is_done_once_and_again_for_other_data(
    kind: Kind, tmp_path: Path, lake: Lake, training_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [finqa(f"F{n}/2010", page) for n in range(5) for page in range(4)]
    folder = write(tmp_path / "data", [*rows, finqa("X/2010", 1, fb_company="X")])
    settings = changed(training_settings, pretraining=str(folder), pretraining_epochs=1)

    def recipe(settings: Settings = settings) -> FineTuning:
        return kind(lake, settings, [], [], [])

    start = recipe().start()
    card = load_card(lake, recipe().pretraining_folder)
    assert card and (card["questions"], card["pairs"], card["skipped"]["overlap"]) == (20, 16, 1)
    assert start == lake.local_path("models", f"{kind.kind}_pretraining", card["made_from"])
    lake.write_bytes(lake.path(*recipe().pretraining_folder, "card.json"), b"{")
    assert recipe().start() == start, "what is damaged is trained again"
    monkeypatch.setattr("finrag_pipeline.rankers.recipe.fit", None)
    assert recipe().start() == start, "found, not made"
    before = recipe().pretraining_fingerprint
    assert recipe(changed(settings, pretraining_rows=9)).pretraining_fingerprint != before
    (folder / "finqa" / "finqa_qa.jsonl").write_text(json.dumps(finqa("F1/2010", 1)) + "\n")
    assert recipe().pretraining_fingerprint != before
    assert recipe(training_settings).start() == Path(settings.encoder.name), "without: the base"


def test_filings_with_a_page_that_is_measured_are_not_learned_from(
    kind: Kind, tmp_path: Path, lake: Lake, training_settings: Settings
) -> None:
    folder = write(tmp_path / "data", [finqa(f"F{n}/2010", page) for n in range(5) for page in range(4)])
    settings = changed(training_settings, pretraining=str(folder), pretraining_epochs=1)
    measured = next(text for page, text in read_clean_rows(folder).pages.items() if page.startswith("F3"))
    # Another corpus prints the page with other spaces and case.
    withheld = {text_key("  " + measured.upper().replace(" ", "\n"))}
    assert pretrained(kind, lake, settings, withheld, train=False) is None
    start = pretrained(kind, lake, settings, withheld)
    assert start is not None
    card = load_card(lake, kept_folder(f"{kind.kind}_pretraining", start.name))
    assert card and card["questions"] == 16, "the four questions of one filing are left out"
    assert pretrained(kind, lake, settings, withheld, train=False) == start
    assert pretrained(kind, lake, settings, (), train=False) is None, "that one has seen more"
