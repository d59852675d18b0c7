"""The report as a browser and a reader would see it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.reporting.report import write_report
from finrag_pipeline_tests.reporting.builders import (
    HOSTILE,
    empty_data,
    filing_row,
    filings_table,
    random_metrics,
    report_data,
)
from finrag_pipeline_tests.reporting.html_tree import Element, body_rows, parse
from finrag_pipeline_tests.reporting.reports import CASES, LONG, shared_report


@pytest.fixture(scope="module", params=CASES)
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_report(tmp_path_factory, request.param) / "index.html"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_report(tmp_path_factory, "plain")


@pytest.fixture(scope="module")
def full(folder: Path) -> Element:
    return page(folder / "index.html")


def page(path: Path) -> Element:
    return parse(path.read_text(encoding="utf-8"))


def words(element: Element) -> str:
    return " ".join(element.text.split())


def pages_of(folder: Path) -> list[Path]:
    """Every page that is in the menu, and the page of one filing."""
    return [*sorted(folder.glob("*.html")), *sorted(folder.glob("filings/*.html"))[:1]]


def test_structure(index: Path) -> None:
    for path in pages_of(index.parent):
        assert_structure(page(path))


def assert_structure(document: Element) -> None:
    (html,) = document.all("html")
    assert html.attributes["lang"] == "en"
    assert len(document.all("h1")) == len(document.all("main")) == len(document.all("title")) == 1
    levels = [int(e.tag[1]) for e in document.walk() if re.fullmatch("h[1-6]", e.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    identifiers = [e.attributes["id"] for e in document.walk() if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))
    for element in document.walk():
        for name in ("aria-labelledby", "for"):
            assert element.attributes.get(name) is None or element.attributes[name] in identifiers
    skip = document.all("a")[0]
    assert skip.attributes["href"] == "#content" and skip.attributes["class"] == "skip"


def test_tables_can_be_read_with_a_screen_reader_and_the_keyboard(index: Path) -> None:
    for path in pages_of(index.parent):
        assert_readable(page(path))


def assert_readable(document: Element) -> None:
    for region in (e for e in document.walk() if (e.attributes.get("class") or "").startswith("scroll")):
        assert region.attributes["tabindex"] == "0" and region.attributes["role"] == "region"
        (table,) = region.all("table")
        (caption,) = table.all("caption")
        assert words(caption)
        (head,) = table.all("thead")
        heads = head.all("th")
        assert all(th.attributes["scope"] == "col" for th in heads)
        for cells in body_rows(table):
            assert len(cells) == len(heads)
            assert cells[0].tag == "th" and cells[0].attributes["scope"] == "row"
            assert all(cell.tag == "td" for cell in cells[1:])
    for image in document.all("img"):
        assert len(image.attributes["alt"] or "") > 40


def test_no_file_asks_for_anything_from_outside(index: Path) -> None:
    css = (index.parent / "assets/report.css").read_text()
    assert not re.search(r"url\(|@import|https?:", css)
    script = (index.parent / "assets/report.js").read_text()
    assert not re.search(r"https?:|fetch|XMLHttp|import|innerHTML|eval", script)
    for svg in (index.parent / "assets").glob("*.svg"):
        for element in ElementTree.parse(svg).iter():
            for name, value in element.attrib.items():
                if name.endswith("href"):
                    assert value.startswith("#")
                assert not re.search(r"url\((?!#)", value)
            assert not element.tag.endswith(("script", "foreignObject", "image"))


def test_texts_of_unknown_origin_are_only_ever_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = shared_report(tmp_path_factory, "hostile")
    document, filings, method = (page(folder / f"{name}.html") for name in ("index", "filings", "method"))
    (script,) = document.all("script")
    assert script.attributes["src"] == "assets/report.js" and not script.text
    assert document.all("h1")[0].text == HOSTILE
    assert HOSTILE in document.by_id("table-excluded").text
    assert HOSTILE in filings.by_id("table-filings").text
    for name in ("failures", "settings", "versions"):
        assert HOSTILE in method.by_id(f"table-{name}").text, name
    for name in ("metrics-all", "gap", "slice-doc_type"):
        assert LONG in document.by_id(f"table-{name}").text, name


@settings(max_examples=12, deadline=None)
@given(name=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40))
def test_any_name_survives_the_way_into_the_page(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    data = replace(
        empty_data(),
        filings=filings_table(filing_row(name, company=name, file_name=f"{name}.pdf", warnings=[name])),
    )
    folder = write_report(data, tmp_path_factory.mktemp("any") / "report").parent
    (cells,) = body_rows(page(folder / "filings.html").by_id("table-filings"))
    assert name in cells[0].text
    assert name in cells[2].text
    assert name in cells[-1].text


def test_no_mean_stands_alone(full: Element) -> None:
    for name in ("metrics-all", "gap", "published", "slice-question_type", "slice-company", "slice-source"):
        means = 0
        for cells in body_rows(full.by_id(f"table-{name}")):
            for cell in cells:
                (value,) = [e.text for e in cell.all("span")] or [""]
                if re.fullmatch(r"\d\.\d{3}", value):
                    (small,) = cell.all("small")
                    assert re.fullmatch(r"\d\.\d{3}–\d\.\d{3}|n = \d+", small.text)
                    means += 1
        assert means >= 18, name
    for item in full.all("li"):
        if figures := [e for e in item.all("p") if e.attributes.get("class") == "figure"]:
            assert re.fullmatch(r"\d\.\d{3}", figures[0].text)
            assert re.search(r"\d\.\d{3}–\d\.\d{3}", item.text)


def test_the_headline_says_what_was_measured(full: Element) -> None:
    (masthead,) = [e for e in full.all("header") if e.attributes.get("class") == "masthead"]
    facts = dict(zip(map(words, masthead.all("dt")), map(words, masthead.all("dd")), strict=True))
    assert facts == {
        "Filings": "82 and 1 unreadable",
        "Pages": "8,477",
        "Questions measured": "150 and 1 excluded",
        "Systems": "3",
        "Failed steps": "1",
        "Made": "14 March 2026, 15:09 UTC",
    }
    assert words(masthead.all("code")[0]) == "finrag run --source data/example"
    (time,) = full.all("time")
    assert time.attributes["datetime"] == "2026-03-14T15:09:00+00:00"


def test_the_stratum_of_the_pdfs_stands_beside_the_total(full: Element) -> None:
    (told,) = [text for text in map(words, full.all("p")) if "by source of the filing" in text]
    assert re.fullmatch(
        r"PageRec@5 by source of the filing: PDF 0\.\d{3} \[.*\] \(n = 129\); "
        r"Text only 0\.\d{3} \[.*\] \(n = 21\)\.",
        told,
    )


def test_the_metrics_are_sorted_by_space_then_page_recall(full: Element) -> None:
    rows = body_rows(full.by_id("table-metrics-all"))
    spaces = [words(cells[1]) for cells in rows]
    assert spaces == ["Whole corpus"] * 3 + ["Oracle filing"] * 3 + ["Oracle pages"] * 3
    for start in (0, 3, 6):
        recall = [float(cells[3].attributes["data-sort"] or "nan") for cells in rows[start : start + 3]]
        assert recall == sorted(recall, reverse=True)


def test_slices_cover_every_value(full: Element) -> None:
    values = {
        name: list(dict.fromkeys(words(cells[0]) for cells in body_rows(full.by_id(f"table-slice-{name}"))))
        for name in ("question_type", "doc_type", "source", "company")
    }
    assert values["question_type"] == ["domain", "metrics", "novel"]
    assert values["doc_type"] == ["10-K", "10-Q", "8-K", "EARNINGS"]
    assert values["source"] == ["PDF", "Text only"]
    assert len(values["company"]) == 32


def test_filings_show_identity_problems_and_remedies(folder: Path) -> None:
    filings = page(folder / "filings.html")
    rows = {
        words(cells[0]): [words(cell) for cell in cells]
        for cells in body_rows(filings.by_id("table-filings"))
    }
    assert len(rows) == 83
    first = next(iter(rows.values()))
    assert first[:2] == ["BROKEN", "Failed PDF"]
    assert first[-1] == "Failure BROKEN.pdf is encrypted. Remove its password and ingest it again."
    assert rows["EXAMPLE_1943_10K"][1] == "Conflict PDF"
    assert rows["EXAMPLE_1943_10K"][-1].startswith("Conflict the cover page says form 10-Q")
    assert rows["EXAMPLE_1945_10K"][-1].startswith("Warning the file is damaged")
    identity = ["Example Holdings, Inc.", "10-K", "FY 1940 2022-12-31"]
    assert rows["EXAMPLE_1940_10K"][2:] == [*identity, "101", "0", "0", "–", "–", "150", ""]
    assert rows["QUARTER_2021_Q2 Quarter (2021) Q2.pdf"][4] == "FY 2022 Q2 2022-12-31"
    assert rows["TEXT_ONLY"][1:5] == ["OK Text only", "Example declared", "10-K declared", "FY 2022 declared"]


def test_excluded_questions_and_failed_steps_are_listed(folder: Path, full: Element) -> None:
    method = page(folder / "method.html")
    (excluded,) = body_rows(full.by_id("table-excluded"))
    assert words(excluded[0]) == "q_out"
    assert words(excluded[-1]) == "gold filing 'BROKEN' could not be read"
    (failure,) = body_rows(method.by_id("table-failures"))
    assert [words(cell) for cell in failure] == [
        "filing_pages",
        "BROKEN",
        "2026-03-14 15:09",
        "Failure BROKEN.pdf is encrypted. Remove its password.",
    ]
    ledger = {
        words(cells[0]): [words(cell) for cell in cells[1:]]
        for cells in body_rows(method.by_id("table-ledger"))
    }
    assert ledger["filing_pages"][:6] == ["83", "0", "0", "82", "0", "1"]


def test_settings_are_flat_and_hide_credentials(tmp_path: Path) -> None:
    data = replace(
        empty_data(),
        settings={
            "lake": "s3://key:secret@bucket/lake",
            "chunks": {"tokens": 1024},
            "encoder": {"revision": None},
        },
    )
    method = write_report(data, tmp_path / "report").parent / "method.html"
    rows = dict(map(words, cells) for cells in body_rows(page(method).by_id("table-settings")))
    assert rows == {"lake": "s3://…@bucket/lake", "chunks.tokens": "1024", "encoder.revision": "not set"}
    assert "secret" not in method.read_text()


def test_runs_on_other_questions_are_marked_as_not_comparable(tmp_path: Path) -> None:
    data = report_data(metrics=random_metrics(companies=1, questions=12, documents=5))
    document = page(write_report(data, tmp_path / "report"))
    (caution,) = [e for e in document.all("li") if e.attributes.get("class") == "caution"]
    assert "this run measured 12 on 5" in words(caution)
    assert "Difference" not in document.by_id("table-published").text


def test_metrics_json_holds_every_row(tmp_path: Path) -> None:
    data = report_data(metrics=random_metrics(("dense",), companies=4))
    records = json.loads((write_report(data, tmp_path / "report").parent / "metrics.json").read_text())
    assert len(records) == data.metrics.num_rows
    assert set(records[0]) == {
        *("system", "space", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n")
    }


def test_a_report_replaces_the_one_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write_report(report_data(benchmark="First"), folder)
    (folder / "assets" / "stale.svg").write_text("<svg/>")
    index = write_report(replace(empty_data(), benchmark="Second"), folder)
    assert index == folder / "index.html"
    assert page(index).all("h1")[0].text == "Second"
    assert not (folder / "assets" / "stale.svg").exists()


def test_wrong_tables_leave_the_old_report(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write_report(replace(empty_data(), benchmark="First"), folder)
    with pytest.raises(LakeError, match="'filings' does not fit"):
        write_report(replace(empty_data(), filings=pa.table({"filing": ["x"]})), folder)
    assert page(folder / "index.html").all("h1")[0].text == "First"


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="Choose another folder"):
        write_report(empty_data(), tmp_path)


def test_undecodable_paths_do_not_stop_the_report(tmp_path: Path) -> None:
    data = replace(empty_data(), command="finrag run --source data/caf\udce9")
    assert "data/caf?" in write_report(data, tmp_path / "report").read_text()
