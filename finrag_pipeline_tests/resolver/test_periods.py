from __future__ import annotations

import datetime as dt

import pytest

from finrag_pipeline.resolver.periods import anchor, read_periods


def shown(question: str) -> list[str]:
    found = []
    for p in read_periods(question):
        if p.date:
            found.append(f"{p.date}" + (f"/{p.months}" if p.months else "") + ("*" if p.whole_month else ""))
        else:
            tail = f"Q{p.quarter}" if p.quarter else f"H{p.half}" if p.half else ""
            found.append(f"{p.fiscal_year or '?'}{tail}")
    return found


@pytest.mark.parametrize(
    ("question", "periods"),
    [
        ("in FY2022?", ["2022"]),
        ("in FY22?", ["2022"]),
        ("overfunded at FYE22?", ["2022"]),
        ("debt at YE22", ["2022"]),
        ("debt in mid-2022", ["2022-06-30*"]),
        ("debt in the middle of 2022", ["2022-06-30*"]),
        ("cash at 6/30/23", ["2023-06-30"]),
        ("a split of 13/40/23", []),
        ("in FY 2022", ["2022"]),
        ("in fiscal 2022", ["2022"]),
        ("in fiscal year 2022", ["2022"]),
        ("2022 revenue", ["2022"]),
        ("FY2022E and 2021A", ["2022", "2021"]),
        ("Q2 of FY2023", ["2023Q2"]),
        ("Q2 FY2023", ["2023Q2"]),
        ("2021 Q1", ["2021Q1"]),
        ("FY2023Q1", ["2023Q1"]),
        ("Q22023", ["2023Q2"]),
        ("Q2'2023", ["2023Q2"]),
        ("Q2’23", ["2023Q2"]),
        ("2Q23", ["2023Q2"]),
        ("2Q 2023", ["2023Q2"]),
        ("sales q2 23 vs q2 22", ["2023Q2", "2022Q2"]),
        ("opened in Q2 15 stores", ["?Q2"]),
        ("debt jan 17 vs jan 16", ["2017-01-31*", "2016-01-31*"]),
        ("debt at 31 dec 22", ["2022-12-31"]),
        ("sales, 6m to dec 22", ["2022-12-31/6*"]),
        ("sales in the dec 22 qtr", ["2022-12-31/3*"]),
        ("due on Feb 28", []),
        ("second quarter of 2023", ["2023Q2"]),
        ("the second fiscal quarter of 2023", ["2023Q2"]),
        ("third quarter of fiscal year 2023", ["2023Q3"]),
        ("2023's fourth quarter", ["2023Q4"]),
        ("Q1 and Q3 of 2023", ["2023Q3", "2023Q1"]),
        ("H1 FY2023", ["2023H1"]),
        ("first half of 2023", ["2023H1"]),
        ("first nine months of 2023", ["2023Q3"]),
        ("last quarter of 2023", ["2023Q4"]),
        ("the final three months of fiscal 2023", ["2023Q4"]),
        ("the last quarter of its fiscal year 2023", ["2023Q4"]),
        ("FY21/22/23", ["2023", "2022", "2021"]),
        ("at FY23 YE and 2022 year-end", ["2023", "2022"]),
        ("the last half of 2023", ["2023H2"]),
        ("the first quarter (January until March) of 2023", ["2023Q1"]),
        ("beginning with 2021 and ending with 2023", ["2023", "2022", "2021"]),
        ("FY2018 - FY2020", ["2020", "2019", "2018"]),
        ("from FY2015 to FY2016", ["2016", "2015"]),
        ("2018-20", ["2020", "2019", "2018"]),
        ("between FY2021 and FY2022", ["2022", "2021"]),
        ("between FY 2023 and Q2 of FY2024", ["2024Q2", "2023"]),
        ("2022, 2021 and 2020", ["2022", "2021", "2020"]),
        ("on May 26, 2023", ["2023-05-26"]),
        ("dated 1st July 2022", ["2022-07-01"]),
        ("as of August 30, 2023", ["2023-08-30"]),
        ("on 2023-08-30 and 8/31/2023", ["2023-08-31", "2023-08-30"]),
        ("fiscal year ended December 31, 2022", ["2022-12-31/12"]),
        ("three months ended June 30, 2023", ["2023-06-30/3"]),
        ("three months to the end of June 2023", ["2023-06-30/3*"]),
        ("quarter ended June 2023", ["2023-06-30/3*"]),
        ("in February 2024", ["2024-02-29*"]),
        ("Q3 revenue in 2022", ["2022Q3"]),
        ("in the second quarter", ["?Q2"]),
        ("third-quarter profit from fiscal 2018 to fiscal 2019", ["2019Q3", "2018Q3"]),
        ("second half sales, 2021 vs 2022", ["2022H2", "2021H2"]),
        ("Q4 and full year sales of 2022", ["2022", "?Q4"]),
        ("Q1 and Q2 sales of 2021 and 2022", ["2022", "2021", "?Q2", "?Q1"]),
        # Amounts, maturities and impossible days are no periods.
        ("$2018", []),
        ("USD 2018", []),
        ("2,022 and 1.2020", []),
        ("2020 million", []),
        ("2015%", []),
        ("notes due 2027", []),
        ("the 12021 or 20222 items", []),
        ("in FY1850", []),
        ("on February 30, 2023", ["2023"]),
        ("", []),
    ],
)
def test_periods(question: str, periods: list[str]) -> None:
    assert shown(question.replace("’", "'")) == periods


def test_the_latest_reported_period_names_the_filing() -> None:
    ahead = anchor(read_periods("As of FY 2021, how much did it expect to pay in 2024?"))
    assert ahead is not None and ahead.fiscal_year == 2021
    only = anchor(read_periods("What is the guidance for FY2023?"))
    assert only is not None and only.future
    assert anchor(()) is None


def test_a_date_is_kept_with_its_words() -> None:
    (period,) = read_periods("the AGM held on May 3, 2023, and")
    assert (period.date, period.text) == (dt.date(2023, 5, 3), "May 3, 2023")
