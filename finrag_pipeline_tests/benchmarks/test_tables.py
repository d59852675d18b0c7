"""The command that scores detectors of tables, on a filing in inline XBRL and on what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import tables as benchmark
from finrag_pipeline.commands import tables as command
from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import Settings, TableSettings
from finrag_pipeline.tables.extract import get_detector

ROWS = {"Net revenue": (2150, 1984), "Cost of sales": (1204, 1120), "Gross profit": (946, 864)}
HEAD = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:xbrli="http://www.xbrl.org/2003/instance"><body><ix:header><ix:resources>{contexts}</ix:resources></ix:header>
<p>Consolidated Statements of Income (in millions)</p><table width="100%"><tr><td>Year ended December 31,</td>
<td>2023</td><td>2022</td></tr>{rows}</table></body></html>"""
CONTEXT = """<xbrli:context id="y{0}"><xbrli:period><xbrli:startDate>{0}-01-01</xbrli:startDate>
<xbrli:endDate>{0}-12-31</xbrli:endDate></xbrli:period></xbrli:context>"""
CELL = '<td><ix:nonFraction name="us-gaap:X" contextRef="y{0}" scale="{2}">{1:,}</ix:nonFraction></td>'


def write_filing(folder: Path, scale: int) -> None:
    """A filing of one statement whose tags say that its numbers are in that power of ten."""
    years = (2023, 2022)
    rows = "".join(
        f"<tr><td>{label}</td>{''.join(CELL.format(*one, scale) for one in zip(years, values, strict=True))}</tr>"
        for label, values in ROWS.items()
    )
    folder.mkdir()
    page = HEAD.format(contexts="".join(map(CONTEXT.format, years)), rows=rows)
    (folder / "acme.html").write_text(page, encoding="utf-8")


@pytest.mark.parametrize(("scale", "found"), [(6, 1.0), (3, 0.0)])
def test_tagged_numbers_are_the_truth_of_a_printed_filing(tmp_path: Path, scale: int, found: float) -> None:
    if not any(map(shutil.which, benchmark.BROWSERS)):
        pytest.skip("no Chromium is installed")
    write_filing(tmp_path / "filings", scale)
    scores = benchmark.measure_tagged(get_detector("words", TableSettings()), tmp_path / "filings")
    for name in ("tagged value found", "with its period"):
        outcomes = [right for _, right in scores.cells[name]]
        assert len(outcomes) == 6 and sum(outcomes) / 6 == found
    assert scores.pages == 1


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
