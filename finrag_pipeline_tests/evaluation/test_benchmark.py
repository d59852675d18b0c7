from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.benchmark import (
    active_benchmark,
    assign_folds,
    get_benchmark,
    register_benchmark,
)
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table


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


def build(sizes: list[int]):
    rows = [
        question_row(f"q{document}-{number}", f"DOC{document}_10K", [0])
        for document, size in enumerate(sizes)
        for number in range(size)
    ]
    return questions_table(*rows)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=30), st.integers(1, 8), st.integers(0, 2**32))
def test_folds_are_disjoint_by_document_balanced_and_complete(sizes, folds, seed):
    questions = build(sizes)
    table = assign_folds(questions, folds, seed)
    assert table["question_id"] == questions["question_id"]
    folds_of = {}
    for row in table.to_pylist():
        folds_of.setdefault(row["filing"], set()).add(row["fold"])
    assert all(len(found) == 1 for found in folds_of.values())
    load = Counter(table["fold"].to_pylist())
    loads = [load[fold] for fold in range(folds)]
    assert set(load) <= set(range(folds))
    # Greedy balancing: no fold exceeds another by more than one document.
    assert max(loads) - min(loads) <= max(sizes)


@given(st.permutations(list(range(12))), st.integers(0, 100))
def test_folds_do_not_depend_on_the_order_of_rows(order, seed):
    questions = build([3, 1, 2, 1, 5])
    shuffled = questions.take(order)
    expected = {r["question_id"]: r["fold"] for r in assign_folds(questions, 3, seed).to_pylist()}
    assert {r["question_id"]: r["fold"] for r in assign_folds(shuffled, 3, seed).to_pylist()} == expected


def test_seeds_give_different_folds_and_one_seed_the_same():
    questions = build([1] * 40)
    folds = [assign_folds(questions, 5, seed)["fold"].to_pylist() for seed in (1, 1, 2)]
    assert folds[0] == folds[1] != folds[2]
    assert Counter(folds[2]) == dict.fromkeys(range(5), 8)


def test_excluded_questions_have_no_fold_and_few_documents_leave_folds_empty():
    questions = questions_table(
        question_row("a", "A_10K", [0]), question_row("b", "B_10K", [0], status="excluded", problem="why")
    )
    assert assign_folds(questions, 5, 0).to_pylist() == [{"question_id": "a", "filing": "A_10K", "fold": 0}]
    assert assign_folds(questions.slice(1), 5, 0).num_rows == 0
