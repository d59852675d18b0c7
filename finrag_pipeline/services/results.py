"""Results of the active benchmark: metrics, and rankings for other evaluators."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.chunking.registry import get_chunking
from finrag_pipeline.errors import LakeError, UsageError, refused
from finrag_pipeline.evaluation.retrieval_metrics import find_gold_chunks
from finrag_pipeline.evaluation.summary import SLICES
from finrag_pipeline.evaluation.trec import export_qrels, export_run
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import lake_views


def metrics_table(lake: Lake, by: str | None) -> pa.Table:
    """Rows of ``system_metrics``: all slices, or only those of ``by`` (and the slice 'all').

    Raises:
        UsageError: there is no such slice.
        LakeError: nothing was measured yet.
    """
    if by is not None and by not in SLICES:
        raise UsageError(f"There is no slice '{by}'.", f"Choose one of: {', '.join(SLICES[1:])}.")
    wanted = [by, "all"] if by else list(SLICES)
    with lake_views(lake) as query:
        table = query("FROM system_metrics WHERE list_contains($slices, slice)", {"slices": wanted})
    if not table.num_rows:
        raise LakeError(
            f"Nothing was measured yet in {lake.root}.", "Run 'finrag run' with a source that has questions."
        )
    return table


def write_trec(
    lake: Lake, system: str, space: str, level: Literal["chunk", "page"], cut: int | None, folder: Path
) -> tuple[Path, Path]:
    """Write a system's run and the qrels in TREC format; returns both paths.

    Raises:
        UsageError: unknown system or space, or a folder that cannot be written to.
        LakeError: the system has no run.
    """
    chosen = get_system(system)
    if space not in [s.value for s in Space]:
        raise UsageError(
            f"There is no space '{space}'.", f"Choose one of: {', '.join(s.value for s in Space)}."
        )
    runs = lake.read_all("retrieval_runs", only={"system": [system]})
    runs = runs.filter(pc.equal(runs["space"], space))
    if not runs.num_rows:
        raise LakeError(
            f"The lake holds no run of {system} in {space}.", f"Run it: finrag run --systems {system}."
        )
    questions = lake.read("benchmark_questions")
    gold = set(questions["filing"].to_pylist())
    table = get_chunking(chosen.chunking).table
    chunks = lake.read_all(table, ["chunk_id", "filing", "page"], only={"filing": gold})
    run_path = folder / f"{system}.{space}.{level}.run"
    qrels_path = folder / f"{level}.qrels"
    qrels = export_qrels(questions, level, find_gold_chunks(questions, chunks))
    with refused(UsageError, f"{folder} cannot be written to", "Choose another folder with --to."):
        folder.mkdir(parents=True, exist_ok=True)
        run_path.write_text(export_run(runs, level, cut), encoding="utf-8")
        qrels_path.write_text(qrels, encoding="utf-8")
    return run_path, qrels_path
