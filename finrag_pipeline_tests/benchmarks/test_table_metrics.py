from __future__ import annotations

import json
from datetime import date
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.table_metrics import (
    Rates,
    adjacency_rates,
    adjacency_relations,
    detection_rates,
    intersections,
    ious,
    match_tables,
    normal_text,
    read_cell,
)
from finrag_pipeline.tables.model import Box, Cell
from finrag_pipeline_tests.console import REPOSITORY

GOLDEN = REPOSITORY / "finrag_pipeline_tests" / "golden"
LABELS = ("table_labels.jsonl", "table_labels_third_draw.jsonl")


def cell(row: int, column: int, text: str, row_span: int = 1, column_span: int = 1) -> Cell:
    return Cell(row, column, Box(0, 0, 1, 1), text, row_span, column_span)


def test_iou_by_hand():
    # Squares of side 10 shifted by 5 share 50 of 150; by (5, 5), 25 of 175; apart, nothing.
    square = Box(0, 0, 10, 10)
    others = [Box(0, 5, 10, 15), Box(5, 5, 15, 15), square, Box(10, 0, 20, 10), Box(30, 30, 40, 40)]
    assert intersections([square], others)[0] == pytest.approx([50, 25, 100, 0, 0])
    assert ious([square], others)[0] == pytest.approx([1 / 3, 1 / 7, 1, 0, 0])


def test_an_empty_box_overlaps_nothing():
    assert ious([Box(1, 1, 1, 1)], [Box(1, 1, 1, 1)])[0, 0] == 0
    assert ious([], [Box(0, 0, 1, 1)]).shape == (0, 1)


def test_one_detection_over_two_tables_finds_one_of_them_at_most():
    tables = [Box(0, 0, 10, 10), Box(0, 10, 10, 14)]
    merged = [Box(0, 0, 10, 14)]  # IoU 100/140 and 40/140
    found = match_tables(tables, merged, 0.5)
    assert found.found == (0, None)
    assert detection_rates(found) == Rates(labelled=2, detected=1, matched=1)
    assert detection_rates(match_tables(tables, merged, 0.75)) == Rates(2, 1, 0)


def test_the_threshold_itself_is_enough():
    assert match_tables([Box(0, 0, 10, 10)], [Box(0, 0, 10, 5)], 0.5).found == (0,)


def test_pairs_are_as_many_as_possible_even_where_the_best_single_pair_forbids_it():
    # The first detection fits both tables (0.8 and 0.6), the second only the first table (0.6).
    tables = [Box(0, 0, 10, 10), Box(0, 2, 10, 12)]
    detected = [Box(0, 1, 10, 11), Box(0, -2.5, 10, 7.5)]
    overlap = ious(tables, detected)
    assert overlap[0, 0] > overlap[0, 1] >= 0.5 and overlap[1, 0] >= 0.5 and overlap[1, 1] < 0.5
    assert match_tables(tables, detected, 0.5).found == (1, 0)


def test_a_detection_in_an_optional_region_counts_neither_way():
    optional = [Box(0, 50, 100, 100)]
    detected = [
        Box(0, 0, 10, 10),
        Box(0, 60, 100, 90),
        Box(0, 20, 100, 60),
    ]  # the last lies in it by a quarter
    matched = match_tables([Box(0, 0, 10, 10)], detected, 0.5, optional)
    assert matched.right == (True, None, False)
    assert detection_rates(matched) == Rates(labelled=1, detected=2, matched=1)


boxes = st.lists(
    st.tuples(*[st.integers(0, 6)] * 2, *[st.integers(1, 6)] * 2).map(
        lambda b: Box(b[0], b[1], b[0] + b[2], b[1] + b[3])
    ),
    max_size=4,
)


