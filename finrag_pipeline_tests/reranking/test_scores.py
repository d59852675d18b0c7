from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.reranking.cross_encoder import FOLDER, kept_scores
from finrag_pipeline.storage.lake import Lake


class Lengths:
    """Scores texts by a third of their length, and remembers which."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.seen.extend(texts)
        return np.array([len(text) / 3 for text in texts])


def _expected(texts: list[str]) -> np.ndarray:
    return np.array([len(text) / 3 for text in texts], np.float32)


def test_scores_come_back_bit_for_bit(lake: Lake) -> None:
    compute, texts = Lengths(), ["a", "bb", "a", "", "\ud800", "株式"]
    for _ in range(2):
        scores = kept_scores(lake, "m", "q", texts, compute)
        np.testing.assert_array_equal(scores, _expected(texts))
        assert scores.dtype == np.float32
    assert compute.seen == ["a", "bb", "", "\ud800", "株式"]


def test_questions_and_models_are_apart(lake: Lake) -> None:
    compute = Lengths()
    for model, question in (("m", "q"), ("m", "r"), ("n", "q")):
        kept_scores(lake, model, question, ["a"], compute)
    assert compute.seen == ["a"] * 3


def test_scores_that_another_process_added_meanwhile_stay(lake: Lake) -> None:
    other = Lengths()

    def meanwhile(texts: list[str]) -> np.ndarray:
        kept_scores(lake, "m", "q", ["from elsewhere"], other)
        return _expected(texts)

    kept_scores(lake, "m", "q", ["a"], meanwhile)
    kept_scores(lake, "m", "q", ["a", "from elsewhere"], other)
    assert other.seen == ["from elsewhere"]


@pytest.mark.parametrize(
    "odd",
    [
        lambda n: np.full(n, np.nan),
        lambda n: np.full(n, np.inf),
        lambda n: np.zeros((n, 2)),
        lambda n: np.zeros(n - 1),
    ],
)
def test_what_is_no_score_is_refused_and_not_kept(lake: Lake, odd: Callable[[int], np.ndarray]) -> None:
    with pytest.raises(ModelError, match="scores that are not numbers"):
        kept_scores(lake, "m", "q", ["a", "bb"], lambda texts: odd(len(texts)))
    assert not lake.fs.exists(lake.root)


@pytest.mark.parametrize("contents", ["", "{", "[1]", '{"x": "0.5"}', '{"x": NaN}'])
def test_damage_is_a_miss(lake: Lake, contents: str) -> None:
    compute = Lengths()
    kept_scores(lake, "m", "q", ["a"], compute)
    (path,) = Path(lake.path(FOLDER)).rglob("*.json")
    path.write_text(contents.replace("x", next(iter(lake.read_json(str(path)) or {}))))
    np.testing.assert_array_equal(kept_scores(lake, "m", "q", ["a"], compute), _expected(["a"]))
    assert compute.seen == ["a", "a"]
