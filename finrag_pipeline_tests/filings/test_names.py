"""Identifiers made of file names, and what file names declare."""

from __future__ import annotations

import datetime as dt
import re
import string
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from finrag_pipeline.filings.names import MAX_BYTES, MAX_CHARACTERS, declared_from_name, filing_id

HASHED = re.compile(r"-[0-9a-f]{8}$")
any_name = st.text(max_size=300)
document_suffix = re.compile(r"\.(pdf|jsonl?|txt|html?)$", re.IGNORECASE)
plain_name = st.text(
    string.ascii_letters + string.digits + "_.-", min_size=1, max_size=MAX_CHARACTERS
).filter(lambda s: ".." not in s and s.strip(".") == s and not document_suffix.search(s))


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("NORTHWIND_2022_8K_dated-2022-05-20.pdf", "NORTHWIND_2022_8K_dated-2022-05-20"),
        ("NORTHWIND_2022_8K_dated-2022-05-20", "NORTHWIND_2022_8K_dated-2022-05-20"),
        ("inbox/2023/Acme_2023Q2_10Q.PDF", "Acme_2023Q2_10Q"),
        (r"C:\filings\Acme_2023Q2_10Q.jsonl", "Acme_2023Q2_10Q"),
        ("../../etc/Acme_2020_10K.pdf", "Acme_2020_10K"),
        ("Acme_v1.2", "Acme_v1.2"),
        ("Société_2022_10K.pdf", "Société_2022_10K"),
        ("株式会社_2022.pdf", "株式会社_2022"),
    ],
)
def test_safe_names_stay_as_they_are(file_name: str, expected: str) -> None:
    assert filing_id(file_name) == expected


