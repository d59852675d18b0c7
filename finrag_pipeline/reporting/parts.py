"""What each part adds: chunkings, sizes and trainings of the page scorer, features of the page ranker."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.estimates import MetricIndex, metric_label, space_label, system_title
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    decimal_cell,
    make_grid,
    make_row,
    most_questions,
    number,
    system_cell,
    tag,
    text,
)
from finrag_pipeline.retrieval.page_stage import InsidePages
from finrag_pipeline.retrieval.second_stages import BestOfPage
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS, SYSTEMS, RetrievalSystem

_SERIES = ((Space.CORPUS, "doc_rec"), (Space.CORPUS, "page_rec"), (Space.FILING, "page_rec"))
_ALL_KINDS = "text, table rows and tables"
_TOP_FEATURES = 20


def ablation_grid(index: MetricIndex, k: int = CUTOFF) -> Grid:
    """System × chunking: document and page recall in the corpus, page recall inside the right filing.

    Args:
        index: measured means; variants that were not measured have no row.
        k: cut-off in chunks, or in pages for variants with one chunk per page.
    """
    rows = []
    varied = {variant.variant_of for variant in ABLATIONS.values() if _is_of_chunking(variant)}
    for name in (*index.systems, *index.ablations):
        system = ALL_SYSTEMS.get(name)
        if system is None or not index.ablations:
            continue
        if not (name in varied or _is_of_chunking(system)):
            continue
        base = SYSTEMS[system.variant_of or name]
        estimates = [index.find(name, space.value, metric, k) for space, metric in _SERIES]
        kinds = ", ".join(kind.replace("_", " ") for kind in system.kinds) if system.kinds else _ALL_KINDS
        cells = (
            system_title(base.name),
            system.chunking,
            kinds if system.chunking != "fixed" else "text",
            "page" if isinstance(system.collapse, BestOfPage) else "chunk",
            *estimates,
            most_questions(estimates),
        )
        rows.append(make_row(*cells, group=base.name, system=name))
    order = list(SYSTEMS)
    rows.sort(key=lambda row: order.index(row.group))
    columns = (
        text("System"),
        tag("Chunking"),
        text("Kinds"),
        text("Ranked unit"),
        *(number(f"{metric_label(m, k)}, {space_label(s.value)}") for s, m in _SERIES),
        number("n"),
    )
    empty = "No ablation was measured; run 'finrag run --ablations'."
    return make_grid("ablations", "Every system on every chunking", columns, rows, empty)


def _is_of_chunking(system: RetrievalSystem) -> bool:
    """Whether a system is a variant of another one in nothing but its chunks."""
    if system.variant_of is None:
        return False
    changed = {"name", "title", "source", "variant_of", "chunking", "kinds", "collapse"}
    base = SYSTEMS[system.variant_of]
    return all(
        getattr(system, field.name) == getattr(base, field.name)
        for field in fields(system)
        if field.name not in changed
    )


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
            *estimates,
            most_questions(estimates),
        )
        rows.append(make_row(*cells, system=system.name))
    columns = (
        text("Pages"),
        text("System"),
        *(number(metric_label(metric, k), space_label(space.value)) for space, metric in _SERIES),
        number("n"),
    )
    empty = (
        "The page scorer was not measured; train it with 'finrag train page_scorer', then run 'finrag run "
        "--systems page_scorer --systems page_scorer_p5 --systems page_scorer_p10'."
    )
    return make_grid("pages-ablation", "Page scorer by number of pages", columns, rows, empty)


def training_curves(table: pa.Table | None) -> dict[str, dict[str, list[Mapping[str, Any]]]]:
    """Epochs by policy of folds and training, for `plots.training_plot`.

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
            for kept in epochs:
                if not kept["chosen"]:
                    continue
                # The table of folds is that of the policy by document.
                size = sizes[fold] if policy == "document" and kept["tested_page_rec"] is not None else 0
                cells = (
                    fold,
                    policy,
                    kept["epoch"],
                    max(epoch["epoch"] for epoch in epochs),
                    decimal_cell(kept["page_rec"]),
                    decimal_cell(kept["mrr"]),
                    replace(decimal_cell(kept["tested_page_rec"]), small=f"n = {size}" if size else ""),
                )
                rows.append(make_row(*cells, group=policy))
    columns = (
        text("Training"),
        tag("Folds by"),
        number("Epoch kept"),
        number("Epochs"),
        number(metric_label("page_rec", CUTOFF), "validation"),
        number("MRR", "validation"),
        number(metric_label("page_rec", CUTOFF), "tested fold"),
    )
    empty = "No page scorer was trained; 'finrag train page_scorer' trains one per fold."
    return make_grid("trainings", "Trainings of the page scorer", columns, rows, empty)


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
        share = Cell(f"{mean:.3f}", f"{low:.3f}–{max(found):.3f}", sort=mean)
        rows.append((feature, share, len(found)))
    columns = (text("Feature"), number("Share of gain", "mean, range over trainings"), number("Trainings"))
    empty = "No page ranker was trained; 'finrag run --systems finrag' trains one per fold."
    return make_grid("features", "What the page ranker looks at", columns, rows, empty)
