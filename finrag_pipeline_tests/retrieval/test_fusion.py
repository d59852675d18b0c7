from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.retrieval.fusion import reciprocal_rank_fusion, weighted_fusion


def test_golden_values_by_hand() -> None:
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["c", "a", "d"]])
    assert [item for item, _ in fused] == ["a", "c", "b", "d"]
    scores = dict(fused)
    assert scores["a"] == pytest.approx(1 / 61 + 1 / 62, abs=1e-15)  # 0.0325224...
    assert scores["a"] == pytest.approx(0.032522474881015335, abs=1e-15)
    assert scores["c"] == pytest.approx(1 / 63 + 1 / 61, abs=1e-15)
    assert scores["b"] == pytest.approx(0.016129032258064516, abs=1e-15)
    assert scores["d"] == pytest.approx(0.015873015873015872, abs=1e-15)


def test_ties_go_by_first_appearance() -> None:
    assert [item for item, _ in reciprocal_rank_fusion([["x", "y"], ["y", "x"]])] == ["x", "y"]
    assert [item for item, _ in reciprocal_rank_fusion([["y"], ["x"]])] == ["y", "x"]


def test_the_constant() -> None:
    assert reciprocal_rank_fusion([["a"]], k=1) == [("a", 0.5)]
    assert reciprocal_rank_fusion([["a"]], k=60) == [("a", 1 / 61)]


@pytest.mark.parametrize("rankings", [[], [[]], [[], []]])
def test_nothing(rankings: list[list[str]]) -> None:
    assert reciprocal_rank_fusion(rankings) == []


@given(st.lists(st.lists(st.integers(0, 20), unique=True, max_size=12), max_size=4), st.integers(1, 100))
def test_equals_exact_fractions(rankings: list[list[int]], k: int) -> None:
    exact: dict[int, Fraction] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            exact[item] = exact.get(item, Fraction(0)) + Fraction(1, k + rank)
    fused = reciprocal_rank_fusion(rankings, k)
    assert len(fused) == len(exact)
    for item, score in fused:
        assert score == pytest.approx(float(exact[item]), rel=1e-12)
    values = [exact[item] for item, _ in fused]
    assert all(float(one) >= float(other) * (1 - 1e-12) for one, other in pairwise(values))


class TestWeightedFusion:
    DENSE = [("a", 0.9), ("b", 0.7), ("c", 0.5)]  # noqa: RUF012
    SPARSE = [("c", 30.0), ("d", 20.0), ("a", 10.0)]  # noqa: RUF012

    def test_by_hand(self) -> None:
        """Dense in [0, 1]: a 1, b 0.5, c 0; sparse: c 1, d 0.5, a 0; the weight of dense is 0.6."""
        fused = dict(weighted_fusion(self.DENSE, self.SPARSE, 0.6))
        assert fused == pytest.approx({"a": 0.6, "b": 0.3, "c": 0.4, "d": 0.2})
        assert [item for item, _ in weighted_fusion(self.DENSE, self.SPARSE, 0.6)] == ["a", "c", "b", "d"]

    def test_the_ends_of_the_range_are_the_rankings_themselves(self) -> None:
        assert [item for item, _ in weighted_fusion(self.DENSE, self.SPARSE, 1.0)] == ["a", "b", "c", "d"]
        assert [item for item, _ in weighted_fusion(self.DENSE, self.SPARSE, 0.0)] == ["c", "d", "a", "b"]

    def test_equal_scores_all_count_fully(self) -> None:
        assert weighted_fusion([("a", 0.3), ("b", 0.3)], [], 0.5) == [("a", 0.5), ("b", 0.5)]
        assert weighted_fusion([], [], 0.5) == []

    @given(
        st.dictionaries(st.integers(0, 30), st.floats(-5, 5), max_size=12),
        st.dictionaries(st.integers(0, 30), st.floats(0, 90), max_size=12),
        st.floats(0, 1),
        st.floats(0.1, 50),
    )
    def test_scores_lie_in_the_unit_range_and_ignore_the_scale(
        self, dense: dict[int, float], sparse: dict[int, float], alpha: float, scale: float
    ) -> None:
        first, second = (sorted(scores.items(), key=lambda pair: -pair[1]) for scores in (dense, sparse))
        fused = weighted_fusion(first, second, alpha)
        assert {item for item, _ in fused} == set(dense) | set(sparse)
        assert all(-1e-9 <= score <= 1 + 1e-9 for _, score in fused)
        assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
        scaled = weighted_fusion([(item, score * scale + 3) for item, score in first], second, alpha)
        if len({round(score, 3) for score in dense.values()}) == len(dense):
            assert dict(scaled) == pytest.approx(dict(fused), abs=1e-3)