@pytest.mark.parametrize(
    ("file_name", "start"),
    [
        ("Acme Corp 2022 10-K.pdf", "Acme_Corp_2022_10-K"),
        ("a'b\"c;drop table.pdf", "a_b_c_drop_table"),
        ("filing=x%20y|z.pdf", "filing_x_20y_z"),
        ("tab\there\nand\x00there.pdf", "tab_here_and_there"),
        (".hidden.pdf", "hidden"),
        ("a..b.pdf", "a.b"),
        ("trailing..pdf", "trailing"),
        ("a.pdf.pdf", "a.pdf"),
        ("ＡＣＭＥ_2022.pdf", "ACME_2022"),
        ("..", "filing"),
        ("", "filing"),
        ("???.pdf", "filing"),
        ("__HIVE_DEFAULT_PARTITION__.pdf", "__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_unsafe_names_are_replaced_and_carry_a_hash(file_name: str, start: str) -> None:
    identifier = filing_id(file_name)
    assert HASHED.sub("", identifier) == start
    assert HASHED.search(identifier)


def test_names_that_differ_only_in_what_is_replaced_stay_apart() -> None:
    names = ["a b.pdf", "a'b.pdf", "a\tb.pdf", "a_b.pdf", "a=b.pdf", "a  b.pdf"]
    assert len({filing_id(name) for name in names}) == len(names)


def test_long_names_are_cut_in_characters_and_bytes_and_stay_apart() -> None:
    latin = [filing_id("x" * 200 + end) for end in "ab"]
    kanji = [filing_id("株" * 119 + end) for end in "ab"]
    assert len(set(latin + kanji)) == 4
    assert all(len(i) == MAX_CHARACTERS for i in latin)
    # Three bytes a character: 63 whole ones fit before the nine of the hash.
    assert all(len(i.encode()) <= MAX_BYTES and i.startswith("株" * 63 + "-") for i in kanji)


def test_composed_and_decomposed_accents_are_one_name() -> None:
    assert filing_id(unicodedata.normalize("NFD", "Société.pdf")) == filing_id("Société.pdf") == "Société"


@given(any_name)
@example("a\u0301..\u0301.pdf")
@example("\ud800.pdf")
@example("dir/.")
@example("٣" * 130)
def test_every_identifier_is_safe(name: str) -> None:
    identifier = filing_id(name)
    assert 1 <= len(identifier) <= MAX_CHARACTERS
    assert len(identifier.encode()) <= MAX_BYTES
    assert all(c in "_.-" or c.isdecimal() or unicodedata.category(c)[0] in "LM" for c in identifier)
    assert ".." not in identifier
    assert not identifier.startswith(".") and not identifier.endswith(".")
    assert filing_id(name) == identifier


@given(any_name)
def test_an_identifier_is_its_own_identifier(name: str) -> None:
    identifier = filing_id(name)
    assert filing_id(identifier) == identifier
    assert filing_id(f"some/folder/{identifier}.pdf") == identifier


@given(plain_name)
def test_plain_names_are_unchanged(name: str) -> None:
    assert filing_id(name) == name
    assert filing_id(name + ".pdf") == name


@given(
    st.lists(st.text(alphabet=" _='\"|%ab.é", min_size=1, max_size=8), min_size=2, max_size=30, unique=True)
)
def test_distinct_names_have_distinct_identifiers(names: list[str]) -> None:
    distinct = {unicodedata.normalize("NFC", name) for name in names}
    assert len({filing_id(name) for name in distinct}) == len(distinct)


@pytest.mark.parametrize(
    ("name", "company", "form", "year", "quarter", "event"),
    [
        ("NORTHWIND_2022_8K_dated-2022-05-20", "NORTHWIND", "8-K", 2022, None, dt.date(2022, 5, 20)),
        ("NORTHWIND_2022_8K_dated_2023-02-21", "NORTHWIND", "8-K", 2022, None, dt.date(2023, 2, 21)),
        ("NORTHWIND_8K_dated-2023-01-06", "NORTHWIND", "8-K", 2023, None, dt.date(2023, 1, 6)),
        ("Acme_2023Q2_10Q", "Acme", "10-Q", 2023, 2, None),
        ("ACME_SONS_2022Q4_EARNINGS", "ACME SONS", "EARNINGS", 2022, 4, None),
        ("A_B_2023_EARNINGS-dated-2023-06-01", "A B", "EARNINGS", 2023, None, dt.date(2023, 6, 1)),
        ("ACME_2022_annualreport", "ACME", None, 2022, None, None),
        ("acme_2019", "acme", None, 2019, None, None),
        ("acme-foods-inc_2019", "acme foods inc", None, 2019, None, None),
        ("10-K 2022 Acme.pdf", "Acme", "10-K", 2022, None, None),
        ("q3-2023-press-release", None, "EARNINGS", 2023, 3, None),
        ("Acme Corp FY23 form 10-k.pdf", "Acme Corp", "10-K", 2023, None, None),
        ("acme_10-ka_2020", "acme", "10-K/A", 2020, None, None),
        ("ACME 4Q22 earnings.pdf", "ACME", "EARNINGS", 2022, 4, None),
        ("second quarter 2024 results Zeta", "Zeta", None, 2024, 2, None),
        ("acm-20220924.htm", "acm", None, 2022, None, dt.date(2022, 9, 24)),
        ("Bank of Arcadia 2022 10-K (1).pdf", "Bank of Arcadia", "10-K", 2022, None, None),
        ("9X_2018_10K", "9X", "10-K", 2018, None, None),
        ("63fc6dd0831878803a18698cf8e47670", None, None, None, None, None),
        ("0001558370-16-003162", None, None, None, None, None),
        ("2022-02-31 Acme", "Acme", None, 2022, None, None),
        ("", None, None, None, None, None),
    ],
)
def test_names_declare(
    name: str,
    company: str | None,
    form: str | None,
    year: int | None,
    quarter: int | None,
    event: dt.date | None,
) -> None:
    declared = declared_from_name(name)
    assert declared.company == company
    assert declared.form == form
    assert declared.fiscal_year == year
    assert declared.fiscal_quarter == quarter
    assert declared.event_date == event


@pytest.mark.parametrize(
    "name", ["Acme Corp 2022 10-K.pdf", "Acme (2023Q3) 10-Q.pdf", "A & B 2021 8K 2021-03-04.pdf"]
)
def test_an_identifier_declares_what_its_file_name_does(name: str) -> None:
    from_name, from_identifier = declared_from_name(name), declared_from_name(filing_id(name))
    assert from_identifier.form == from_name.form is not None
    assert from_identifier.fiscal_year == from_name.fiscal_year is not None
    assert from_identifier.fiscal_quarter == from_name.fiscal_quarter
    assert from_identifier.event_date == from_name.event_date


@given(any_name)
def test_any_name_can_be_read(name: str) -> None:
    declared = declared_from_name(name)
    assert declared.fiscal_quarter in {None, 1, 2, 3, 4}
    assert declared.fiscal_year is None or 1900 <= declared.fiscal_year < 2100
    assert declared.company is None or re.search(r"[^\W\d_]", declared.company)
