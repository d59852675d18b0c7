from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.labels import (
    ANNOTATORS,
    COLUMNS,
    adjudicate,
    draw_sample,
    filled_fingerprint,
    filled_sheets,
    items_of,
    read_labels,
    read_sheets,
    sampled_items,
    sheet_name,
    stratified_sample,
    write_csv,
    write_sheets,
    write_xlsx,
)
from finrag_pipeline.schemas import HUMAN_LABELS
from finrag_pipeline_tests.evaluation.judged_builders import SOURCES, answer


def population(counts=(60, 30, 10)):
    rng = np.random.default_rng(0)
    themes = [name for name, count in zip("abc", counts, strict=True) for _ in range(count)]
    centres = rng.normal(size=(5, 8)) * 10
    vectors = centres[rng.integers(0, 5, len(themes))] + rng.normal(size=(len(themes), 8))
    return [f"item{i:03d}" for i in range(len(themes))], themes, vectors


def test_three_of_each_cluster_within_the_budget():
    items, themes, vectors = population()
    rows = stratified_sample(items, themes, vectors, 36)
    assert [row["item_id"] for row in rows] == items
    assert all(row["stratum"].startswith(f"{row['theme']}/") for row in rows)
    drawn = [row for row in rows if row["sampled"]]
    assert 30 <= len(drawn) <= 36
    sizes = Counter(row["stratum"] for row in rows)
    per_stratum = Counter(row["stratum"] for row in drawn)
    assert all(per_stratum[name] == min(3, size) for name, size in sizes.items())
    for row in rows:
        expected = sizes[row["stratum"]] / per_stratum[row["stratum"]] if row["sampled"] else None
        assert row["weight"] == (pytest.approx(expected) if expected else None)
    assert sum(row["weight"] for row in drawn) == pytest.approx(100), "the labels stand for everything"
    shares = Counter(name.split("/")[0] for name in sizes)
    assert shares["a"] > shares["b"] > shares["c"] >= 1


def test_neither_order_nor_repetition_matters():
    items, themes, vectors = population()
    first = stratified_sample(items, themes, vectors, 30)
    back = stratified_sample(items[::-1], themes[::-1], vectors[::-1], 30)
    assert first == back[::-1]
    assert first != stratified_sample(items, themes, vectors, 30, seed=1)


def test_equal_vectors_are_one_cluster():
    rows = stratified_sample(["x", "y", "z", "w"], ["a"] * 4, np.ones((4, 3)), 12)
    assert [row["sampled"] for row in rows].count(True) == 3
    assert {row["stratum"] for row in rows} == {"a/0"}


ANSWER = answer("q1/0", ("Revenue was $1,577 million.", ("s1",)), ("=HYPERLINK(1) été", ("s2",)), theme="HR")
ITEMS = items_of([ANSWER], "veracity")
IDS = [item["item_id"] for item in ITEMS]


def test_sources_stand_beside_each_sentence():
    assert IDS == ["q1/0#0", "q1/0#1"]
    assert SOURCES["s1"] in ITEMS[0]["sources"] and SOURCES["s2"] not in ITEMS[0]["sources"]
    (whole,) = items_of([ANSWER], "relevance")
    assert (whole["item_id"], whole["sentence"], whole["sources"]) == ("q1/0", "", "")


def filled(path: Path, labels: dict[str, tuple], delimiter: str = ",") -> Path:
    """The CSV as it comes back with labels in it."""
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    head = rows[0]
    for row in rows[1:]:
        for who, label in enumerate(labels.get(row[0], ()), start=1):
            row[head.index(f"label_{who}")] = label
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    path.write_text(out.getvalue(), "utf-8")
    return path


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_out_and_in_as_csv(tmp_path, delimiter):
    path = tmp_path / "sheet.csv"
    write_csv(ITEMS, path)
    text = path.read_text("utf-8-sig")
    assert text.splitlines()[0] == ",".join((*COLUMNS, *ANNOTATORS))
    assert "'=HYPERLINK(1) été" in text, "no cell runs as a formula"
    table = read_labels(filled(path, {IDS[0]: ("1", "1"), IDS[1]: ("1", "0", "0")}, delimiter), IDS)
    assert table.schema == HUMAN_LABELS
    assert [(row["label"], row["state"]) for row in table.to_pylist()] == [(1, "agreed"), (0, "decided")]


def test_out_and_in_as_a_workbook(tmp_path):
    path = tmp_path / "sheet.xlsx"
    control = answer("q2/0", ("A\x0bB.", ("s1",)), sources={"s1": "x" * 40_000})
    items = [*ITEMS, *items_of([control], "veracity")]
    write_xlsx(items, "veracity", path, "fr")
    book = load_workbook(path)
    sheet = book["labels"]
    assert [cell.value for cell in sheet[1]] == [*COLUMNS, *ANNOTATORS]
    assert sheet["E3"].value == "=HYPERLINK(1) été" and sheet["E3"].data_type == "s"
    assert sheet["E4"].value == "A B." and len(sheet["F4"].value) == 32_000
    assert "déductible" in book["instructions"]["A1"].value
    assert {str(one.sqref) for one in sheet.data_validations.dataValidation} == {"G2:G4 I2:I4 K2:K4"}
    sheet["G2"], sheet["I2"], sheet["G3"] = 1, 1, 0
    book.save(path)
    table = read_labels(path, [item["item_id"] for item in items])
    assert [(row["label"], row["state"]) for row in table.to_pylist()] == [
        (1, "agreed"),
        (None, "one"),
        (None, "empty"),
    ]


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        ((1, 1, None), (1, "agreed")),
        ((1, 0, None), (None, "open")),
        ((1, 0, 1), (1, "decided")),
        ((1, None, None), (None, "one")),
        ((None, 0, None), (None, "one")),
        ((None, None, None), (None, "empty")),
    ],
)
def test_three_annotators(labels, outcome):
    assert adjudicate(*labels) == outcome


def test_a_sheet_that_was_spoilt(tmp_path):
    path = tmp_path / "sheet.csv"
    write_csv(ITEMS, path)
    with pytest.raises(UsageError, match="the label '2'"):
        read_labels(filled(path, {IDS[0]: ("2",)}), IDS)
    write_csv(ITEMS, path)
    with pytest.raises(UsageError, match="'q1/0#1' is on no sheet"):
        read_labels(path, IDS[:1])
    write_csv([*ITEMS, ITEMS[0]], path)
    with pytest.raises(UsageError, match="is there twice"):
        read_labels(path, IDS)
    path.write_text("item_id,label_1\n", "utf-8")
    with pytest.raises(UsageError, match="lacks a column"):
        read_labels(path, IDS)
    for name, content in (("a.xlsx", b"no zip"), ("b.csv", b"\xff\xfe\x00")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="cannot be read"):
            read_labels(tmp_path / name, IDS)
    with pytest.raises(UsageError, match="cannot be read"):
        read_labels(tmp_path / "nowhere.csv", IDS)


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
