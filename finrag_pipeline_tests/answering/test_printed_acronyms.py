"""Acronyms that a filing explains, in its rows."""

from __future__ import annotations

import pytest

from finrag_pipeline.answering.printed_acronyms import acronyms, spelled_out
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Our segments are Harbour Services North (HSN) and Cranes.", {"HSN": "Harbour Services North"}),
        ("In 2021 Harbour and Port-Side Works (“HPSW”) grew.", {"HPSW": "Harbour and Port-Side Works"}),
        ("U.S. Ferry Routes\n(USFR) lost riders.", {"USFR": "U.S. Ferry Routes"}),
        ("The Ferry Routes (FR), and later Fast Rail (FR).", {"FR": "Ferry Routes"}),
        ("See Generally Accepted Accounting Principles (GAAP).", {}),
        ("It sold Harbour Services (in 2021) and Cranes (the Unit).", {}),
    ],
)
def test_names_that_are_explained(text: str, names: dict[str, str]) -> None:
    assert acronyms([text]) == names


def test_rows_have_the_names_in_place_of_acronyms() -> None:
    value = RowValue(("HSN", "2023"), None, None, None, None, 5.0, "5", None, None, None)
    row = FilingRow(
        "TORVEX_2023_10K", 1, 0, 0, "HSN key figures", ("Sales of HSN",), ("HSN",), None, None, (value,)
    )
    (found,) = spelled_out([row], {"HSN": "Harbour Services North"})
    assert found.text == (
        "Harbour Services North key figures | Sales of Harbour Services North | Harbour Services North"
    )
    assert found.values[0].column == ("Harbour Services North", "2023")
    other = FilingRow("TORVEX_2023_10K", 1, 0, 0, "", ("HSNs",), (), None, None, ())
    assert list(spelled_out([other], {"HSN": "Harbour Services North"})) == [other]
    assert list(spelled_out([other], {})) == [other]
