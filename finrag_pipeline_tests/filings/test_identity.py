"""Identity read from covers and headlines; all companies are fictitious."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.filings.identity import FilingIdentity, read_identity

MAST = "UNITED STATES\nSECURITIES AND EXCHANGE COMMISSION\nWashington, D.C. 20549\n"
BELOW = (
    "(Exact name of registrant as specified in its charter)\nDelaware\n12-3456789\n"
    "(State or other jurisdiction of incorporation)\n(I.R.S. Employer Identification No.)\n"
    "1 Mill Road, Springfield\n(Address of principal executive offices)\n01101\n(Zip Code)\n"
)
SECURITIES = (
    "Securities registered pursuant to Section 12(b) of the Act:\nTitle of each class\nTrading Symbol(s)\n"
    "Name of each exchange on which registered\nCommon Stock, par value $0.01 per share\nNWMI\n"
    "New York Stock Exchange\n1.250% Notes due 2030\nNWMI30\nNew York Stock Exchange\n"
    "Securities registered pursuant to Section 12(g) of the Act: None\n"
)


def annual(
    ended: str = "December 31, 2018",
    name: str = "NORTHWIND MILLS, INC.",
    form: str = "FORM 10-K",
    phrase: str = "For the fiscal year ended",
) -> str:
    return (
        f"{MAST}{form}\n(Mark One)\n☒\nANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT "
        f"OF 1934\n{phrase} {ended}\nOR\n☐\nTRANSITION REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES "
        "EXCHANGE ACT OF 1934\nFor the transition period from             to\nCommission file number 1-3285\n"
        f"{name}\n{BELOW}{SECURITIES}"
        "The aggregate market value held by non-affiliates was $5 billion as of June 29, 2018.\n"
    )


def quarterly(ended: str, name: str = "NORTHWIND MILLS, INC.") -> str:
    return (
        f"{MAST}FORM 10-Q\n☒ QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934\n"
        f"For the quarterly period ended {ended}\nor\n☐ TRANSITION REPORT PURSUANT TO SECTION 13 OR 15(d)\n"
        f"For the transition period from ____ to ____\nCommission File Number: 001-00442\n{name}\n{BELOW}{SECURITIES}"
    )


def current(dated: str, name: str = "Northwind Mills, Inc.") -> str:
    return (
        f"{MAST}FORM 8-K\nCURRENT REPORT\nPursuant to Section 13 or 15(d) of the Securities Exchange Act of 1934\n"
        f"{dated}\n{name}\n(Exact name of registrant as specified in its charter)\nDelaware\n1-10299\n12-3456789\n"
        "(State or other jurisdiction\nof incorporation)\n(Commission\nFile Number)\n(IRS Employer\nIdentification No.)\n"
        "Check the appropriate box below if the Form 8-K filing is intended to simultaneously satisfy the filing\n"
    )


def test_a_plain_annual_cover() -> None:
    assert read_identity([annual(), "PART I\nItem 1. Business"]) == FilingIdentity(
        company="NORTHWIND MILLS, INC.",
        form="10-K",
        fiscal_year=2018,
        fiscal_quarter=None,
        period_end=dt.date(2018, 12, 31),
        ticker="NWMI",
    )


def letter_spaced(text: str) -> str:
    return "\n".join(" ".join(re.sub(r"\s+", "  ", line)) for line in text.splitlines())


LAYOUTS: dict[str, Callable[[str], str]] = {
    "a word per line": lambda text: "\n".join(text.split()),
    "one line": lambda text: " ".join(text.split()),
    "lines run together": lambda text: text.replace("\n", ""),
    "letters set apart": letter_spaced,
    "upper case": str.upper,
    "no commas": lambda text: text.replace(",", ""),
    "non-breaking blanks and hyphens": lambda text: text.replace(" ", "\u00a0").replace("-", "\u2011"),
    "wide blanks": lambda text: text.replace(" ", "   "),
    "soft hyphens": lambda text: text.replace("gistrant", "gis\u00adtrant").replace("fiscal", "fis\u00adcal"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_an_annual_cover(layout: str) -> None:
    found = read_identity([LAYOUTS[layout](annual("January 28, 2023"))])
    assert (found.form, found.period_end) == ("10-K", dt.date(2023, 1, 28))
    assert found.company is not None
    assert re.sub(r"\W", "", found.company).casefold() == "northwindmillsinc"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_a_quarterly_cover_and_its_tables(layout: str) -> None:
    pages = [
        quarterly("July 1, 2023"),
        "Statements of Income\nThree Months Ended  Six Months Ended\nJuly 1, 2023\n",
    ]
    found = read_identity([LAYOUTS[layout](page) for page in pages])
    assert (found.form, found.fiscal_year, found.fiscal_quarter) == ("10-Q", 2023, 2)
    assert found.period_end == dt.date(2023, 7, 1)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "no commas"])
def test_layouts_of_a_current_report(layout: str) -> None:
    page = current("Date of Report (Date of earliest event\nreported): July 1, 2022 (June 30,\n2022)")
    found = read_identity([LAYOUTS[layout](page)])
    assert (found.form, found.fiscal_year, found.period_end) == ("8-K", 2022, dt.date(2022, 6, 30))
    assert found.fiscal_quarter is None


@pytest.mark.parametrize(
    ("heading", "form"),
    [
        ("FORM 10-K", "10-K"),
        ("Form 10-K", "10-K"),
        ("F O R M  1 0 - K", "10-K"),
        ("FORM 10‑K", "10-K"),
        ("FORM 10K", "10-K"),
        ("FORM\n10-K", "10-K"),
        ("FORM 10-K405", "10-K405"),
        ("FORM 10-KT", "10-KT"),
        ("FORM 10-K\nTHE ANNUAL REPORT", "10-K"),
        ("FORM 10-K/A\n(Amendment No. 1)", "10-K/A"),
        ("FORM 20-F", "20-F"),
        ("FORM 40-F", "40-F"),
        ("FORM 10-Q", "10-Q"),
        ("FORM 8-K", "8-K"),
        ("FORM 8-K/A", "8-K/A"),
        ("FORM 6-K", "6-K"),
    ],
)
def test_forms(heading: str, form: str) -> None:
    assert read_identity([annual(form=heading)]).form == form


@pytest.mark.parametrize(
    ("printed", "day"),
    [
        ("December 31, 2018", dt.date(2018, 12, 31)),
        ("December 31 2018", dt.date(2018, 12, 31)),
        ("December 31 , 2018", dt.date(2018, 12, 31)),
        ("Dec. 31, 2018", dt.date(2018, 12, 31)),
        ("Sept. 29, 2018", dt.date(2018, 9, 29)),
        ("September, 29, 2018", dt.date(2018, 9, 29)),
        ("31 December 2018", dt.date(2018, 12, 31)),
        ("the 31st day of December, 2018", dt.date(2018, 12, 31)),
        ("12/31/2018", dt.date(2018, 12, 31)),
        ("2018-12-31", dt.date(2018, 12, 31)),
        ("May 31,\n2018", dt.date(2018, 5, 31)),
        (":  February 2, 2019", dt.date(2019, 2, 2)),
        ("December 31, 2018.", dt.date(2018, 12, 31)),
        ("January 1 2 0 1 9", dt.date(2019, 1, 1)),
        ("February 30, 2018", None),
        ("____________", None),
    ],
)
def test_dates_of_the_period_end(printed: str, day: dt.date | None) -> None:
    assert read_identity([annual(printed)]).period_end == day


@pytest.mark.parametrize(
    "phrase",
    [
        "For the Fiscal Year Ended",
        "For fiscal year ended",
        "For the year ended",
        "for the fiscal years ending",
    ],
)
def test_phrases_of_the_annual_period(phrase: str) -> None:
    assert read_identity([annual("June 30, 2020", phrase=phrase)]).period_end == dt.date(2020, 6, 30)


def test_the_date_may_stand_beside_another_column_or_before_its_words() -> None:
    beside = quarterly("Commission file\nMarch 31, 2021\nnumber 1-5805")
    assert read_identity([beside]).period_end == dt.date(2021, 3, 31)
    before = annual("").replace("For the fiscal year ended", "May 31, 2019\nFor the fiscal year ended")
    assert read_identity([before]).period_end == dt.date(2019, 5, 31)


def test_a_transition_report_ends_with_its_transition_period() -> None:
    page = annual("", form="FORM 10-KT").replace(
        "For the transition period from             to",
        "For the transition period from July 1, 2017 to December 31, 2017",
    )
    found = read_identity([page])
    assert (found.form, found.period_end) == ("10-KT", dt.date(2017, 12, 31))


@pytest.mark.parametrize(
    ("dated", "day"),
    [
        ("Date of Report (Date of earliest event reported): May 3, 2023", dt.date(2023, 5, 3)),
        (
            "Date of report (Date of earliest event reported):\nAugust 19, 2022 (August 16, 2022)",
            dt.date(2022, 8, 16),
        ),
        (
            "May 20, 2022 (May 18, 2022)\nDate of Report (Date of earliest event reported)",
            dt.date(2022, 5, 18),
        ),
        ("October 2, 2024\n(Date of earliest event reported)", dt.date(2024, 10, 2)),
        ("Date of Report: October 31, 2024", dt.date(2024, 10, 31)),
        ("Date of Report (Date of earliest event reported)", None),
    ],
)
def test_event_dates(dated: str, day: dt.date | None) -> None:
    found = read_identity([current(dated)])
    assert (found.form, found.period_end) == ("8-K", day)
    assert found.fiscal_year == (day.year if day else None)


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
    page = annual().replace("(Exact name of registrant as specified in its charter)", label)
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
    unlabelled = annual(name="HARBOR CORPORATION").replace(
        "(Exact name of registrant as specified in its charter)\n", ""
    )
    assert read_identity([unlabelled]).company == "HARBOR CORPORATION"
    image = annual(name="")
    assert read_identity([image]).company is None
    assert (
        read_identity([image, "THE HARBOR COMPANY AND SUBSIDIARIES\nTable of Contents"]).company
        == "THE HARBOR COMPANY"
    )
    defined = 'In this report, the terms "Company," "we" and "our" mean The Harbor Company and all entities it owns.'
    assert read_identity([image, defined]).company == "The Harbor Company"


def test_the_cover_may_stand_behind_a_report_to_shareholders() -> None:
    front = ["Northwind Annual Report\n2012", "", "Dear shareholders, our form 10-K follows.\n" * 3] + [
        "Letter"
    ] * 30
    assert read_identity([*front, annual("March 31, 2012")]) == read_identity([annual("March 31, 2012")])


def test_a_cover_whose_heading_is_an_image() -> None:
    face = f"Commission file number: 000-17363\nHARBOR FOODS, INC.\n{BELOW}".replace("Exact name", "Name")
    body = (
        "This Annual Report on Form 10-K contains statements. "
        + "Year ended December 31, 2019: sales rose. " * 2
    )
    found = read_identity([face, body + "In the year ended December 31, 2018 they fell. " * 2])
    assert (found.company, found.form) == ("HARBOR FOODS, INC.", "10-K")
    assert (found.fiscal_year, found.period_end) == (2019, dt.date(2019, 12, 31))


@pytest.mark.parametrize(
    ("ended", "words", "year"),
    [
        # Sentences that tie the name of a year to its last day decide.
        ("January 28, 2023", 'Our fiscal year ended January 28, 2023 ("fiscal 2022") had 52 weeks.', 2022),
        (
            "January 28, 2023",
            "fiscal year ended January, 28, 2023 (fiscal 2022) and fiscal 2023, fiscal 2023",
            2022,
        ),
        ("January 31, 2018", 'the fiscal years ended January 31, 2018 ("fiscal 2018 ")', 2018),
        ("January 28, 2023", "Fiscal 2022 was a 52-week year that ended on January 28, 2023.", 2022),
        ("March 31, 2023", 'the year ended March 31, 2023 ("fiscal 2022")', 2022),
        # A sentence on another year of the same company tells how it names its years.
        ("February 1, 2025", "fiscal 2023 ended on February 3, 2024", 2024),
        # Else the years it talks about.
        (
            "January 28, 2023",
            "In fiscal 2022 sales rose. Fiscal 2022 was good. Fiscal 2021 less so. Fiscal 2023?",
            2022,
        ),
        (
            "January 28, 2017",
            "In fiscal 2017 we grew. At the end of fiscal 2017. In fiscal 2016. In fiscal 2016.",
            2017,
        ),
        ("January 1, 2023", "In fiscal 2022 sales rose.", 2022),
        # Else the calendar.
        ("January 1, 2023", "Sales rose.", 2022),
        ("January 3, 2016", "Sales rose.", 2015),
        ("January 31, 2018", "Sales rose.", 2018),
        ("June 30, 2020", "Outlook for fiscal 2021 and fiscal 2021. In fiscal 2019 and fiscal 2019.", 2020),
        ("December 31, 2022", 'the fiscal year ended January 1, 2022 ("fiscal 2021")', 2022),
        ("December 31, 2022", "Guidance for fiscal 2023 given in the year ended December 31, 2022.", 2022),
    ],
)
def test_names_of_fiscal_years(ended: str, words: str, year: int) -> None:
    assert read_identity([annual(ended), words]).fiscal_year == year


@pytest.mark.parametrize(
    ("ended", "words", "quarter", "year"),
    [
        ("March 31, 2021", "Three months ended March 31, 2021 2020", 1, 2021),
        ("June 30, 2023", "Three months ended June 30,  Six months ended June 30,\n2023 2022", 2, 2023),
        ("September 30, 2023", "the three and nine months ended September 30, 2023", 3, 2023),
        ("September 30, 2023", "three- and nine-month periods ended September 30, 2023", 3, 2023),
        # Twelve months up to the date of a quarterly report are no fiscal year.
        ("June 30, 2023", "Six months ended June 30, 2023. Twelve months ended June 30, 2023", 2, 2023),
        # Fiscal years that do not end in December.
        ("December 31, 2022", "Three and six months ended December 31, 2022", 2, 2023),
        ("December 31, 2022", "Three months ended December 31, 2022", 1, 2023),
        ("July 29, 2023", "26 Weeks Ended July 29, 2023. The second quarter of fiscal 2024", 2, 2024),
        (
            "July 29, 2023",
            "twenty-six weeks ended July 29, 2023. fiscal 2023, fiscal 2023, fiscal 2022",
            2,
            2023,
        ),
        ("July 2, 2023", "Three Months Ended  Six Months Ended\nJuly 2, 2023 July 3, 2022", 2, 2023),
        ("March 25, 2023", "12 Weeks Ended\n3/25/2023 3/19/2022", 1, 2023),
        ("September 9, 2023", "36 weeks ended September 9, 2023", 3, 2023),
        # The last annual report tells how far the year has run.
        ("June 30, 2023", "our Annual Report on Form 10-K for the year ended December 31, 2022", 2, 2023),
        (
            "October 31, 2023",
            "the Annual Report on Form 10-K for the fiscal year ended July 31, 2023",
            1,
            2024,
        ),
        (
            "September 30, 2023",
            "In the third quarter sales rose. The third quarter. The second quarter.",
            3,
            2023,
        ),
        ("June 30, 2023", "Sales rose.", None, None),
        ("June 30, 2023", "Nine months ended September 30, 2022", None, None),
    ],
)
def test_quarters(ended: str, words: str, quarter: int | None, year: int | None) -> None:
    found = read_identity([quarterly(ended), words])
    assert (found.fiscal_quarter, found.fiscal_year) == (quarter, year)


SYMBOL_LAYOUTS = {
    "rows": SECURITIES,
    "symbol before its head": "Securities registered pursuant to Section 12(b) of the Act:\nClass B Common Stock\nNWMI\n"
    "New York Stock Exchange\n(Title of each class)\n(Trading symbol)\n(Name of each exchange)\n",
    "columns": "Securities registered pursuant to Section 12(b) of the Act:\nTitle of each class\nCommon Stock\n"
    "Notes due 2030\nTrading Symbols\nNWMI\nNWMI30\nName of each exchange\nNew York Stock Exchange\n",
    "one line": "Securities registered pursuant to Section 12(b) of the Act: Title of each class Trading Symbol(s) Name "
    "of exchange Common Stock, par value $0.01 per share NWMI The Nasdaq Stock Market LLC\n",
    "run together": "Securities registered pursuant to Section 12(b) of the Act:Title of Each ClassTrading Symbol(s)Name "
    "of Each ExchangeCommon Stock, par value $0.01 per shareNWMINew York Stock ExchangeUnitsNWMUNew York Stock Exchange",
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


RELEASES = {
    "listed name behind a dateline": (
        "Harbor Foods Reports First-Quarter 2023 Results; Raises Guidance\nNet revenue growth\n10.2%\n"
        "SPRINGFIELD, N.Y. - April 25, 2023 - Harbor Foods, Inc. (NASDAQ: HRBF) today reported results for\n"
        "the first quarter 2023.\nSee our Quarterly Report on Form 10-Q.\n12 Weeks Ended\n3/25/2023\n3/19/2022\n",
        FilingIdentity("Harbor Foods, Inc.", "EARNINGS", 2023, 1, dt.date(2023, 3, 25), "HRBF"),
    ),
    "year before the quarter": (
        "FOR IMMEDIATE RELEASE\n• 2022 Fourth-Quarter reported sales decline of 4.4%\nNew Springfield, N.J. (January 24, "
        "2023) – Harbor & Harbor (NYSE: HRB) today announced results for fourth-quarter and full-year 2022.\n"
        "Annual Report on Form 10-K for the fiscal year ended January 2, 2022\nFourth Quarter\nJan 1, 2023\nGAAP\n",
        FilingIdentity("Harbor & Harbor", "EARNINGS", 2022, 4, dt.date(2023, 1, 1), "HRB"),
    ),
    "retail year": (
        "March 9, 2023\nHarbor Beauty Announces Fourth Quarter\nFiscal 2022 Results\nSPRINGFIELD, Ill.--(BUSINESS WIRE)-- "
        "Harbor Beauty, Inc. (NASDAQ: HRBY) today\nannounced financial results for the thirteen-week period (“fourth "
        "quarter”) and fifty-two-week\nperiod (“fiscal year”) ended January 28, 2023 compared to the same periods ended "
        "January\n29, 2022.\n13 Weeks Ended\nJanuary\n28,\nJanuary\n29,\n",
        FilingIdentity("Harbor Beauty, Inc.", "EARNINGS", 2022, 4, dt.date(2023, 1, 28), "HRBY"),
    ),
    "no quarter named": (
        "Amberline reports fiscal 2023 results and provides outlook for fiscal 2024\nJune 2023 quarter:\nTwelve Months "
        "Ended June 30, 2022\nTwelve Months Ended June 30, 2023\nFor the twelve-month period ending June 30, 2024, the "
        "Company expects growth.\nNYSE: AMBL; ASX: AMB\n",
        FilingIdentity("Amberline", "EARNINGS", 2023, 4, dt.date(2023, 6, 30), "AMBL"),
    ),
    "exhibit with an upper-case headline": (
        "Page 1 of 15\nExhibit 99.1\nHARBOR RESORTS INTERNATIONAL REPORTS FOURTH QUARTER AND\nFULL YEAR 2022 FINANCIAL AND "
        "OPERATING RESULTS\nSpringfield, Nevada, February 8, 2023 – Harbor Resorts International (NYSE: HRI) (“Harbor”\n"
        "or the “Company”) today reported financial results for the quarter and year ended December 31, 2022.\n",
        FilingIdentity("Harbor Resorts International", "EARNINGS", 2022, 4, dt.date(2022, 12, 31), "HRI"),
    ),
    "no listing": (
        "Brightwater Corporation Announces Second Quarter Results\nSPRINGFIELD, May 3, 2024 -- Brightwater Corporation "
        "today announced earnings for the quarter ended March 31, 2024.\nSix Months Ended March 31, 2024\nOur business "
        "serves many customers in many places, and has done so for many years.\n",
        FilingIdentity("Brightwater Corporation", "EARNINGS", 2024, 2, dt.date(2024, 3, 31), None),
    ),
}


@pytest.mark.parametrize("release", RELEASES)
def test_earnings_releases(release: str) -> None:
    text, expected = RELEASES[release]
    assert read_identity([text]) == expected
    # A title page or an empty page may stand before the release.
    assert read_identity(["", "Investor News", text]) == expected


def test_an_earnings_release_behind_the_cover_of_a_current_report_is_one() -> None:
    cover = current("Date of Report (Date of earliest event reported): April 25, 2023")
    found = read_identity([cover, RELEASES["listed name behind a dateline"][0]])
    assert (found.form, found.period_end) == ("8-K", dt.date(2023, 4, 25))


@pytest.mark.parametrize(
    "page",
    [
        "",
        "Notice of Annual Meeting of Stockholders and Proxy Statement\nThe annual report on Form 10-K for the fiscal year "
        "ended June 29, 2019, filed with the Securities and Exchange Commission, is available free of charge.",
        "NOTES TO CONSOLIDATED FINANCIAL STATEMENTS\nThe Company reported revenue for the fiscal year ended 2019.",
        "Chair\nMember\nAudit\n$\n30,000 $\n15,000",
    ],
)
def test_pages_without_a_cover_are_not_guessed_at(page: str) -> None:
    found = read_identity([page])
    assert (found.form, found.fiscal_year, found.fiscal_quarter, found.period_end) == (None, None, None, None)


def test_no_pages() -> None:
    assert read_identity([]) == FilingIdentity()


@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_can_be_read(pages: list[str]) -> None:
    assert isinstance(read_identity(pages), FilingIdentity)


@given(st.dates(dt.date(1995, 1, 1), dt.date(2040, 12, 31)))
def test_every_period_end_is_read_back(day: dt.date) -> None:
    printed = f"{day:%B} {day.day}, {day.year}"
    for layout in (str, LAYOUTS["lines run together"], LAYOUTS["letters set apart"]):
        found = read_identity([layout(annual(printed))])
        assert found.period_end == day
        assert found.fiscal_year in (day.year, day.year - 1)


def test_long_runs_of_blanks_do_not_slow_reading_down() -> None:
    page = annual().replace("For the fiscal", " " * 200_000 + "\n" * 200_000 + "For the fiscal")
    assert read_identity([page]).period_end == dt.date(2018, 12, 31)
