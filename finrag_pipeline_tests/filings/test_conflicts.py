"""Disagreements between pages, file name and document-information row; all companies are fictitious."""

from __future__ import annotations

import datetime as dt

import pytest

from finrag_pipeline.filings.forms import canonical_form
from finrag_pipeline.filings.identity import find_conflicts, merge_declared, same_company
from finrag_pipeline.filings.names import (
    DeclaredIdentity,
    FilingIdentity,
    declared_from_document_information,
    declared_from_name,
)

RETAIL = FilingIdentity("Harbor Beauty, Inc.", "10-K", 2022, None, dt.date(2023, 1, 28), "HRBY")
EVENT = FilingIdentity("Northwind Mills, Inc.", "8-K", 2022, None, dt.date(2022, 5, 18), None)
QUARTER = FilingIdentity("Northwind Mills, Inc.", "10-Q", 2023, 2, dt.date(2023, 6, 30), None)


@pytest.mark.parametrize(
    ("identity", "name", "sentences"),
    [
        (RETAIL, "HARBORBEAUTY_2022_10K", []),
        (
            RETAIL,
            "unrelated",
            ['the cover page says company "Harbor Beauty, Inc.", the file name says "unrelated"'],
        ),
        (RETAIL, "HRBY_2022", []),
        (RETAIL, "2022", []),
        (
            RETAIL,
            "HARBORBEAUTY_2023_10K",
            [
                "the filing reports on fiscal year 2022 (period end 2023-01-28), the file name says 2023, "
                "the calendar year of the period end"
            ],
        ),
        (
            RETAIL,
            "HARBORBEAUTY_2024_10K",
            [
                "the filing reports on fiscal year 2022 (period end 2023-01-28), the file name says 2024, "
                "the year after the period end"
            ],
        ),
        (
            QUARTER,
            "NORTHWINDMILLS_2023Q3_10K",
            [
                "the cover page says form 10-Q, the file name says 10-K",
                "the filing reports on fiscal quarter 2, the file name says 3",
            ],
        ),
        (EVENT, "NORTHWIND_2022_8K_dated-2022-05-20", []),
        (EVENT, "NORTHWIND_2022_8K_dated-2022-05-18", []),
        (
            EVENT,
            "NORTHWIND_2022_8K_dated-2022-05-17",
            ["the cover page dates the event 2022-05-18, the file name says 2022-05-17"],
        ),
        (
            EVENT,
            "NORTHWIND_2021_8K_dated-2022-07-20",
            [
                "the event of the 8-K is dated 2022-05-18, the file name says 2021",
                "the cover page dates the event 2022-05-18, the file name says 2022-07-20",
            ],
        ),
        (FilingIdentity(), "NORTHWIND_2021Q3_10Q", []),
        (
            FilingIdentity("Amberline", "EARNINGS", 2023, 4),
            "AMBERLINE_2023Q4_10K",
            ["the press release says form EARNINGS, the file name says 10-K"],
        ),
        (FilingIdentity("Amberline", "10-K/A", 2023), "AMBERLINE_2023_10K", []),
        (FilingIdentity("Amberline", "10-K405", 1999), "AMBERLINE_1999_10K", []),
    ],
)
def test_conflicts_with_the_file_name(identity: FilingIdentity, name: str, sentences: list[str]) -> None:
    assert find_conflicts(identity, declared_from_name(name)) == sentences


@pytest.mark.parametrize(
    ("printed", "declared"),
    [
        ("NORTHWIND MILLS, INC.", "northwind mills"),
        ("NORTHWIND MILLS, INC.", "NORTHWINDMILLS"),
        ("The Northwind Mills Company", "Northwind"),
        ("AMERICAN BEET SUGAR COMPANY", "ABS"),
        ("American Beet Sugar Company, Inc.", "ABSC"),
        ("THE AXS CORPORATION", "AXS"),
        ("BRIGHTWATER.COM, INC.", "Brightwater"),
        ("Brightwater & Brightwater", "BRIGHTWATER BRIGHTWATER"),
        ("H&R Corporation", "H R"),
        ("O'Malley's Foods Corporation", "OMALLEYS"),
        ("Bright-Water Stores, Inc.", "Brightwater"),
        ("HARBOR COLA CO", "Harbor-Cola"),
        ("Société Ambérieu S.A.", "Societe Amberieu"),
        ("LANTERN BLAZARD, INC.", "LANTERNBLAZRD"),
        ("ABELOMED, Inc.", "ABMD"),
        ("Lantern Ventures plc", "Lantern Ventures Holdings Limited"),
    ],
)
def test_spellings_of_one_company(printed: str, declared: str) -> None:
    assert same_company(printed, declared)
    assert same_company(declared, printed)


