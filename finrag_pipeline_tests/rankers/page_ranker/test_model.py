from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.rankers.page_ranker import model as ranking
from finrag_pipeline.rankers.page_ranker.model import Example, RankingModel, load_model, train_model
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.page_ranker.made_up import candidates, planted

FOLDER = ("models", "page_ranker", "made_up")
CARD = {"question_ids": ["q1"], "filings": ["ALDER_2021_10K"]}


@pytest.fixture(scope="module")
def model() -> RankingModel:
    return train_model(planted(40), 13, CARD)


class TestLearning:
    @pytest.mark.parametrize(
        ("questions", "kinds", "least"),
        [
            (40, ranking.BOOSTED, 40),
            (ranking.FOREST_NEEDS - 1, ranking.BOOSTED, 40),
            (ranking.FOREST_NEEDS, ranking.WITH_FOREST, 30),
        ],
    )
    def test_finds_the_planted_signal_in_new_questions(
        self, questions: int, kinds: tuple[str, ...], least: int
    ) -> None:
        """Random splits find a single signal among noise less often than the best; pages have many signals."""
        model, unseen = train_model(planted(questions), 13, CARD), planted(50, seed=99)
        assert tuple(model.boosters) == kinds
        first = [bool(example.relevant[model.scores(example.candidates).argmax()]) for example in unseen]
        assert sum(first) >= least, "by chance it would be one or two of fifty"

    def test_of_a_general_model_only_the_kinds_that_it_shares_are_added(self) -> None:
        own, general = (
            train_model(planted(20), 1, {}, ranking.WITH_FOREST),
            train_model(planted(20, seed=3), 1, {}, ranking.BOOSTED),
        )
        found = planted(1, seed=5)[0].candidates
        lists = own._predict("lambdarank", found.features) + general._predict("lambdarank", found.features)
        wanted = -sum(
            np.log1p(np.argsort(np.argsort(-predicted, kind="stable"), kind="stable"))
            for predicted in (lists, own._predict("forest", found.features))
        )
        assert np.allclose(own.scores(found, general), wanted)

    def test_says_which_feature_it_was(self, model: RankingModel) -> None:
        share = model.importance()
        assert next(iter(share)) == "feature 1" and share["feature 1"] > 0.5
        assert set(share) == set(model.names)
        assert sum(share.values()) == pytest.approx(1.0)
        assert list(share.values()) == sorted(share.values(), reverse=True)

    def test_scores_fall_with_the_ranks(self, model: RankingModel) -> None:
        scores = model.scores(planted(1, seed=5)[0].candidates)
        assert scores.shape == (30,) and (scores <= 0).all()

    def test_the_best_page_does_not_depend_on_the_order(self, model: RankingModel) -> None:
        found = planted(1, seed=5)[0].candidates
        order = np.random.default_rng(0).permutation(30)
        turned = candidates(found.features[order])
        assert order[model.scores(turned).argmax()] == model.scores(found).argmax()

    def test_of_many_pages_the_best_of_one_model_are_weighed_by_all(
        self, model: RankingModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = [example.candidates for example in planted(20, seed=5)]
        weighed = [model.scores(one) for one in found]
        monkeypatch.setattr(ranking, "MOST_PAGES", 20)
        monkeypatch.setattr(ranking, "MOST_WEIGHED", 12)
        fewer = [model.scores(one) for one in found]
        assert all(np.isfinite(scores).sum() == 12 for scores in fewer)
        same = [one.argmax() == other.argmax() for one, other in zip(weighed, fewer, strict=True)]
        assert sum(same) >= 18

    def test_the_card_says_what_it_was_trained_on(self, model: RankingModel) -> None:
        assert model.card == {**CARD, "questions": 40, "pages": 1200, "seed": 13}

    def test_is_deterministic(self, model: RankingModel) -> None:
        again = train_model(planted(40), 13, CARD)
        found = planted(1, seed=7)[0].candidates
        assert np.array_equal(again.scores(found), model.scores(found))
        assert again.fingerprint == model.fingerprint
        texts = [
            [[booster.model_to_string() for booster in boosters] for boosters in one.boosters.values()]
            for one in (again, model)
        ]
        assert texts[0] == texts[1]

    def test_another_seed_is_another_model(self, model: RankingModel) -> None:
        other = train_model(planted(40), 14, CARD)
        assert other.fingerprint != model.fingerprint
        assert other.boosters["binary"][0].model_to_string() != model.boosters["binary"][0].model_to_string()

    def test_another_model_has_a_say(self, model: RankingModel) -> None:
        found = planted(1, seed=5)[0].candidates
        other = train_model(planted(5, seed=8), 14, {})
        alone, both = model.scores(found), model.scores(found, other)
        assert np.array_equal(model.scores(found, model), alone), "it agrees with itself"
        assert not np.array_equal(both, alone) and not np.array_equal(both, other.scores(found))

    def test_another_model_must_read_the_same_features(self, model: RankingModel) -> None:
        narrow = train_model(planted(5, width=2), 14, {})
        with pytest.raises(ModelError):
            model.scores(planted(1)[0].candidates, narrow)


class TestWhatIsLearnedFrom:
    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ranking, "ROUNDS", 5)

    def test_a_question_without_gold_page_teaches_nothing(self) -> None:
        examples = planted(5)
        blank = Example(examples[0].candidates, np.zeros(30, bool))
        found = planted(1, seed=7)[0].candidates
        one, other = train_model(examples, 1, {}), train_model([blank, *examples, blank], 1, {})
        assert np.array_equal(one.scores(found), other.scores(found))
        assert one.card["questions"] == other.card["questions"] == 5

    @pytest.mark.parametrize("blanks", [0, 2])
    def test_nothing_to_learn_from(self, blanks: int) -> None:
        blank = Example(planted(1)[0].candidates, np.zeros(30, bool))
        with pytest.raises(ModelError, match="no question to train") as caught:
            train_model([blank] * blanks, 1, {})
        assert caught.value.remedy

    def test_a_question_over_more_pages_than_lightgbm_takes(self) -> None:
        (large,) = planted(1, pages=10_050, width=2)
        model = train_model([large, *planted(3, width=2)], 1, {})
        assert model.card["pages"] == ranking.MOST_PAGES + 90
        assert model.scores(large.candidates).shape == (10_050,)
        places = ranking._learned_pages(large.relevant, 1)
        assert large.relevant[places].sum() == 1, "its gold page is kept"
        assert len(set(places.tolist())) == ranking.MOST_PAGES
        assert np.array_equal(places, ranking._learned_pages(large.relevant, 1))


