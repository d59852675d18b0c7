"""Pre-training on clean rows: once, on rows without any overlap, drawn by the seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from finrag_pipeline.rankers.page_scorer.clean_rows import drawn_rows, read_clean_rows
from finrag_pipeline.rankers.page_scorer.model import load_card
from finrag_pipeline.rankers.reranker.pretraining import (
    pretrained_folder,
    pretraining_fingerprint,
    reranker_start,
)
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.page_scorer.test_clean_rows import finqa, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [finqa(f"F{n}/2010", page) for n in range(5) for page in range(4)]
    return write(tmp_path / "data", [*rows, finqa("X/2010", 1, fb_company="X")])


def test_rows_are_drawn_by_the_seed_with_the_pages_of_their_filings(folder: Path) -> None:
    clean = read_clean_rows(folder)
    assert drawn_rows(clean, None, 1) is clean and drawn_rows(clean, 99, 1) is clean
    drawn = drawn_rows(clean, 3, 1)
    assert len(drawn.rows) == 3 and drawn.rows == drawn_rows(clean, 3, 1).rows
    assert {row.filing for row in drawn.rows} == set(drawn.filing_of.values())
    assert len(drawn.pages) == 4 * len(set(drawn.filing_of.values()))
    assert drawn.rows != drawn_rows(clean, 3, 2).rows


def test_it_is_done_once_and_again_for_other_data(
    folder: Path, lake: Lake, training_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = training_settings.reranker_training.model_copy(
        update={"pretraining": str(folder), "pretraining_epochs": 1}
    )
    settings = training_settings.model_copy(update={"reranker_training": training})
    start = reranker_start(lake, settings)
    card = load_card(lake, pretrained_folder(pretraining_fingerprint(settings)))
    assert card and (card["questions"], card["pairs"], card["skipped"]["overlap"]) == (20, 16, 1)
    assert start == lake.local_path(*pretrained_folder(card["made_from"]))
    monkeypatch.setattr("finrag_pipeline.rankers.reranker.pretraining.fit_reranker", None)
    assert reranker_start(lake, settings) == start, "found, not made"
    fewer = training.model_copy(update={"pretraining_rows": 5})
    other = settings.model_copy(update={"reranker_training": fewer})
    assert pretraining_fingerprint(other) != pretraining_fingerprint(settings)
    assert reranker_start(lake, training_settings) == Path(settings.encoder.name), "without: the base"
