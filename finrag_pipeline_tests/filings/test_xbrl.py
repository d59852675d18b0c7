"""What is read of inline XBRL: numbers in every format, periods, dimensions, units, the cover."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from finrag_pipeline.filings.html import parse
from finrag_pipeline.filings.xbrl import read_number, read_tags, tag_rows, tagged_identity
from finrag_pipeline_tests.filings.tagged import COVER, FOCUS, REVENUE, document, income, number


@pytest.mark.parametrize(
    ("printed", "format", "value"),
    [
        ("1,234.5", "ixt:num-dot-decimal", "1234.5"),
        ("1.234,5", "ixt:num-comma-decimal", "1234.5"),
        ("$ 12", "", "12"),
        ("—", "ixt:fixed-zero", "0"),
        ("no", "ixt-sec:numwordsen", "0"),
        ("Three", "ixt-sec:numwordsen", "3"),
        ("two hundred and twenty-one thousand", "ixt-sec:numwordsen", "221000"),
        ("several", "ixt-sec:numwordsen", None),
        ("n/a", "", None),
        ("1.2.3", "", None),
    ],
)
def test_numbers_of_the_transformation_registries(printed: str, format: str, value: str | None) -> None:
    assert read_number(printed, format) == (None if value is None else Decimal(value))


def test_a_tag_has_value_unit_period_and_members(tmp_path: Path) -> None:
    hidden = number("acme:Backlog", "now", "7")
    path = tmp_path / "acme.htm"
    path.write_bytes(document(COVER + income(), hidden + FOCUS))
    rows = [row for row in tag_rows(path) if row["taxonomy"] != "dei"]
    backlog, lamps, sales, *_ = rows
    assert (backlog["page"], backlog["period_kind"], backlog["period_end"]) == (
        None,
        "instant",
        dt.date(2024, 6, 30),
    )
    assert (sales["concept"], sales["value"], sales["scale"], sales["decimals"]) == (
        REVENUE[8:],
        110e6,
        1e6,
        -6,
    )
    assert (sales["unit"], sales["currency"], sales["measure"]) == ("currency", "USD", "iso4217:USD")
    assert (sales["period_start"], sales["page"], sales["members"]) == (dt.date(2024, 4, 1), 1, [])
    assert (lamps["axes"], lamps["members"]) == (["StatementBusinessSegmentsAxis"], ["DeskLampsMember"])
    loss = next(row for row in rows if row["sign"] == -1)
    assert (loss["value"], loss["printed"]) == (-4e6, "4")
    share = rows[-1]
    assert (share["value"], share["unit"], share["currency"]) == (1.52, "currency/share", "USD")
    anchors = [parse(path.read_bytes()).element(row["anchor"]) for row in rows]
    assert ["".join(element.itertext()) for element in anchors] == [row["printed"] for row in rows]


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ('<ix:nonFraction name="a:B" contextRef="now" unitRef="usd" scale="3">1,000</ix:nonFraction>', 1e6),
        (
            '<ix:nonFraction name="a:B" contextRef="now" unitRef="pure" scale="-2">12.5</ix:nonFraction>',
            0.125,
        ),
        ('<ix:nonFraction name="a:B" contextRef="now" unitRef="usd" xsi:nil="true"/>', None),
        (
            '<ix:nonFraction name="a:B" contextRef="now" unitRef="usd" scale="99999">1</ix:nonFraction>',
            None,
        ),
        (
            '<ix:nonFraction name="a:A" contextRef="now" unitRef="usd" scale="6">'
            '<ix:nonFraction name="a:B" contextRef="now" unitRef="usd" scale="6">4</ix:nonFraction>'
            "</ix:nonFraction>",
            4e6,
        ),
    ],
)
def test_scales_nil_and_nested_tags(tag: str, value: float | None) -> None:
    tags = read_tags(parse(document(f"<p>{tag}</p>")))
    assert [one.value for one in tags if one.name == "a:B"] == [value]
    assert [one.value for one in tags if one.name == "a:A"] in ([], [value])


def test_a_tag_of_no_time_is_left_out() -> None:
    assert read_tags(parse(document(f"<p>{number('a:B', 'nowhere', '4')}</p>"))) == []


def test_the_cover_tells_who_filed_what() -> None:
    found = tagged_identity(read_tags(parse(document(COVER, FOCUS))))
    assert found is not None
    assert (found.company, found.ticker, found.form) == ("Acme Lamps, Inc.", "ACML", "10-Q")
    assert (found.fiscal_year, found.fiscal_quarter, found.period_end) == (2024, 2, dt.date(2024, 6, 30))
    amended = FOCUS + '<ix:nonNumeric name="dei:AmendmentFlag" contextRef="ytd">true</ix:nonNumeric>'
    found = tagged_identity(read_tags(parse(document(COVER, amended))))
    assert found is not None and found.form == "10-Q/A"
    assert tagged_identity(read_tags(parse(b"<p>Form 10-Q</p>"))) is None
