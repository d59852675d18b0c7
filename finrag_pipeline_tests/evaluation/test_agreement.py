from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from finrag_pipeline.evaluation.intervals import agreement


def test_worked_by_hand():
    # Ten answers: 4 yes-yes, 3 no-no, 2 yes-no, 1 no-yes. Means .6 and .5: chance .3 + .2.
    first = ["yes"] * 6 + ["no"] * 4
    second = ["yes"] * 4 + ["no"] * 2 + ["yes"] + ["no"] * 3
    found = agreement(first, second)
    assert (found.n, found.observed, found.chance) == pytest.approx((10, 0.7, 0.5))
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_interval.low < 0.4 < found.kappa_interval.high


labels = st.sampled_from(["correct", "incorrect", "refusal"])


@given(st.lists(st.tuples(labels, labels), min_size=2, max_size=40))
def test_kappa_is_that_of_scikit_learn(pairs):
    first, second = (list(column) for column in zip(*pairs, strict=True))
    found = agreement(first, second, draws=10)
    if len(set(first) | set(second)) > 1 and found.chance < 1 - 1e-9:
        assert found.kappa == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert found.observed == pytest.approx(np.mean([a == b for a, b in pairs]))


def test_one_label_has_no_kappa():
    found = agreement([1, 1, 1], [1, 1, 1])
    assert found.observed == found.chance == 1
    assert math.isnan(found.kappa) and math.isnan(found.kappa_interval.low)


def test_whole_questions_are_resampled():
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 30)
    first = np.repeat(rng.integers(0, 2, 30), 20)
    second = np.where(np.repeat(right, 20) == 1, first, 1 - first)
    question = np.repeat(np.arange(30), 20).tolist()
    alone = agreement(first.tolist(), second.tolist())
    together = agreement(first.tolist(), second.tolist(), question)
    wide, narrow = together.observed_interval, alone.observed_interval
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    single = agreement([1, 0], [1, 1], ["a", "a"])
    assert single.observed == 0.5 and math.isnan(single.observed_interval.low)


def test_nothing_to_compare():
    with pytest.raises(ValueError, match="compared"):
        agreement([], [])
    with pytest.raises(ValueError, match="compared"):
        agreement([1], [1, 0])
