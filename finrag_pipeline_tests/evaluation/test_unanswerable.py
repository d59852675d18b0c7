from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from finrag_pipeline.answering.quantities import years_in
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.unanswerable import (
    KINDS,
    IndexedCompany,
    false_answers,
    indexed_companies,
    unanswerable_questions,
)
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.storage.lake import Lake

ALDER = IndexedCompany(
    "Alder Corp", frozenset({2015, 2016, 2017, 2020, 2021}), lambda words: "casino" in words
)
BIRCH = IndexedCompany("Birch & Co", frozenset({2021, 2022}), lambda words: False)


def test_kinds_are_about_equally_many() -> None:
    found = unanswerable_questions([ALDER, BIRCH], 30)
    assert len(found) == 30 == len({one.question for one in found}) == len({one.question_id for one in found})
    assert set(Counter(one.kind for one in found)) == set(KINDS)
    assert set(Counter(one.kind for one in found).values()) <= {5, 6, 7}


def test_the_same_index_gives_the_same_questions() -> None:
    first = unanswerable_questions([ALDER, BIRCH], 12)
    assert first == unanswerable_questions([BIRCH, ALDER], 12)
    assert first != unanswerable_questions([ALDER, BIRCH], 12, seed=18)


def test_years_are_outside_of_what_is_shown() -> None:
    companies = {one.name: one for one in (ALDER, BIRCH)}
    found = [one for one in unanswerable_questions([ALDER, BIRCH], 60) if one.kind == "unknown_year"]
    years = {year for one in found for year in years_in(one.question)}
    assert found and not any(years_in(one.question) & companies[one.company].years for one in found)
    assert min(years) < 2015 and max(years) > 2022 and years & {2018, 2019}, "before, after and in the gap"


def test_names_of_the_index_are_not_invented() -> None:
    taken = IndexedCompany("Quorvane Group", frozenset({2021}), lambda words: False)
    found = [one.company for one in unanswerable_questions([taken], 90) if one.kind == "unknown_company"]
    assert found and not any("Quorvane" in name for name in found)


def test_items_that_a_page_names_are_left_out() -> None:
    everything = IndexedCompany("Cedar", frozenset({2021}), lambda words: True)
    found = unanswerable_questions([everything], 90)
    assert {one.kind for one in found} == {"unknown_company", "unknown_year", "off_topic"}
    casino = [one for one in unanswerable_questions([ALDER], 150) if "casino" in one.question]
    assert not casino


def test_false_answers_are_counted_by_kind() -> None:
    kinds = ("near_miss", "near_miss", "off_topic")
    rows = [
        _blank("false_answers", kind=kind, abstained=place > 0).to_pylist()[0]
        for place, kind in enumerate(kinds)
    ]
    found = false_answers(pa.Table.from_pylist(rows, TABLES["false_answers"]))
    assert list(found) == ["all", "near_miss", "off_topic"]
    assert [one.estimate for one in found.values()] == [pytest.approx(1 / 3), 0.5, 0.0]
    assert found["off_topic"].high > 0.5, "one abstention says little"


def test_an_empty_index_says_so() -> None:
    with pytest.raises(BenchmarkError, match="no company with facts"):
        unanswerable_questions([IndexedCompany("Alder", frozenset(), lambda words: False)])


def _blank(table: str, **values) -> pa.Table:
    """A row of a table, with a value of the right type where one must be."""
    empty = {"string": "", "int32": 0, "int64": 0, "double": 0.0, "float": 0.0, "bool": False}
    row = {field.name: None if field.nullable else empty.get(str(field.type), []) for field in TABLES[table]}
    return pa.Table.from_pylist([row | values], TABLES[table])


def test_a_lake_says_what_it_holds(lake: Lake) -> None:
    for filing, year, status in (("ALDER_2021_10K", 2021, "ok"), ("ALDER_2022_10K", 2022, "failed")):
        keys = {"filing": filing}
        row = {"filing": filing, "status": status, "company": "ALDER CORP", "fiscal_year": year}
        lake.write("filings", _blank("filings", **row), "x", keys)
    keys = {"filing": "ALDER_2021_10K"}
    lake.write(
        "filing_pages",
        _blank("filing_pages", filing="ALDER_2021_10K", text="Aircraft\n Fuel rose."),
        "x",
        keys,
    )
    lake.write(
        "statement_facts", _blank("statement_facts", filing="ALDER_2021_10K", fiscal_year=2019), "x", keys
    )
    (alder,) = indexed_companies(lake)
    assert (alder.name, alder.years) == ("ALDER CORP", {2019, 2021})
    assert alder.names(["aircraft fuel"]) and not alder.names(["casino"])