@given(boxes, boxes, st.sampled_from([0.1, 0.3, 0.5, 0.75]))
def test_the_matching_is_largest_one_to_one_and_symmetric(one, other, threshold):
    matched = match_tables(one, other, threshold)
    pairs = [place for place in matched.found if place is not None]
    assert len(pairs) == len(set(pairs)) == sum(bool(right) for right in matched.right)
    overlap = ious(one, other)
    assert all(
        overlap[row, place] >= threshold for row, place in enumerate(matched.found) if place is not None
    )
    short, long = (overlap, len(other)) if len(one) <= len(other) else (overlap.T, len(one))
    best = max(
        (sum(short[row, column] >= threshold for row, column in enumerate(order)) for order in permutations(range(long), len(short))),
        default=0,
    )  # fmt: skip
    assert len(pairs) == best
    assert sum(place is not None for place in match_tables(other, one, threshold).found) == best


def test_rates_by_hand():
    total = Rates(10, 8, 6) + Rates(2, 4, 0)
    assert (total.precision, total.recall, total.f1) == pytest.approx((0.5, 0.5, 0.5))
    assert Rates(10, 8, 6).f1 == pytest.approx(2 * 0.75 * 0.6 / (0.75 + 0.6))
    assert np.isnan(Rates().precision) and np.isnan(Rates().recall) and np.isnan(Rates().f1)
    assert Rates(3, 0, 0).recall == 0


def test_texts_are_compared_without_spaces_case_and_kinds_of_dash():
    assert normal_text(" Net\u00a0 Sales\n") == normal_text("NET SALES") == "netsales"
    assert normal_text("—") == normal_text("–") == "-"
    assert normal_text("(1,577)") != normal_text("1,577")


#        2015  2014
# Sales  10    (blank)
# Costs  4     3
TABLE = [cell(0, 1, "2015"), cell(0, 2, "2014"), cell(1, 0, "Sales"), cell(1, 1, "10"),
         cell(2, 0, "Costs"), cell(2, 1, "4"), cell(2, 2, "3")]  # fmt: skip


def test_relations_by_hand():
    assert adjacency_relations(TABLE) == {
        ("2015", "2014", "right"): 1,
        ("sales", "10", "right"): 1,
        ("costs", "4", "right"): 1,
        ("4", "3", "right"): 1,
        ("sales", "costs", "below"): 1,
        ("2015", "10", "below"): 1,
        ("10", "4", "below"): 1,
        ("2014", "3", "below"): 1,  # over the blank
    }


def test_blank_cells_are_as_if_they_were_not_there():
    assert adjacency_relations([*TABLE, cell(1, 2, "  "), cell(0, 0, "")]) == adjacency_relations(TABLE)


def test_a_spanning_cell_is_above_every_column_it_spans_and_related_once():
    spanning = [
        cell(0, 0, "Year", column_span=2),
        cell(1, 0, "A"),
        cell(1, 1, "B"),
        cell(0, 2, "X", row_span=2),
    ]
    assert adjacency_relations(spanning) == {
        ("year", "a", "below"): 1,
        ("year", "b", "below"): 1,
        ("a", "b", "right"): 1,
        ("year", "x", "right"): 1,
        ("b", "x", "right"): 1,
    }


def test_a_table_read_in_part_scores_by_hand():
    # The last column is lost, and the three relations with it.
    part = [one for one in TABLE if one.column < 2]
    rates = adjacency_rates([TABLE], [part])
    assert rates == Rates(labelled=8, detected=5, matched=5)
    # Two columns read as one: of sales-10, costs-43, sales-costs, 20152014-10, 10-43 two are right.
    merged = [
        cell(0, 1, "2015 2014"),
        cell(1, 0, "Sales"),
        cell(1, 1, "10"),
        cell(2, 0, "Costs"),
        cell(2, 1, "4 3"),
    ]
    assert adjacency_rates([TABLE], [merged]) == Rates(labelled=8, detected=5, matched=2)


def test_equal_relations_are_counted_as_often_as_they_occur():
    twice = [cell(0, 0, "1"), cell(0, 1, "1"), cell(0, 2, "1")]
    assert adjacency_rates([twice], [twice[:2]]) == Rates(2, 1, 1)
    assert adjacency_rates([twice[:2]], [twice]) == Rates(1, 2, 1)
    assert adjacency_rates([twice, TABLE], [TABLE, twice]).f1 == 1


