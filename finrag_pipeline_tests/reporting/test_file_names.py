"""File names of pages: safe everywhere, never two alike, and those of plain identifiers unchanged."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.reporting.site import page_names
from finrag_pipeline_tests.reporting.builders import HOSTILE

ANY = st.lists(st.text(max_size=200), max_size=12, unique=True)


def test_plain_identifiers_are_their_own_names() -> None:
    plain = ["EXAMPLE_2018_10K", "EXAMPLE_2022_8K_dated-2022-07-01", "q_1"]
    assert page_names(plain) == {name: name for name in plain}


@given(ANY)
def test_names_are_safe_and_differ_in_more_than_case(identifiers: list[str]) -> None:
    names = page_names(identifiers)
    assert list(names) == identifiers
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,120}", name) for name in names.values())
    assert len({name.casefold() for name in names.values()}) == len(identifiers)


@given(ANY)
def test_a_name_does_not_depend_on_the_others_order(identifiers: list[str]) -> None:
    assert page_names(identifiers[::-1]) == page_names(identifiers)


def test_what_file_systems_take_for_one_stays_apart() -> None:
    names = page_names(["Example", "EXAMPLE", "other"])
    assert names["other"] == "other"
    assert len({name.lower() for name in names.values()}) == 3


def test_paths_and_devices_become_plain_names() -> None:
    for name in page_names(["../../etc/passwd", "con", "a/b", "", ".hidden", HOSTILE, "x" * 300]).values():
        assert re.fullmatch(r"[A-Za-z0-9_]+-[0-9a-f]{12}", name), name
