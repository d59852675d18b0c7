"""The same file under several names is one filing, which goes by all of them."""

from __future__ import annotations

from pathlib import Path

from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import aliases, find_source, name_in_lake
from finrag_pipeline.services.filings import list_filings, require_filing
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings


def test_the_second_name_of_a_file_leads_to_the_first(lake: Lake, tmp_path: Path) -> None:
    first = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    source = accept(lake, first)
    for name in ("again.pdf", "once_more.pdf", "again.pdf"):
        copy = tmp_path / name
        copy.write_bytes(first.read_bytes())
        assert accept(lake, copy) == source
    assert aliases(lake) == {"again": "ALDER_2021_10K", "once_more": "ALDER_2021_10K"}
    assert require_filing(lake, "again") == name_in_lake(lake, "again") == "ALDER_2021_10K"
    (listed,) = list_filings(lake, failed=False)
    assert listed["filing"] == "ALDER_2021_10K" and listed["warnings"] == [
        "the same file came as again, once_more too"
    ]


def test_a_name_with_other_contents_is_a_filing_of_its_own_again(lake: Lake, tmp_path: Path) -> None:
    first = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    accept(lake, first)
    other = tmp_path / "other.pdf"
    other.write_bytes(first.read_bytes())
    accept(lake, other)
    small_filings.annual_report(other, "Birch Corp", 2020)
    assert accept(lake, other).filing == "other" == name_in_lake(lake, "other")
    # The first gets another version: a copy of what it was is no alias of it.
    old = tmp_path / "old.pdf"
    old.write_bytes(first.read_bytes())
    accept(lake, small_filings.annual_report(first, "Alder Corp", 2022))
    assert accept(lake, old).filing == "old" and aliases(lake) == {}


def test_filings_of_a_benchmark_are_asked_for_by_name(lake: Lake, tmp_path: Path) -> None:
    first = small_filings.annual_report(tmp_path / "a.pdf", "Alder Corp", 2021)
    (tmp_path / "b.pdf").write_bytes(first.read_bytes())
    for path in (first, tmp_path / "b.pdf"):
        accept(lake, path, alias=False)
    assert find_source(lake, "a") and find_source(lake, "b") and not aliases(lake)
