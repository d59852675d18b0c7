"""Trees that LightGBM trained, as the arrays that the package ships."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lightgbm
import numpy as np

_KINDS = {
    "feature": np.uint8, "threshold": np.float32, "left": np.int8, "right": np.int8, "value": np.float32,
}  # fmt: skip


def tree_arrays(booster: lightgbm.Booster) -> dict[str, np.ndarray]:
    """The trees of a model in the form of `finrag_pipeline.statements.trees.probabilities`."""
    trees = [_tree(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    arrays = {}
    for name, kind in _KINDS.items():
        longest = max(len(tree[name]) for tree in trees)
        arrays[name] = np.array([tree[name] + [0] * (longest - len(tree[name])) for tree in trees], kind)
    return arrays


def _tree(root: Mapping[str, Any]) -> dict[str, list[float]]:
    tree: dict[str, list[float]] = {name: [] for name in _KINDS}

    def walk(node: Mapping[str, Any]) -> int:
        if "split_feature" not in node:
            tree["value"].append(node["leaf_value"])
            return -len(tree["value"])
        at = len(tree["feature"])
        tree["feature"].append(node["split_feature"])
        tree["threshold"].append(node["threshold"])
        tree["left"].append(0)
        tree["right"].append(0)
        tree["left"][at], tree["right"][at] = walk(node["left_child"]), walk(node["right_child"])
        return at

    walk(root)
    return tree
