"""What the tests of models learned fold by fold share: a small benchmark, and folds that are moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from finrag_pipeline.evaluation.benchmark import register_benchmark
from finrag_pipeline.orchestration.partitions import FOLD_COUNT
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline, opened


@contextmanager
def small_benchmark(settings: Settings, folder: Path) -> Iterator[Pipeline]:
    """Indexed filings with questions and folds, in the lake of ``settings``: a lake of the test's own.

    Args:
        settings: of the pipeline.
        folder: where filings and questions are written.
    """
    source = small_filings.small_benchmark(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINRAG_LAKE", settings.lake)
        patch.setenv("DAGSTER_HOME", str(Path(settings.lake) / "dagster_home"))
        with opened(settings) as pipeline:
            names = list(small_filings.COMPANIES)
            for name in names:
                assert pipeline.index(pipeline.accept(source / "pdfs" / f"{name}.pdf")).success
            register_benchmark(pipeline.lake, "small", names, source / "questions.jsonl", None)
            assert pipeline.run("prepare_benchmark").success
            yield pipeline


def fold_with_questions(pipeline: Pipeline) -> int:
    """A fold that tests questions; the others of the small benchmark may test none."""
    return int(pipeline.lake.read("folds")["fold"][0].as_py())


@contextmanager
def other_folds(lake: Lake) -> Iterator[None]:
    """While it lasts every question is tested in the next fold, whatever has been learned from it."""
    before, info = lake.read("folds"), lake.info("folds")
    assert info is not None
    moved = [(value + 1) % FOLD_COUNT for value in before["fold"].to_pylist()]
    other = before.set_column(2, before.schema.field("fold"), pa.array(moved, pa.int32()))
    try:
        lake.write("folds", other, "other")
        yield
    finally:
        lake.write("folds", before, info.fingerprint)
