from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from openpyxl import load_workbook

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.labels import (
    ANNOTATORS,
    COLUMNS,
    adjudicate,
    items_of,
    read_labels,
    write_csv,
    write_xlsx,
)
from finrag_pipeline.schemas import HUMAN_LABELS
from finrag_pipeline_tests.evaluation.judged_builders import SOURCES, answer

ANSWER = answer("q1/0", ("Revenue was $1,577 million.", ("s1",)), ("=HYPERLINK(1) été", ("s2",)), theme="HR")
ITEMS = items_of([ANSWER], "veracity")
IDS = [item.item_id for item in ITEMS]


def test_sources_stand_beside_each_sentence():
    assert IDS == ["q1/0#0", "q1/0#1"]
    assert SOURCES["s1"] in ITEMS[0].sources and SOURCES["s2"] not in ITEMS[0].sources
    (whole,) = items_of([ANSWER], "relevance")
    assert (whole.item_id, whole.sentence, whole.sources) == ("q1/0", "", "")


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
    table = read_labels(path, [item.item_id for item in items])
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
