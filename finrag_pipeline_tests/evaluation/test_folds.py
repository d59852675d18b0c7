from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.benchmark import assign_folds
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table


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


def test_no_folds_is_an_error():
    with pytest.raises(UsageError):
        assign_folds(build([1]), 0, 0)
