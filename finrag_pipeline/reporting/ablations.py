"""What each chunking adds: every system on the fixed and on the context-aware chunks, kind by kind."""

from __future__ import annotations

from dataclasses import fields

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.estimates import MetricIndex, metric_label, space_label, system_title
from finrag_pipeline.reporting.grid import Cell, Column, Grid, Row, estimate_cell, number_cell
from finrag_pipeline.retrieval.second_stages import BestOfPage
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS, SYSTEMS, RetrievalSystem

_SERIES = ((Space.CORPUS, "doc_rec"), (Space.CORPUS, "page_rec"), (Space.FILING, "page_rec"))
_ALL_KINDS = "text, table rows and tables"


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
            Cell(system_title(base.name)),
            Cell(system.chunking),
            Cell(kinds if system.chunking != "fixed" else "text"),
            Cell("page" if isinstance(system.collapse, BestOfPage) else "chunk"),
            *map(estimate_cell, estimates),
            number_cell(max((estimate.n for estimate in estimates if estimate), default=0)),
        )
        rows.append(Row(cells, base.name, name))
    order = list(SYSTEMS)
    rows.sort(key=lambda row: order.index(row.group))
    columns = (
        Column("System"),
        Column("Chunking", "tag"),
        Column("Kinds"),
        Column("Ranked unit"),
        *(Column(f"{metric_label(m, k)}, {space_label(s.value)}", "number") for s, m in _SERIES),
        Column("n", "number"),
    )
    empty = "No ablation was measured; run 'finrag run --ablations'."
    return Grid("ablations", "Every system on every chunking", columns, tuple(rows), empty)


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
