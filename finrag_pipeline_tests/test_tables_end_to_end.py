"""Tables and facts of the sample filings, as the command line gives them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from finrag_pipeline_tests.console import called
from finrag_pipeline_tests.shared_run import sample_copy, sample_lake


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake, run = sample_lake(tmp_path_factory)
    assert run.code == 0, run.err
    return lake


def test_facts_are_in_full_units_with_the_cell_they_stand_in(root: Path) -> None:
    found = called(root, "facts", "TORVEXLEY_2023_10K", "--concept", "Assets", "--json").json()
    assert [(fact["period_end"], fact["value"], fact["unit"]) for fact in found] == [
        ("2023-12-31", 4_343_000_000.0, "currency"),
        ("2022-12-31", 4_339_000_000.0, "currency"),
    ]
    for fact in found:
        assert (fact["statement"], fact["scope"], fact["scale"]) == ("financial_position", "primary", 1e6)
        assert "million" in fact["scale_source"].lower()
        assert fact["page_label"] == str(fact["page"] + 1)
        assert 0 < fact["x0"] < fact["x1"] and 0 < fact["y0"] < fact["y1"]
    (per_share,) = called(
        root,
        "facts",
        "TORVEXLEY_2023_10K",
        "--concept",
        "EarningsPerShareDiluted",
        "--year",
        "2023",
        "--json",
    ).json()
    assert (per_share["value"], per_share["scale"], per_share["unit"]) == (2.86, 1.0, "currency/share")
    thousands = called(root, "facts", "PELLAMOOR_2023_10K", "--label", "net sales", "--json").json()
    assert {fact["scale"] for fact in thousands if fact["unit"] == "currency"} <= {1e3}


def test_facts_of_other_years_agree_between_filings(root: Path) -> None:
    """A year's figure is printed again as the prior year's of the next report."""
    values = {
        filing: {
            (fact["concept"], fact["period_end"]): fact["value"]
            for fact in called(root, "facts", filing, "--json").json()
            if fact["concept"] and fact["statement"] != "equity"
        }
        for filing in ("TORVEXLEY_2022_10K", "TORVEXLEY_2023_10K")
    }
    shared = set(values["TORVEXLEY_2022_10K"]) & set(values["TORVEXLEY_2023_10K"])
    assert len(shared) >= 40
    assert all(values["TORVEXLEY_2022_10K"][key] == values["TORVEXLEY_2023_10K"][key] for key in shared)


def test_a_page_is_shown_with_its_tables(root: Path, tmp_path: Path) -> None:
    (fact, *_) = called(root, "facts", "TORVEXLEY_2023_10K", "--concept", "Assets", "--json").json()
    done = called(root, "show", "TORVEXLEY_2023_10K", fact["page_label"], "--to", tmp_path, "--json").json()
    assert list(done) == ["filing", "page", "page_label", "picture", "tables", "facts"]
    assert Path(done["picture"]).read_bytes().startswith(b"\x89PNG")
    (table,) = done["tables"]
    assert table["grid"][fact["row"]][fact["column"]] == fact["printed"] == "$ 4,343"
    assert table["header_rows"] >= 1 and table["detector"] == "words"
    assert fact["fact_id"] in {found["fact_id"] for found in done["facts"]}
    people = called(root, "show", "TORVEXLEY_2023_10K", fact["page_label"], "--to", tmp_path)
    assert people.code == 0 and "4,343" in people.out and "Picture:" in people.out
    text_only = called(root, "show", "SUNDREVALE_2022_10K", "1", "--to", tmp_path, "--json").json()
    assert text_only["picture"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("facts", "NOBODY_2022_10K"), "NOBODY_2022_10K"),
        (("facts", "TORVEXLEY_2023_10K", "--concept", "Nonsense"), "no concept 'Nonsense'"),
        (("show", "TORVEXLEY_2023_10K", "900"), "no page 900"),
        (("show", "TORVEXLEY_2023_10K", "0"), "no page 0"),
    ],
)
def test_what_is_not_there_is_said(root: Path, arguments: tuple[str, ...], said: str) -> None:
    done = called(root, *arguments, "--json")
    assert done.code == 2
    error = json.loads(done.err)
    assert said in error["error"] and error["remedy"]


def test_chunks_that_nobody_asked_for_are_named_with_what_makes_them(root: Path) -> None:
    done = called(root, "search", "current assets", "--system", "bm25_contextual_rows_pages", "--json")
    assert done.code == 1
    error = json.loads(done.err)
    assert "contextual_chunks" in error["error"]
    assert "finrag index bm25_contextual_rows_pages" in error["remedy"]


def test_what_only_some_systems_read_is_made_when_asked_for(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    lake, system = sample_copy(tmp_path_factory, tmp_path / "lake"), "bm25_contextual_rows_pages"
    for place in (*lake.glob("filings/*"), *lake.glob("parquet/*/filing=*")):
        if not place.name.endswith("_2023_10K"):  # a few filings show the same
            shutil.rmtree(place)
    assert called(lake, "index", "bm42").code == 2
    report = called(lake, "index", system, "--json").json()
    assert report["filings"] == len(report["indexed"]) > 1 and report["failures"] == []
    again = called(lake, "index", system, "--json").json()
    assert again["indexed"] == [] and again["fresh"] == sorted(report["indexed"])
    found = called(lake, "search", "current assets", "--system", system, "--json").json()
    assert found["results"] and found["warnings"] == []
