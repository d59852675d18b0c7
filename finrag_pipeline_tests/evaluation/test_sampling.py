from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from finrag_pipeline.evaluation.labels import stratified_sample
from finrag_pipeline.schemas import SAMPLE


def population(counts=(60, 30, 10)):
    rng = np.random.default_rng(0)
    themes = [name for name, count in zip("abc", counts, strict=True) for _ in range(count)]
    centres = rng.normal(size=(5, 8)) * 10
    vectors = centres[rng.integers(0, 5, len(themes))] + rng.normal(size=(len(themes), 8))
    return [f"item{i:03d}" for i in range(len(themes))], themes, vectors


def test_three_of_each_cluster_within_the_budget():
    items, themes, vectors = population()
    table = stratified_sample(items, themes, vectors, 36)
    assert table.schema == SAMPLE and table["item_id"].to_pylist() == items
    rows = table.to_pylist()
    assert all(row["stratum"].startswith(f"{row['theme']}/") for row in rows)
    drawn = [row for row in rows if row["sampled"]]
    assert 30 <= len(drawn) <= 36
    sizes = Counter(row["stratum"] for row in rows)
    per_stratum = Counter(row["stratum"] for row in drawn)
    assert all(per_stratum[name] == min(3, size) for name, size in sizes.items())
    for row in rows:
        expected = sizes[row["stratum"]] / per_stratum[row["stratum"]] if row["sampled"] else None
        assert row["weight"] == (pytest.approx(expected) if expected else None)
    assert sum(row["weight"] for row in drawn) == pytest.approx(100), "the labels stand for everything"
    shares = Counter(name.split("/")[0] for name in sizes)
    assert shares["a"] > shares["b"] > shares["c"] >= 1


def test_neither_order_nor_repetition_matters():
    items, themes, vectors = population()
    first = stratified_sample(items, themes, vectors, 30).to_pylist()
    back = stratified_sample(items[::-1], themes[::-1], vectors[::-1], 30).to_pylist()
    assert first == back[::-1]
    assert first != stratified_sample(items, themes, vectors, 30, seed=1).to_pylist()


def test_equal_vectors_are_one_cluster():
    table = stratified_sample(["x", "y", "z", "w"], ["a"] * 4, np.ones((4, 3)), 12)
    assert table["sampled"].to_pylist().count(True) == 3
    assert set(table["stratum"].to_pylist()) == {"a/0"}


def test_what_does_not_fit():
    items, themes, vectors = population()
    with pytest.raises(ValueError, match="fewer"):
        stratified_sample(items, themes, vectors, 8)
    with pytest.raises(ValueError, match="identifier"):
        stratified_sample(["x", "x"], ["a", "a"], np.ones((2, 2)), 6)
