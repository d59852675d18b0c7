from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.retrieval.fusion import reciprocal_rank_fusion


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
