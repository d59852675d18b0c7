"""Registrants and trading symbols read from covers; all companies are fictitious."""

from __future__ import annotations

import pytest

from finrag_pipeline.filings.cover_company import without_image_name
from finrag_pipeline.filings.identity import read_identity
from finrag_pipeline_tests.filings.covers import LABEL, MAST, SECURITIES, annual


@pytest.mark.parametrize(
    ("above_label", "company"),
    [
        ("NORTHWIND\nMILLS, INC.", "NORTHWIND MILLS, INC."),
        ("AMBERLINE\nPLC", "AMBERLINE PLC"),
        ("----\nHARBOR FOODS INC.", "HARBOR FOODS INC."),
        ("________________\nHarbor Foods Inc .", "Harbor Foods Inc."),
        ("Brightwater & Brightwater", "Brightwater & Brightwater"),
        ("7Q COMPANY", "7Q COMPANY"),
        ("BRIGHTWATER.COM, INC.", "BRIGHTWATER.COM, INC."),
        ("1-800-LANTERN.COM, INC.", "1-800-LANTERN.COM, INC."),
        ("Prairie Telephone and Data Company", "Prairie Telephone and Data Company"),
        ("A M B E R  P O W E R", "AMBER POWER"),
        ("HARBOR R ESORTS I NTERNATIONAL", "HARBOR RESORTS INTERNATIONAL"),
        ("J P LANTERN & CO.", "J P LANTERN & CO."),
        ("Northwind Mills, Inc.\n(a Delaware corporation)", "Northwind Mills, Inc."),
    ],
)
def test_companies_above_their_label(above_label: str, company: str) -> None:
    body = "We own resorts in many places and serve international guests. A lantern lights the mill."
    assert read_identity([annual(name=above_label), body]).company == company


@pytest.mark.parametrize(
    "label",
    [
        "(Exact name of registrant as specified in charter)",
        "(Exact Name of Registrant as Specified in Its Charter)",
        "(Exact\nname\nof registrant as specified in its charter)",
        "(Name of registrant as specified in its charter)",
        "(Exact name of the Company as specified in its charter)",
        "(Exact name of small business issuer as specified in its charter)",
        "(Exact name of registrants as specified in their respective charters)",
        "(Exact name of registrant as it appears in its charter)",
    ],
)
def test_variants_of_the_label(label: str) -> None:
    page = annual().replace(LABEL, label)
    assert read_identity([page]).company == "NORTHWIND MILLS, INC."


def test_company_behind_its_label_and_in_a_table_of_registrants() -> None:
    behind = annual(name="").replace("in its charter)", "in its charter: Harbor Foods Inc.")
    assert read_identity([behind]).company == "Harbor Foods Inc."
    table = (
        f"{MAST}FORM 10-K\nFor the fiscal year ended December 31, 2020\nCommission\nFile Number\n"
        "Exact Name of Registrant\nas specified in its charter\nState of\nIncorporation\nIRS Employer\n"
        "Identification Number\n1-12609\nHARBOR POWER CORPORATION\nCalifornia\n94-3234914\n"
        "1-2348\nHARBOR GAS COMPANY\nCalifornia\n94-0742640\n"
    )
    assert read_identity([table]).company == "HARBOR POWER CORPORATION"


def test_company_without_a_label_or_shown_as_an_image() -> None:
    unlabelled = annual(name="HARBOR CORPORATION").replace(f"{LABEL}\n", "")
    assert read_identity([unlabelled]).company == "HARBOR CORPORATION"
    image = annual(name="")
    assert read_identity([image]).company is None
    assert (
        read_identity([image, "THE HARBOR COMPANY AND SUBSIDIARIES\nTable of Contents"]).company
        == "THE HARBOR COMPANY"
    )
    defined = 'In this report, the terms "Company" and "we" mean The Harbor Company and all it owns.'
    assert read_identity([image, defined]).company == "The Harbor Company"


SECTION = "Securities registered pursuant to Section 12(b) of the Act:"
SYMBOL_LAYOUTS = {
    "rows": SECURITIES,
    "symbol before its head": f"""{SECTION}
Class B Common Stock
NWMI
New York Stock Exchange
(Title of each class)
(Trading symbol)
(Name of each exchange)
""",
    "columns": f"""{SECTION}
Title of each class
Common Stock
Notes due 2030
Trading Symbols
NWMI
NWMI30
Name of each exchange
New York Stock Exchange
""",
    "one line": f"{SECTION} Title of each class Trading Symbol(s) Name of exchange Depositary "
    "Shares, Series DD The New York Stock Exchange Common Stock, par value "
    "$0.01 per share NWMI The Nasdaq Stock Market LLC\n",
    "run together": f"{SECTION}Title of Each ClassTrading Symbol(s)Name of Each ExchangeCommon "
    "Stock, par value $0.01 per shareNWMINew York Stock ExchangeCorporate UnitsNWMUNew York Stock Exchange",
}


@pytest.mark.parametrize("layout", SYMBOL_LAYOUTS)
def test_trading_symbols(layout: str) -> None:
    assert read_identity([annual().replace(SECURITIES, SYMBOL_LAYOUTS[layout])]).ticker == "NWMI"


def test_the_table_of_securities_may_run_on_and_may_hold_no_symbol() -> None:
    assert read_identity([annual().replace(SECURITIES, ""), SECURITIES]).ticker == "NWMI"
    old = SECURITIES.replace("Trading Symbol(s)\n", "").replace("NWMI30\n", "").replace("NWMI\n", "")
    assert read_identity([annual().replace(SECURITIES, old)]).ticker is None
    single = SECURITIES.replace("NWMI30\n", "").replace("NWMI\n", "N\n")
    assert read_identity([annual().replace(SECURITIES, single)]).ticker == "N"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("x4471 Alder Inc.", "Alder Inc."),
        ("Alder Wordmark.gif ALDER INC.", "ALDER INC."),
        ("THE ALDER-BIRCH COMPANY", "THE ALDER-BIRCH COMPANY"),
        ("ALDER BIRCH COMPANY", "ALDER BIRCH COMPANY"),
        ("Never Repeated Corp", "Never Repeated Corp"),
    ],
)
def test_the_name_of_a_picture_is_no_part_of_the_company(name: str, told: str) -> None:
    pages = [
        "Alder Inc.\nand subsidiaries",
        "The Alder-Birch Company is another. Repeated Corporation is none.",
    ]
    assert without_image_name(name, pages) == told
