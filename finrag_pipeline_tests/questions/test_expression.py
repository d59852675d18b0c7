import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.questions.expression import (
    FUNCTIONS,
    At,
    Binary,
    Call,
    Expression,
    ExpressionError,
    Name,
    Negative,
    Number,
    names_in,
    parse_expression,
    print_expression,
)
from finrag_pipeline.statements.periods import FiscalPeriod

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True) | st.sampled_from(
    ["Film library", "goodwill, net"]
)
PERIODS = st.one_of(
    st.builds(FiscalPeriod, st.integers(1990, 2040), st.none() | st.integers(1, 4)),
    st.sampled_from([FiscalPeriod(2021, 2, 6), FiscalPeriod(2021, 3, 9)]),
    st.builds(
        FiscalPeriod,
        st.none(),
        st.none(),
        st.none() | st.sampled_from([3, 6, 12]),
        st.dates(dt.date(1990, 1, 1)),
    ),
)
LEAVES = st.one_of(
    st.decimals(0, 10**9, places=3).map(lambda value: Number(abs(value))),
    NAMES.map(Name),
)


def _call(parts: list[Expression]) -> st.SearchStrategy[Expression]:
    fitting = [
        name
        for name, (least, most) in FUNCTIONS.items()
        if least <= len(parts) and (most is None or len(parts) <= most)
    ]
    return st.sampled_from(sorted(fitting)).map(lambda name: Call(name, tuple(parts)))


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from("+-*/"), inner, inner),
        st.builds(Negative, inner),
        st.builds(lambda of, period: At(of, period), inner, PERIODS),
        st.builds(lambda of, offset: At(of, None, offset), inner, st.integers(-9, 9)),
        st.lists(inner, min_size=1, max_size=3).flatmap(_call),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_what_is_printed_is_read_back(expression: Expression) -> None:
    assert parse_expression(print_expression(expression)) == expression


@given(st.text(max_size=60))
def test_any_text_is_a_formula_or_an_error(text: str) -> None:
    try:
        parse_expression(text)
    except ExpressionError as error:
        assert str(error)


def test_brackets_stand_only_where_they_change_the_meaning() -> None:
    text = "a / (b - c - (d - e)) * 2"
    assert print_expression(parse_expression("((a) / ((b - c) - (d - e))) * (2)")) == text
    assert print_expression(parse_expression("(a + b)@2019Q2 + c@-1")) == "(a + b)@2019Q2 + c@-1"


def test_the_leaves() -> None:
    assert parse_expression("365") == Number(Decimal(365))
    assert parse_expression("x@2021-06-30M6") == At(
        Name("x"), FiscalPeriod(None, None, 6, dt.date(2021, 6, 30))
    )
    assert parse_expression('"Film library"') == Name("Film library")
    assert list(names_in(parse_expression("first(a, b - avg(a))"))) == ["a", "b", "a"]


@pytest.mark.parametrize(
    "text", ["", "a +", "(a", "nosuch(a)", "avg(a, b)", "a b", "mean()", "1.2.3", "a@20"]
)
def test_no_formulas(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_expression(text)


def test_a_period_moves_by_years() -> None:
    assert FiscalPeriod(2021, 2).shift(-1) == FiscalPeriod(2020, 2)
    assert FiscalPeriod(end=dt.date(2020, 2, 29)).shift(-1).end == dt.date(2019, 2, 28)
    assert FiscalPeriod(2021).label == "FY2021"
    assert FiscalPeriod(2021, 3, 9).label == "9 months of FY2021"
