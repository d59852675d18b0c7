from __future__ import annotations

import numpy as np
import pytest
from openpyxl import load_workbook

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.labels import (
    draw_sample,
    filled_fingerprint,
    filled_sheets,
    read_sheets,
    sampled_items,
    sheet_name,
    write_sheets,
)
from finrag_pipeline_tests.evaluation.judged_builders import answer
from finrag_pipeline_tests.evaluation.test_annotation import filled

ANSWERS = [
    answer(
        f"q{number}/0",
        (f"Revenue was ${number} million.", ("s1",)),
        ("It employs 1,200 people.", ("s2",)),
        theme="ab"[number % 2],
        system="prompt on dense",
    )
    for number in range(12)
]


def embed(texts):
    return np.array([[len(text), sum(map(ord, text)) % 7] for text in texts], dtype=float)


def sample(budget=12, criterion="veracity", answers=ANSWERS):
    return draw_sample(answers, criterion, embed, budget)


def test_each_criterion_has_its_items_and_stays_within_the_budget():
    veracity, relevance = sample(), sample(criterion="relevance")
    assert (veracity.num_rows, relevance.num_rows) == (24, 12)
    for table, criterion in ((veracity, "veracity"), (relevance, "relevance")):
        assert 6 <= len(sampled_items(table)) <= 12
        assert set(table["criterion"].to_pylist()) == {criterion}
        assert set(table["system"].to_pylist()) == {"prompt on dense"}
    assert sample().equals(veracity), "the same sample every time"
    assert sample(answers=[]).num_rows == 0


def test_a_budget_that_is_too_small_says_how_much_is_needed():
    with pytest.raises(UsageError, match="2 types of questions") as caught:
        sample(budget=5)
    assert "FINRAG_JUDGE__BUDGET to 6" in caught.value.remedy


def test_sheets_are_written_once(tmp_path):
    table = sample()
    (book,) = write_sheets(tmp_path, table, ANSWERS)
    assert book.name == "prompt_on_dense.veracity.xlsx" == f"{sheet_name('prompt on dense', 'veracity')}.xlsx"
    assert load_workbook(book)["labels"].max_row == len(sampled_items(table)) + 1
    before = book.read_bytes()
    write_sheets(tmp_path, table, ANSWERS)
    assert book.read_bytes() == before and not (tmp_path / "earlier").exists()


def test_a_sheet_that_somebody_has_begun_is_kept_when_another_sample_is_drawn(tmp_path):
    table = sample()
    write_sheets(tmp_path, table, ANSWERS)
    path = tmp_path / "prompt_on_dense.veracity.csv"
    filled(path, {sampled_items(table)[0]: ("1",)})
    begun = path.read_bytes()
    for _ in range(2):
        write_sheets(tmp_path, sample(budget=9), ANSWERS)
    kept = list((tmp_path / "earlier").iterdir())
    assert [one.name for one in kept] == ["prompt_on_dense.veracity-1.csv"], "the empty workbook is no loss"
    assert kept[0].read_bytes() == begun and path.read_bytes() != begun


def test_sheets_that_came_back(tmp_path):
    table = sample()
    items = sampled_items(table)
    write_sheets(tmp_path, table, ANSWERS)
    assert filled_sheets(tmp_path) == [] and filled_sheets(tmp_path / "nowhere") == []
    nothing = filled_fingerprint(tmp_path)
    source = tmp_path / "prompt_on_dense.veracity.csv"
    for name, labels in (("a.csv", ("1", "1")), ("b.csv", ("0",)), ("c.csv", ("yes",)), ("~$a.csv", ("1",))):
        copy = tmp_path / "filled" / name
        copy.write_bytes(source.read_bytes())
        filled(copy, {items[0]: labels})
    assert [path.name for path in filled_sheets(tmp_path)] == ["a.csv", "b.csv", "c.csv"]
    assert filled_fingerprint(tmp_path) != nothing
    found, problems = read_sheets(filled_sheets(tmp_path), items)
    assert found.num_rows == len(items) and set(found["sheet"].to_pylist()) == {"a.csv"}
    assert "a.csv as well" in problems["b.csv"] and "Keep one" in problems["b.csv"]
    assert "neither 0 nor 1" in problems["c.csv"] and "Mend the row." in problems["c.csv"]
    changed, problems = read_sheets(filled_sheets(tmp_path)[:1], items[1:])
    assert changed.num_rows == 0 and "written anew" in problems["a.csv"]