class TestKeeping:
    def test_a_loaded_model_gives_the_same_scores_bit_for_bit(self, model: RankingModel, lake: Lake) -> None:
        model.save(lake, FOLDER)
        loaded = load_model(lake, FOLDER)
        assert loaded is not None
        for example in planted(10, seed=3):
            assert model.scores(example.candidates).tobytes() == loaded.scores(example.candidates).tobytes()
            for objective, boosters in model.boosters.items():
                for one, other in zip(boosters, loaded.boosters[objective], strict=True):
                    features = example.candidates.features
                    assert one.predict(features).tobytes() == other.predict(features).tobytes()
        assert loaded.names == model.names and loaded.card == model.card
        assert loaded.fingerprint == model.fingerprint
        assert loaded.importance() == model.importance()

    def test_no_model(self, lake: Lake) -> None:
        assert load_model(lake, FOLDER) is None

    def test_without_its_card_a_half_written_model_is_none(self, model: RankingModel, lake: Lake) -> None:
        model.save(lake, FOLDER)
        lake.local_path(*FOLDER, "card.json").unlink()
        assert load_model(lake, FOLDER) is None

    @pytest.mark.parametrize(
        ("name", "damage"),
        [
            ("card.json", lambda text: text[: len(text) // 2]),
            ("card.json", lambda text: ""),
            ("card.json", lambda text: "[]"),
            ("card.json", lambda text: '"a card"'),
            ("card.json", lambda text: "{}"),
            ("card.json", lambda text: '{"features": [], "models": 3}'),
            ("card.json", lambda text: '{"features": [], "models": {"binary": 3}}'),
            ("binary-0.txt", lambda text: None),
            ("binary-0.txt", lambda text: ""),
            ("binary-0.txt", lambda text: text[: len(text) // 2]),
            ("lambdarank-2.txt", lambda text: text[:-5]),
            ("lambdarank-2.txt", lambda text: "this is no model"),
            ("lambdarank-1.txt", lambda text: text.replace("leaf_value=", "leaf_value=9", 1)),
        ],
    )
    def test_damaged_files_are_an_error_with_a_remedy(
        self, model: RankingModel, lake: Lake, name: str, damage: Callable[[str], str | None]
    ) -> None:
        model.save(lake, FOLDER)
        path = lake.local_path(*FOLDER, name)
        text = damage(path.read_text())
        path.unlink()
        if text is not None:
            path.write_text(text)
        with pytest.raises(LakeError, match="page_ranker/made_up is damaged") as caught:
            load_model(lake, FOLDER)
        assert "again" in caught.value.remedy

    def test_bytes_that_are_no_text(self, model: RankingModel, lake: Lake) -> None:
        for name in ("binary-1.txt", "card.json"):
            model.save(lake, FOLDER)
            lake.local_path(*FOLDER, name).write_bytes(b"\xff\xfe\x00")
            with pytest.raises(LakeError):
                load_model(lake, FOLDER)


class TestFeatures:
    @pytest.mark.parametrize(
        "names",
        [
            [f"feature {n}" for n in range(5)],
            [f"feature {n}" for n in reversed(range(6))],
            [*(f"feature {n}" for n in range(5)), "another"],
        ],
    )
    def test_other_features_than_those_of_the_training(self, model: RankingModel, names: list[str]) -> None:
        with pytest.raises(ModelError, match="other features") as caught:
            model.scores(candidates(np.zeros((3, len(names))), names))
        assert caught.value.remedy
