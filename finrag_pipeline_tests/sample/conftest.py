from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.sample.generate import write_sample


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("sample") / "corpus")


@pytest.fixture(scope="session")
def questions(sample: Path) -> list[dict[str, Any]]:
    return read_lines(sample / "questions.jsonl")


@pytest.fixture(scope="session")
def page_texts(sample: Path) -> dict[str, list[str]]:
    """Text of the pages of every filing, as a plain PyMuPDF call or the page-text file gives it."""
    import pymupdf

    texts: dict[str, list[str]] = {}
    for path in (sample / "pdfs").iterdir():
        with pymupdf.open(path) as pdf:
            texts[path.stem] = [page.get_text("text") for page in pdf]
    for path in (sample / "page_text").iterdir():
        texts[path.stem] = [row["text"] for row in read_lines(path)]
    return texts


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
