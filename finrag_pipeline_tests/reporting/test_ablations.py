from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.reporting.grid import MetricIndex
from finrag_pipeline.reporting.tables import ablation_grid, headline_grid
from finrag_pipeline.schemas import SYSTEM_METRICS


def _metrics(*systems: str) -> pa.Table:
    rows = [
        {
            "system": system, "space": space, "slice": "all", "slice_value": "all", "metric": metric, "k": 5,
            "mean": 0.1 * number + (0.5 if space == "filing" else 0.0), "low": 0.0, "high": 1.0, "n": 150,
            "documents": 84,
        }
        for number, system in enumerate(systems)
        for space in ("corpus", "filing")
        for metric in ("doc_rec", "page_rec")
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SYSTEM_METRICS)


def test_each_variant_stands_under_its_system() -> None:
    grid = ablation_grid(
        MetricIndex(_metrics("bm25", "dense", "dense_contextual", "bm25_contextual_text_rows_pages"))
    )
    shown = [[cell.text for cell in row.cells] for row in grid.rows]
    assert [row[:4] for row in shown] == [
        ["BM25 (Okapi)", "fixed", "text", "chunk"],
        ["BM25 (Okapi)", "contextual", "text, table row", "page"],
        ["Dense", "fixed", "text", "chunk"],
        ["Dense", "contextual", "text, table rows and tables", "chunk"],
    ]
    assert [row[4] for row in shown] == ["0.000", "0.300", "0.100", "0.200"]
    assert [row[6] for row in shown] == ["0.500", "0.800", "0.600", "0.700"]
    assert {row[7] for row in shown} == {"150"}


def test_only_systems_whose_chunks_were_varied_have_rows() -> None:
    index = MetricIndex(
        _metrics("dense", "hyde", "finrag", "dense_pages", "multi_hyde_fused", "page_scorer_p5")
    )
    assert [row.system for row in ablation_grid(index).rows] == ["dense", "dense_pages"]


def test_ablations_do_not_stand_among_the_systems() -> None:
    index = MetricIndex(_metrics("bm25", "dense_contextual"))
    assert index.systems == ["bm25"]
    assert index.ablations == ["dense_contextual"]
    assert {row.system for row in headline_grid(index).rows} == {"bm25"}


def test_without_ablations_the_table_says_how_to_make_them() -> None:
    grid = ablation_grid(MetricIndex(_metrics("bm25", "dense")))
    assert not grid.rows and "finrag run --ablations" in grid.empty
    assert not ablation_grid(MetricIndex(SYSTEM_METRICS.empty_table())).rows
