import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.statements.arithmetic import Item, additive_sums, last_digit


@pytest.mark.parametrize(
    ("printed", "scale", "digit"),
    [("$ 1,577", 1e6, 1e6), ("(12.3)", 1e6, 1e5), ("0.95", 1.0, 0.01), ("—", 1e3, 1e3), ("5.", None, 1.0)],
)
def test_last_digit_says_how_exact_a_number_is_printed(printed: str, scale: float, digit: float) -> None:
    assert last_digit(printed, scale) == pytest.approx(digit)


def items(*values: float) -> list[Item]:
    return [Item(value, "currency", 0.5) for value in values]


def test_totals_of_totals_are_found() -> None:
    column = items(10, 20, 30, 5, 6, 11, 41)
    assert additive_sums(column, [False, False, True, False, False, True, True]) == {
        2: [0, 1], 5: [3, 4], 6: [2, 5],
    }  # fmt: skip


def test_rounding_is_allowed_and_more_is_not() -> None:
    assert additive_sums(items(10, 20, 31), [False, False, True]) == {2: [0, 1]}
    assert additive_sums(items(10, 20, 33), [False, False, True]) == {}


def test_numbers_of_another_unit_are_no_parts() -> None:
    column = [Item(10, "shares", 0.5), Item(20, "currency", 0.5), Item(30, "currency", 0.5)]
    assert additive_sums(column, [False, False, True]) == {}


def test_rows_without_number_are_passed_over() -> None:
    assert additive_sums([None, *items(1, 2), None, *items(3)], [False] * 4 + [True]) == {4: [1, 2]}


@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=12))
def test_the_sum_of_all_is_found(values: list[int]) -> None:
    column = [Item(float(value), "currency", 0.0) for value in (*values, sum(values))]
    parts = additive_sums(column, [False] * len(values) + [True])
    assert parts == {len(values): list(range(len(values)))}
