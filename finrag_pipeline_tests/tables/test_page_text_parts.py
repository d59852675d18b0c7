from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.tables.page_text.arithmetic import equal_rows, sums_above
from finrag_pipeline.tables.page_text.columns import arrange
from finrag_pipeline.tables.page_text.labels import clues
from finrag_pipeline.tables.page_text.lines import Number, classify, read_lines
from finrag_pipeline.tables.page_text.rows import align, headings_by_context


def test_a_number_in_a_wrong_column_leaves_its_rows_out() -> None:
    values = np.array([[100, 200], [50, 70], [150, 270], [150, 300], [20, 30], [170, 999]], float) * 10
    total, broken = sums_above(values, 1.5)
    assert total.tolist() == [False, False, True, False, False, False]
    assert broken.tolist() == [False, False, False, True, True, True]


def test_text_set_word_by_word_is_put_together() -> None:
    (line,) = read_lines("Income\nbefore\nincome\ntaxes")
    assert (line.kind, line.text) == ("label", "Income before income taxes")
    kept = read_lines("Inventories\nGoodwill\nReceivables")
    assert [line.text for line in kept] == ["Inventories", "Goodwill", "Receivables"]
    (title,) = read_lines("Northwind\nMills\nConsolidated\nBalance\nSheets")
    assert title.text == "Northwind Mills Consolidated Balance Sheets"
    (period,) = read_lines("Fiscal\nYears\nEnded\nJanuary\n31,")
    assert period.kind == "period"


def test_wrapped_labels_are_one() -> None:
    lines = read_lines(
        "Other assets (net of allowance of $3\nand $4)\nGoodwill\nEffect of rates on cash and\nequivalents"
    )
    assert [line.text for line in lines] == [
        "Other assets (net of allowance of $3 and $4)",
        "Goodwill",
        "Effect of rates on cash and equivalents",
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2022", "year"),
        ("2022 2021", "year"),
        ("December 31,", "period"),
        ("Three months ended June 30,", "period"),
        ("January 28, 2017   January 30, 2016", "period"),
        ("(In millions, except per share data)", "units"),
        ("($ in thousands)", "units"),
        ("See accompanying notes.", "note"),
        ("Net sales", "label"),
        ("Net sales 1,500 1,400", "row"),
        ("Total, December 31, 2022 and 2021", "label"),
        ("23,601  $", "numbers"),
        ("$  3,665,743  $  3,743,567", "numbers"),
        ("(1,049.3)", "numbers"),
        ("2.5 % $", "numbers"),
        ("—", "numbers"),
        ("$", "sign"),
        ("31,", "label"),
    ],
)
def test_kinds_of_lines(text: str, kind: str) -> None:
    assert classify(text)[0] == kind


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$  3,665,743  $  (43,567)", [3665743, -43567]),
        ("(0.25) 1.5 %", [-0.25, 1.5]),
        ("— 7", [0, 7]),
        ("N/A 12.5", [None, 12.5]),
        ("-3,100 .5", [-3100, 0.5]),
    ],
)
def test_values_of_numbers(text: str, values: list[float | None]) -> None:
    assert [number.value for number in classify(text)[1]] == values


@given(st.lists(st.integers(-(10**9), 10**9).filter(lambda n: abs(n) > 2100), min_size=1, max_size=6))
def test_numbers_read_as_they_were_printed(values: list[int]) -> None:
    text = "  ".join(f"({-value:,})" if value < 0 else f"{value:,}" for value in values)
    kind, numbers = classify(text)
    assert kind == "numbers"
    assert [number.value for number in numbers] == values


def test_headings_are_known_by_their_words_and_by_what_follows() -> None:
    assert clues("Current assets:").skip < clues("Inventories").skip < clues("Total assets").skip
    labels = ["Cost of sales", "Products", "Services", "Total cost of sales", "Earnings per share", "Basic"]
    assert headings_by_context(labels).tolist() == [True, False, False, False, True, False]


def test_equal_totals_are_found() -> None:
    assert equal_rows(np.array([[1, 2], [90, 80], [5, 5], [90, 80]], float)) == (1, 3)
    assert equal_rows(np.array([[90, 80], [80, 90]], float)) == (None, None)
    assert equal_rows(np.zeros((2, 2))) == (None, None)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 5), st.integers(1, 12), st.integers(0, 10**6))
def test_full_columns_one_after_another_are_arranged_as_they_came(columns: int, rows: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = 10 ** generator.uniform(1, 6, rows)
    numbers = [
        Number("", float(round(size[row] * generator.uniform(0.9, 1.1))), 0, False, line, column)
        for line, (column, row) in enumerate(
            (column, row) for column in range(columns) for row in range(rows)
        )
    ]
    found = arrange(numbers, columns)
    assert found is not None
    assert sorted(found.index.ravel().tolist()) == list(range(rows * columns))
    if rows > 1:  # columns stand in blocks of their own
        assert found.index.tolist() == np.arange(rows * columns).reshape(columns, rows).T.tolist()
    assert arrange([*numbers, numbers[0]], columns) is None


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(0, 6), st.data())
def test_an_alignment_gives_each_label_once_and_in_order(rows: int, more: int, data: st.DataObject) -> None:
    words = data.draw(
        st.lists(
            st.sampled_from(["Total assets", "Inventories", "Revenues:", "Net income", "Basic", "Goodwill"]),
            min_size=rows + more,
            max_size=rows + more,
        )
    )
    labels = read_lines("\n\n".join(words))
    numbers = [
        [Number(str(value), float(value), 0, False, row, row) for value in data.draw(_PAIR)]
        for row in range(rows)
    ]
    found = align(labels, numbers)
    assert found is not None
    used = [label for label in found.label.tolist() if label >= 0]
    assert used == sorted(set(used))
    assert all(label < len(labels) for label in used)
    assert (found.margin >= -1e-6).all()


_PAIR = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))