LABEL = {
    "box": [100, 10, 120, 20], "printed": -12.5, "value": -12.5e6, "scale": 1e6, "unit": "currency",
    "period_end": "2015-12-26",
}  # fmt: skip


def page_cell(**changes):
    values = {
        "x0": 95.0, "y0": 9.0, "x1": 121.0, "y1": 21.0, "printed": -12.5, "value": -12.5e6, "scale": 1e6,
        "unit": "currency", "period_end": date(2015, 12, 26),
    }  # fmt: skip
    return values | changes


def test_a_cell_read_wholly():
    read = read_cell(LABEL, [page_cell(x0=0.0, x1=50.0), page_cell()])
    assert all(read.values())


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"printed": 12.5}, "printed"),
        ({"value": 12.5e6}, "value"),
        ({"value": -12.5e6 * (1 + 2e-9)}, "value"),
        ({"value": None}, "value"),
        ({"scale": 1e3}, "scale"),
        ({"unit": "percent"}, "unit"),
        ({"period_end": None}, "period_end"),
    ],
)
def test_each_error_is_told_apart(change, wrong):
    read = read_cell(LABEL, [page_cell(**change)])
    assert [name for name, right in read.items() if not right] == [wrong]


def test_a_value_off_by_less_than_the_tolerance_is_exact():
    assert read_cell(LABEL, [page_cell(value=-12.5e6 * (1 + 1e-10))])["value"]


def test_a_cell_that_nothing_covers_is_wrong_in_everything():
    for cells in ([], [page_cell(y0=30.0, y1=40.0)], [page_cell(x0=None, x1=None, y0=None, y1=None)]):
        read = read_cell(LABEL, cells)
        assert not any(read.values())
    assert read_cell(LABEL | {"period_end": None}, [])["period_end"] is None


def test_of_several_cells_over_the_centre_the_smallest_counts():
    whole_row = page_cell(x0=0.0, x1=400.0, value=7.0)
    assert read_cell(LABEL, [whole_row, page_cell()])["value"]
    assert not read_cell(LABEL, [whole_row])["value"]


def labelled_pages():
    texts = [(GOLDEN / name).read_text(encoding="utf-8") for name in LABELS]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_the_labels_are_of_enough_pages_and_filings():
    pages = labelled_pages()
    assert len({(page["filing"], page["page"]) for page in pages}) == len(pages) >= 60
    assert len({page["filing"] for page in pages}) >= 20


def test_the_labels_hold_numbers_only():
    words = {"currency", "currency/share", "shares", "percent", "count", None}
    for page in labelled_pages():
        assert set(page) == {"filing", "page", "width", "height", "tables", "optional", "cells"}
        for one in page["cells"]:
            assert one.pop("unit") in words
            end = one.pop("period_end")
            assert end is None or date.fromisoformat(end)
            assert set(one) == {"table", "row", "column", "box", "printed", "value", "scale"}
            assert all(isinstance(number, (int, float)) for name, number in one.items() if name != "box")


def test_the_labels_are_consistent():
    for page in labelled_pages():
        whole = Box(0, 0, page["width"], page["height"])
        tables = [Box(*box) for box in page["tables"]]
        for box in [*tables, *(Box(*box) for box in page["optional"])]:
            assert 0 <= box.x0 < box.x1 <= whole.x1 and 0 <= box.y0 < box.y1 <= whole.y1
        shared = intersections(tables, tables)
        assert not (shared - np.diag(np.diag(shared))).any(), "tables of a page do not overlap"
        for one in page["cells"]:
            box, table = Box(*one["box"]), tables[one["table"]]
            assert table.x0 <= box.x0 and box.x1 <= table.x1 and table.y0 <= box.y0 and box.y1 <= table.y1
            assert one["value"] == pytest.approx(one["printed"] * one["scale"], rel=1e-12)
