"""What learned systems look at, how their training went, and what their sizes are worth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.estimates import MetricIndex, metric_label, space_label
from finrag_pipeline.reporting.grid import (
    Cell,
    Column,
    Grid,
    Row,
    estimate_cell,
    number_cell,
    share_cell,
    system_cell,
)
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS

_SERIES = ((Space.CORPUS, "doc_rec"), (Space.CORPUS, "page_rec"), (Space.FILING, "page_rec"))
_TOP_FEATURES = 20


def pages_grid(index: MetricIndex, k: int = CUTOFF) -> Grid:
    """The page scorer by the number of pages P that it hands on: document and page recall."""
    scorers = [
        (system, system.pages.pages)
        for system in ALL_SYSTEMS.values()
        if isinstance(system.pages, InsidePages)
    ]
    measured = {*index.systems, *index.ablations}
    rows = []
    for system, pages in sorted(scorers, key=lambda pair: pair[1]):
        if system.name not in measured:
            continue
        estimates = [index.find(system.name, space.value, metric, k) for space, metric in _SERIES]
        cells = (
            Cell(f"P = {pages}", sort=float(pages)),
            system_cell(system.name),
            *map(estimate_cell, estimates),
            number_cell(max((estimate.n for estimate in estimates if estimate), default=0)),
        )
        rows.append(Row(cells, system=system.name))
    columns = (
        Column("Pages"),
        Column("System"),
        *(Column(metric_label(metric, k), "number", space_label(space.value)) for space, metric in _SERIES),
        Column("n", "number"),
    )
    empty = (
        "The page scorer was not measured; train it with 'finrag train page_scorer', then run 'finrag run "
        "--systems page_scorer --systems page_scorer_p5 --systems page_scorer_p10'."
    )
    return Grid("pages-ablation", "Page scorer by number of pages", columns, tuple(rows), empty)


def training_curves(table: pa.Table | None) -> dict[str, dict[str, list[Mapping[str, Any]]]]:
    """Epochs by policy of folds and training, for `reporting.training_plot`.

    Args:
        table: ``page_scorer`` with a column ``fold``; None for none.
    """
    curves: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    rows: Sequence[Mapping[str, Any]] = table.to_pylist() if table is not None else []
    for row in sorted(rows, key=lambda row: (row["policy"], row["fold"], row["epoch"])):
        curves[row["policy"]][row["fold"]].append(row)
    return {policy: dict(found) for policy, found in curves.items()}


def training_grid(table: pa.Table | None, folds: pa.Table | None = None) -> Grid:
    """The chosen epoch of each training with its recall on validation and tested questions.

    Args:
        table: ``page_scorer`` with a column ``fold``; None for none.
        folds: as ``schemas.FOLDS``, for the number of questions in a fold; None for none.
    """
    sizes = Counter(f"fold_{fold}" for fold in folds["fold"].to_pylist()) if folds is not None else Counter()
    rows = []
    for policy, trainings in training_curves(table).items():
        for fold, epochs in trainings.items():
            for row in epochs:
                if not row["chosen"]:
                    continue
                # The table of folds is that of the policy by document.
                size = sizes[fold] if policy == "document" and row["tested_page_rec"] is not None else 0
                cells = (
                    Cell(fold),
                    Cell(policy),
                    number_cell(row["epoch"]),
                    number_cell(max(epoch["epoch"] for epoch in epochs)),
                    *(share_cell(row[name]) for name in ("page_rec", "mrr")),
                    replace(share_cell(row["tested_page_rec"]), small=f"n = {size}" if size else ""),
                )
                rows.append(Row(cells, policy))
    columns = (
        Column("Training"),
        Column("Folds by", "tag"),
        Column("Epoch kept", "number"),
        Column("Epochs", "number"),
        Column(metric_label("page_rec", CUTOFF), "number", "validation"),
        Column("MRR", "number", "validation"),
        Column(metric_label("page_rec", CUTOFF), "number", "tested fold"),
    )
    empty = "No page scorer was trained; 'finrag train page_scorer' trains one per fold."
    return Grid("trainings", "Trainings of the page scorer", columns, tuple(rows), empty)


def features_grid(table: pa.Table | None, top: int = _TOP_FEATURES) -> Grid:
    """Features of the page ranker by their share of the gain, mean and range over the trainings.

    Args:
        table: ``page_ranker`` with a column ``fold``; None for none.
        top: features shown.
    """
    gains: dict[str, list[float]] = defaultdict(list)
    for row in table.to_pylist() if table is not None else ():
        gains[row["feature"]].append(row["gain"])
    trainings = max(map(len, gains.values()), default=0)
    # A feature that a training did not use has no share there.
    means = {feature: sum(found) / trainings for feature, found in gains.items()}
    rows = []
    for feature, mean in sorted(means.items(), key=lambda item: -item[1])[:top]:
        found = gains[feature]
        low = min(found) if len(found) == trainings else 0.0
        cells = (
            Cell(feature),
            Cell(f"{mean:.3f}", f"{low:.3f}–{max(found):.3f}", sort=mean),
            number_cell(len(found)),
        )
        rows.append(Row(cells))
    columns = (
        Column("Feature"),
        Column("Share of gain", "number", "mean, range over trainings"),
        Column("Trainings", "number"),
    )
    empty = "No page ranker was trained; 'finrag run --systems finrag' trains one per fold."
    return Grid("features", "What the page ranker looks at", columns, tuple(rows), empty)
