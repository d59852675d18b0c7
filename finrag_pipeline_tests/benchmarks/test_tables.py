"""The command that scores detectors of tables, on a filing in inline XBRL and on what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import tables as benchmark
from benchmarks.printed_tags import BROWSERS
from finrag_pipeline.commands import results as command
from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import Settings, TableSettings
from finrag_pipeline.tables.extract import get_detector

ROWS = {"Net revenue": (2150, 1984), "Cost of sales": (-1204, -1120), "Gross profit": (946, 864)}
HEAD = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:xbrli="http://www.xbrl.org/2003/instance"><body><ix:header><ix:resources>{}</ix:resources></ix:header>
<p>Consolidated Statements of Income (in millions)</p>{statement}
<ix:nonNumeric name="us-gaap:RevenueTextBlock"><p>3. Revenue. It was $<ix:nonFraction name="us-gaap:Revenues"
contextRef="y2023" scale="6">2,150</ix:nonFraction> million.</p>{note}</ix:nonNumeric></body></html>"""
TABLE = (
    """<table width="100%"><tr><td>Year ended December 31,</td><td>2023</td><td>2022</td></tr>{}</table>"""
)
CONTEXT = """<xbrli:context id="y{0}"><xbrli:period><xbrli:startDate>{0}-01-01</xbrli:startDate>
<xbrli:endDate>{0}-12-31</xbrli:endDate></xbrli:period></xbrli:context>"""
TAG = '<ix:nonFraction name="us-gaap:{}" contextRef="y{}" scale="{}">{:,}</ix:nonFraction>'
CONCEPTS = {
    "Net revenue": "Revenues",
    "Cost of sales": "CostOfRevenue",
    "Gross profit": "OperatingIncomeLoss",
}


def table_of(scale: int) -> str:
    """A table whose tags say that its numbers are in that power of ten."""
    years, rows = (2023, 2022), ""
    for label, values in ROWS.items():
        named = zip(years, values, strict=True)
        tags = (TAG.format(CONCEPTS[label], year, scale, abs(value)) for year, value in named)
        cells = (f"<td>({tag})</td>" if values[0] < 0 else f"<td>{tag}</td>" for tag in tags)
        rows += f"<tr><td>{label}</td>{''.join(cells)}</tr>"
    return TABLE.format(rows)


def test_tagged_numbers_are_the_truth_of_a_printed_filing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("no Chromium is installed")
    folder = tmp_path / "filings"
    folder.mkdir()
    page = HEAD.format(CONTEXT.format(2023) + CONTEXT.format(2022), statement=table_of(6), note=table_of(3))
    (folder / "acme.html").write_text(page, encoding="utf-8")
    tagged = benchmark.measure_tagged(get_detector("words", TableSettings()), folder, tmp_path)
    assert tagged.pages == 1
    # The number in the sentence stands in no cell.
    places = [(number.statement, number.note) for _, number, _ in tagged.read]
    assert places == [("income", None)] * 6 + [(None, "RevenueTextBlock")] * 6
    assert [number.negative for _, number, _ in tagged.read] == 2 * [False, False, True, True, False, False]
    for _, number, read in tagged.read:
        assert read["found"] and read["sign"] and read["period"]
        assert read["value"] == read["scale"] == bool(number.statement)
    assert sum({"value", "scale"} <= {*miss["wrong"]} for miss in tagged.misses) == 6
    benchmark.show("words", None, tagged, None)
    assert "statements acme" in capsys.readouterr().out


def test_what_is_missing_is_said(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "current_settings", lambda: settings)
    with pytest.raises(UsageError, match="nothing to score on"):
        command.tables("words")
    with pytest.raises(UsageError, match="tatr cannot run: Model microsoft/table-transformer-detection"):
        command.tables("words,tatr", pdfs=tmp_path)


def test_the_benchmark_is_run_with_what_was_given(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "current_settings", lambda: settings)
    empty = tmp_path / "labels.jsonl"
    empty.touch()
    command.tables("pymupdf", pdfs=tmp_path, labels=empty)
    assert "pymupdf" in capsys.readouterr().out