@pytest.mark.parametrize(
    ("printed", "declared"),
    [
        ("RECTANGLE, INC.", "Lump"),
        ("American Beet Sugar Company", "American Omnibus Lines"),
        ("Harbor Foods Inc.", "Harbor Power Inc."),
        ("Lanternsat Inc.", "Lantern"),
        ("Granite Looms of Arcadia", "Granite Wheels of Arcadia"),
    ],
)
def test_different_companies(printed: str, declared: str) -> None:
    assert not same_company(printed, declared)
    assert not same_company(declared, printed)


def test_a_trading_symbol_names_its_company() -> None:
    assert not same_company("Rectangle, Inc.", "XQ")
    assert same_company("Rectangle, Inc.", "XQ", ticker="XQ")


def test_a_name_without_letters_is_no_conflict() -> None:
    assert same_company("Rectangle, Inc.", "--")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("10k", "10-K"),
        ("10k_annualreport", "10-K"),
        ("10q", "10-Q"),
        ("8k", "8-K"),
        ("Earnings", "EARNINGS"),
        ("press release", "EARNINGS"),
        ("Form 10-K405", "10-K405"),
        ("10-Q/A", "10-Q/A"),
        ("8-Q", None),
        ("10kx", None),
        ("proxy", None),
        ("", None),
    ],
)
def test_canonical_forms(text: str, form: str | None) -> None:
    assert canonical_form(text) == form


def test_document_information_rows() -> None:
    row = {
        "company": "Harbor Foods",
        "gics_sector": "Consumer Staples",
        "doc_type": "10k",
        "doc_period": 2021,
    }
    assert declared_from_document_information(row) == DeclaredIdentity(
        company="Harbor Foods", form="10-K", fiscal_year=2021
    )
    quarterly = declared_from_document_information({"doc_type": "10q", "doc_period": "2023Q2"})
    assert (quarterly.form, quarterly.fiscal_year, quarterly.fiscal_quarter) == ("10-Q", 2023, 2)
    odd = {"company": None, "doc_type": 7, "doc_period": "soon"}
    assert (
        declared_from_document_information(odd)
        == declared_from_document_information({})
        == DeclaredIdentity()
    )


def test_merging_prefers_the_row_and_keeps_what_only_the_name_says() -> None:
    name = declared_from_name("HARBORFOODS_2023Q2_10Q")
    row = declared_from_document_information(
        {"company": "Harbor Foods", "doc_type": "10q", "doc_period": 2023}
    )
    merged, conflicts = merge_declared(name, row)
    assert conflicts == []
    assert merged == DeclaredIdentity("Harbor Foods", "10-Q", 2023, 2)
    filing = FilingIdentity("Rectangle, Inc.", "10-K", 2023, 3, dt.date(2023, 9, 30))
    assert find_conflicts(filing, merged) == [
        "the cover page says form 10-K, the file name and the document-information file say 10-Q",
        'the cover page says company "Rectangle, Inc.", '
        'the file name and the document-information file say "Harbor Foods"',
        "the filing reports on fiscal quarter 3, the file name says 2",
    ]


def test_conflicts_between_name_and_row() -> None:
    name = declared_from_name("RECTANGLE_2022_8K_dated-2022-11-22")
    row = declared_from_document_information({"company": "Lump", "doc_type": "10k", "doc_period": 2023})
    merged, conflicts = merge_declared(name, row)
    assert conflicts == [
        'the file name says company "RECTANGLE", the document-information file says "Lump"',
        "the file name says form 8-K, the document-information file says 10-K",
        "the file name says fiscal year 2022, the document-information file says 2023",
    ]
    assert merged == DeclaredIdentity("Lump", "10-K", 2023, None, dt.date(2022, 11, 22))


def test_without_a_row_the_name_stands() -> None:
    name = declared_from_name("RECTANGLE_2022_10K")
    assert merge_declared(name, None) == (name, [])
