from __future__ import annotations

from pathlib import Path

import pytest

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.benchmark import active_benchmark, get_benchmark, register_benchmark
from finrag_pipeline.storage.lake import Lake


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b'{"q": 1}\n')
    return path


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "x_document_information.jsonl"
    path.write_bytes(b'{"d": 1}\n')
    return path


def test_an_empty_lake(lake: Lake) -> None:
    assert active_benchmark(lake) is None
    with pytest.raises(BenchmarkError, match="holds no benchmark") as caught:
        get_benchmark(lake)
    assert "--source" in caught.value.remedy


def test_its_files_are_kept(lake: Lake, questions: Path, documents: Path) -> None:
    benchmark = register_benchmark(lake, "my bench: 2", ["b", "a"], questions, documents)
    questions.unlink()
    assert benchmark == active_benchmark(lake) == get_benchmark(lake)
    assert benchmark.filings == ("a", "b")
    assert lake.read_bytes(benchmark.questions) == b'{"q": 1}\n'
    assert benchmark.documents is not None
    assert lake.read_bytes(benchmark.documents) == b'{"d": 1}\n'


def test_the_hash_follows_both_files_and_nothing_else(lake: Lake, questions: Path, documents: Path) -> None:
    first = register_benchmark(lake, "one", ["a"], questions, documents).sha256
    assert register_benchmark(lake, "two", ["a", "b"], questions, documents).sha256 == first
    without = register_benchmark(lake, "one", ["a"], questions, None)
    assert without.documents is None
    questions.write_bytes(b'{"q": 2}\n')
    changed = register_benchmark(lake, "one", ["a"], questions, documents)
    assert len({first, without.sha256, changed.sha256}) == 3


def test_the_last_one_registered_is_measured(lake: Lake, questions: Path) -> None:
    register_benchmark(lake, "one", ["a"], questions, None)
    register_benchmark(lake, "two", ["b"], questions, None)
    assert get_benchmark(lake).name == "two"
    register_benchmark(lake, "one", ["a"], questions, None)
    assert get_benchmark(lake).filings == ("a",)


def test_a_file_that_cannot_be_read_leaves_the_measured_one(
    lake: Lake, questions: Path, tmp_path: Path
) -> None:
    register_benchmark(lake, "one", ["a"], questions, None)
    for paths in ((tmp_path / "no.jsonl", None), (questions, tmp_path / "no.jsonl"), (tmp_path, None)):
        with pytest.raises(BenchmarkError, match="cannot be read"):
            register_benchmark(lake, "two", ["b"], *paths)
    assert get_benchmark(lake).name == "one"


@pytest.mark.parametrize("contents", [b"", b"{", b"[]", b"{}", b'{"filings": ["a"]}'])
def test_a_damaged_record(lake: Lake, questions: Path, contents: bytes) -> None:
    register_benchmark(lake, "one", ["a"], questions, None)
    lake.write_bytes(lake.path("benchmarks", "one", "benchmark.json"), contents)
    for use in (get_benchmark, active_benchmark):
        with pytest.raises(BenchmarkError, match="record of benchmark 'one' is missing or damaged"):
            use(lake)
    assert register_benchmark(lake, "one", ["a"], questions, None).name == "one"


@pytest.mark.parametrize("contents", [b"", b"[]", b"{}", b'{"name": 7}'])
def test_a_damaged_note_of_the_active_one_counts_as_none(
    lake: Lake, questions: Path, contents: bytes
) -> None:
    register_benchmark(lake, "one", ["a"], questions, None)
    lake.write_bytes(lake.path("benchmarks", "active.json"), contents)
    assert active_benchmark(lake) is None
