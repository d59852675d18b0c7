from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline_tests.resolver.filings import COVERS, ROWS, row

RESOLVER = Resolver(ROWS, COVERS)
_PIECES = st.sampled_from(
    ["Target", "Zephyrion's", "FY2022", "Q2", "'23", "-", "(", "NYSE: F", "H&R", "May 3, 2023", "10-K", "&", " ", ".",
     "first half of", "2018 - ", "as of", "expected in", "ß", "İ", "株式会社", "\0", "'s", "AT&T", "1/1/2023"]
)  # fmt: skip


def well_formed(resolution: Resolution, most: int = 3) -> None:
    assert all(0 <= item.score <= 1 and item.reasons for item in resolution.filings if item.score > 0.1)
    assert (
        len({item.filing for item in resolution.filings}) == len(resolution.filings) or resolution.companies
    )
    allowed = resolution.allowed(most)
    assert allowed is None or 0 < len(allowed) <= most


@given(
    st.one_of(
        st.text(), st.lists(_PIECES, max_size=30).map(" ".join), st.lists(_PIECES, max_size=30).map("".join)
    )
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_resolves_and_always_the_same_way(question: str) -> None:
    first = RESOLVER.resolve(question)
    well_formed(first)
    assert RESOLVER.resolve(question) == first


@pytest.mark.parametrize(
    "piece",
    ["a", "A", " ", "Q1 ", "2022", "FY", "'", "Aa ", "first ", "2022 - ", "x&", "of ", "statement of "],
)
def test_twenty_thousand_characters(piece: str) -> None:
    well_formed(RESOLVER.resolve(piece * (20_000 // len(piece))))


@pytest.mark.parametrize(
    "question", ["", " ", "?", "¿Cuál fue el beneficio de Zephyrion en 2022?", "何ですか", "🙂" * 50]
)
def test_odd_questions(question: str) -> None:
    resolution = RESOLVER.resolve(question)
    assert bool(resolution.companies) == ("Zephyrion" in question)


@given(
    st.lists(
        st.builds(
            row,
            st.text(min_size=1, max_size=8),
            st.none() | st.text(max_size=30),
            st.sampled_from([None, "10-K", "10-Q", "8-K", "EARNINGS", "10-K/A", "S-1"]),
            st.none() | st.integers(1990, 2040),
            st.none() | st.dates(dt.date(1990, 1, 1), dt.date(2040, 1, 1)).map(str),
            ticker=st.none() | st.text(max_size=5),
            quarter=st.none() | st.integers(1, 4),
        ),
        max_size=6,
        unique_by=lambda r: r["filing"],
    ),
    st.text(max_size=40),
    st.data(),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_index_resolves(rows: list[dict[str, object]], cover: str, data: st.DataObject) -> None:
    resolver = Resolver(rows, {str(r["filing"]): f"{r['company']} {cover}" for r in rows})
    names = [str(r["company"]) for r in rows if r["company"]] or ["nobody"]
    name = data.draw(st.sampled_from(names))
    well_formed(resolver.resolve(f"What was {name}'s revenue in Q2 of FY2022 as of May 3, 2022?"))


def test_an_empty_index_and_failed_filings_match_nothing() -> None:
    assert Resolver([]).resolve("What was Apple's revenue in FY2022?").allowed() is None
    assert RESOLVER.resolve("What was the revenue of Broken Corp in 2022?").companies == ()


def test_the_order_of_the_rows_does_not_matter() -> None:
    question = "Did Target or Zephyrion earn more in FY2022 than Dominion Energy in 2021?"
    assert Resolver(ROWS[::-1], COVERS).resolve(question) == RESOLVER.resolve(question)
