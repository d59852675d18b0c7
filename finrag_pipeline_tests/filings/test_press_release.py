"""Identity of earnings releases; all companies are fictitious."""

from __future__ import annotations

import datetime as dt

import pytest

from finrag_pipeline.filings.identity import read_identity
from finrag_pipeline_tests.filings.covers import RELEASES, current


@pytest.mark.parametrize("release", RELEASES)
def test_earnings_releases(release: str) -> None:
    text, expected = RELEASES[release]
    assert read_identity([text]) == expected
    # A title page or an empty page may stand before the release.
    assert read_identity(["", "Investor News", text]) == expected


def test_a_current_report_with_an_earnings_release_behind_its_cover_has_the_period_of_that() -> None:
    cover = current("Date of Report (Date of earliest event reported): April 25, 2023")
    alone = read_identity([cover, "Item 2.02 Results. The company announced its first quarter results."])
    found = read_identity([cover, RELEASES["listed name behind a dateline"][0]])
    assert (alone.form, alone.fiscal_quarter, alone.period_end) == ("8-K", None, dt.date(2023, 4, 25))
    assert (found.form, found.fiscal_quarter, found.period_end) == ("8-K", 1, dt.date(2023, 3, 25))
