"""Covers and headlines of fictitious filings, and the ways in which extractors break their text."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from finrag_pipeline.filings.names import FilingIdentity

MAST = """UNITED STATES
SECURITIES AND EXCHANGE COMMISSION
Washington, D.C. 20549
"""
LABEL = "(Exact name of registrant as specified in its charter)"
BELOW = f"""{LABEL}
Delaware
12-3456789
(State or other jurisdiction of incorporation)
(I.R.S. Employer Identification No.)
1 Mill Road, Springfield
(Address of principal executive offices)
01101
(Zip Code)
"""
SECURITIES = """Securities registered pursuant to Section 12(b) of the Act:
Title of each class
Trading Symbol(s)
Name of each exchange on which registered
Common Stock, par value $0.01 per share
NWMI
New York Stock Exchange
1.250% Notes due 2030
NWMI30
New York Stock Exchange
Securities registered pursuant to Section 12(g) of the Act: None
"""
TRANSITION = "For the transition period from             to"
PHRASE = "For the fiscal year ended"


def annual(
    ended: str = "December 31, 2018",
    name: str = "NORTHWIND MILLS, INC.",
    form: str = "FORM 10-K",
    phrase: str = PHRASE,
) -> str:
    """Cover of an annual report."""
    return f"""{MAST}{form}
(Mark One)
☒
ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934
{phrase} {ended}
OR
☐
TRANSITION REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934
{TRANSITION}
Commission file number 1-3285
{name}
{BELOW}{SECURITIES}The aggregate market value held by non-affiliates was $5 billion as of June 29, 2018.
"""


def quarterly(ended: str, name: str = "NORTHWIND MILLS, INC.") -> str:
    """Cover of a quarterly report."""
    return f"""{MAST}FORM 10-Q
☒ QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934
For the quarterly period ended {ended}
or
☐ TRANSITION REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934
For the transition period from ____ to ____
Commission File Number: 001-00442
{name}
{BELOW}{SECURITIES}"""


def current(dated: str, name: str = "Northwind Mills, Inc.") -> str:
    """Cover of a current report."""
    return f"""{MAST}FORM 8-K
CURRENT REPORT
Pursuant to Section 13 or 15(d) of the Securities Exchange Act of 1934
{dated}
{name}
{LABEL}
Delaware
1-10299
12-3456789
(State or other jurisdiction
of incorporation)
(Commission
File Number)
(IRS Employer
Identification No.)
Check the appropriate box below if the Form 8-K filing is intended to simultaneously satisfy it
"""


def _letters_apart(text: str) -> str:
    return "\n".join(" ".join(re.sub(r"\s+", "  ", line)) for line in text.splitlines())


LAYOUTS: dict[str, Callable[[str], str]] = {
    "a word per line": lambda text: "\n".join(text.split()),
    "one line": lambda text: " ".join(text.split()),
    "lines run together": lambda text: text.replace("\n", ""),
    "letters set apart": _letters_apart,
    "upper case": str.upper,
    "no commas": lambda text: text.replace(",", ""),
    "non-breaking blanks and hyphens": lambda text: text.replace(" ", "\u00a0").replace("-", "\u2011"),
    "wide blanks": lambda text: text.replace(" ", "   "),
    "soft hyphens": lambda text: text.replace("gistrant", "gis\u00adtrant").replace("fiscal", "fis\u00adcal"),
}

RELEASES: dict[str, tuple[str, FilingIdentity]] = {
    "listed name behind a dateline": (
        """Harbor Foods Reports First-Quarter 2023 Results; Raises Guidance
Net revenue growth
10.2%
SPRINGFIELD, N.Y. - April 25, 2023 - Harbor Foods, Inc. (NASDAQ: HRBF) today reported results for
the first quarter 2023. See our Quarterly Report on Form 10-Q for the 12 weeks ended March 18, 2023.
12 Weeks Ended
3/25/2023
3/19/2022
""",
        FilingIdentity("Harbor Foods, Inc.", "EARNINGS", 2023, 1, dt.date(2023, 3, 25), "HRBF"),
    ),
    "year before the quarter, verb left out of the tables": (
        """FOR IMMEDIATE RELEASE
• 2022 Fourth-Quarter reported sales decline of 4.4% to $23.7 Billion
New Springfield, N.J. (January 24, 2023) – Harbor & Harbor (NYSE: HRB) today announced results for
fourth-quarter and full-year 2022. See the Annual Report on Form 10-K for the fiscal year ended
January 2, 2022.
Fourth Quarter
Jan 1, 2023
GAAP
""",
        FilingIdentity("Harbor & Harbor", "EARNINGS", 2022, 4, dt.date(2023, 1, 1), "HRB"),
    ),
    "retail year": (
        """March 9, 2023
Harbor Beauty Announces Fourth Quarter
Fiscal 2022 Results
SPRINGFIELD, Ill.--(BUSINESS WIRE)-- Harbor Beauty, Inc. (NASDAQ: HRBY) today
announced financial results for the thirteen-week period (“fourth quarter”) and fifty-two-week
period (“fiscal year”) ended January 28, 2023 compared to the same periods ended January
29, 2022.
13 Weeks Ended
January
28,
January
29,
""",
        FilingIdentity("Harbor Beauty, Inc.", "EARNINGS", 2022, 4, dt.date(2023, 1, 28), "HRBY"),
    ),
    "no quarter named": (
        """Amberline reports fiscal 2023 results and provides outlook for fiscal 2024
June 2023 quarter:
Twelve Months Ended June 30, 2022
Twelve Months Ended June 30, 2023
For the twelve-month period ending June 30, 2024, the Company expects growth over the five trading
days ended August 14, 2023.
NYSE: AMBL; ASX: AMB
""",
        FilingIdentity("Amberline", "EARNINGS", 2023, 4, dt.date(2023, 6, 30), "AMBL"),
    ),
    "exhibit with an upper-case headline": (
        """Page 1 of 15
Exhibit 99.1
HARBOR RESORTS INTERNATIONAL REPORTS FOURTH QUARTER AND
FULL YEAR 2022 FINANCIAL AND OPERATING RESULTS
Springfield, Nevada, February 8, 2023 – Harbor Resorts International (NYSE: HRI) (“Harbor”
or the “Company”) today reported financial results for the quarter and year ended December 31, 2022.
""",
        FilingIdentity("Harbor Resorts International", "EARNINGS", 2022, 4, dt.date(2022, 12, 31), "HRI"),
    ),
    "no listing, no year": (
        """Brightwater Corporation Announces Second Quarter Results
SPRINGFIELD, May 3, 2024 -- Brightwater Corporation today announced earnings for the quarter ended
March 31, 2024. Our business serves many customers in many places, and has for many years.
Six Months Ended March 31, 2024
""",
        FilingIdentity("Brightwater Corporation", "EARNINGS", 2024, 2, dt.date(2024, 3, 31), None),
    ),
    "short period names": (
        """Lantern Works Delivers Strong Q2 FY24 Results
Sales rose in 2Q24. The quarter was the best in the history of the company, said its chief executive,
who thanked customers and colleagues alike for their work.
Three Months Ended  Six Months Ended
July 29, 2023  July 30, 2022
""",
        FilingIdentity("Lantern Works", "EARNINGS", 2024, 2, dt.date(2023, 7, 29), None),
    ),
}
