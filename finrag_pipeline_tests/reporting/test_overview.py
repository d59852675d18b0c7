"""The parts of the overview that show optional tables, and what it says where they are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from finrag_pipeline.reporting.grid import MetricIndex
from finrag_pipeline.reporting.overview import SECTIONS, overview_context, overview_plots
from finrag_pipeline.reporting.site import render_page
from finrag_pipeline.reporting.tables import (
    answers_grid,
    comparison_choices,
    comparison_grid,
    detector_grid,
    examples_grid,
    family_sizes,
    features_grid,
    pages_grid,
    training_grid,
)
from finrag_pipeline_tests.reporting.builders import random_metrics, report_data
from finrag_pipeline_tests.reporting.html_tree import Element, parse
from finrag_pipeline_tests.reporting.lake_builders import answer_metrics, full_data, full_tables
from finrag_pipeline_tests.reporting.reports import shared_report

CLOSED = {"recorded gpt-4_closedBook"}


def words(element: Element) -> str:
    return " ".join(element.text.split())


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_report(tmp_path_factory, "full") / "index.html"


@pytest.fixture(scope="module")
def document(index: Path) -> Element:
    return parse(index.read_text(encoding="utf-8"))


def test_the_menu_of_the_page_names_its_sections(document: Element) -> None:
    (contents,) = [e for e in document.all("nav") if e.attributes.get("class") == "contents"]
    assert [words(a) for a in contents.all("a")] == list(SECTIONS.values())
    assert [str(e.attributes["id"]) for e in document.all("section")] == list(SECTIONS)


def test_every_plot_is_written_and_shown(index: Path, document: Element) -> None:
    names = set(overview_plots(full_data()))
    assert names == {
        *("gap", "page-recall", "alpha", "training-document", "gap-levels"),
        "judge-sensitivity",
    }
    shown = {str(image.attributes["src"]) for image in document.all("img")}
    assert shown == {f"assets/{name}-light.svg" for name in names}
    for name in names:
        assert (index.parent / f"assets/{name}-dark.svg").stat().st_size > 1000


def test_recorded_answers_are_marked_and_come_after_this_pipelines() -> None:
    grid = answers_grid(MetricIndex(answer_metrics()), CLOSED)
    names = [(row.cells[0].text, row.cells[0].small, row.cells[1].text) for row in grid.rows]
    assert names == [
        ("Calculator", "on the passages of finrag", "Whole corpus"),
        ("Extractive", "on the passages of finrag", "Whole corpus"),
        ("gpt-4_oracle", "recorded answers of another model", "Oracle pages"),
        ("gpt-4_closedBook", "recorded answers of another model", "Nothing (closed book)"),
    ]
    first = grid.rows[0].cells
    assert (first[2].text, first[2].small) == ("0.650", "0.600–0.700")
    assert (first[-2].text, first[-1].text) == ("150", "52")
    sliced = answers_grid(MetricIndex(answer_metrics()), CLOSED, "question_type")
    assert [row.cells[0].text for row in sliced.rows] == ["metrics"] * 4


def test_differences_have_intervals_corrected_p_values_and_what_could_be_found() -> None:
    table = full_tables()["system_comparisons"]
    rows = [[(cell.text, cell.small) for cell in row.cells] for row in comparison_grid(table).rows]
    assert [row[0][0] for row in rows] == ["Hybrid, reciprocal rank fusion", "BM25 (Okapi)", "Dense"]
    assert rows[0][5] == ("+0.200", "[+0.100, +0.300]")
    assert rows[0][6:9] == [("0.0004", ""), ("0.120", ""), ("30 / 10 / 110", "")]
    assert rows[2][5:8] == [("+0.100", ""), ("–", ""), ("–", "")]
    assert family_sizes(table) == [1, 2]
    baselines = comparison_choices(table)[0]
    assert baselines[1] == "baseline" and [value for value, _ in baselines[3]] == ["dense", "bm25"]


def test_rows_can_be_filtered_by_what_the_selects_name(document: Element) -> None:
    for form in document.all("form"):
        area = document.by_id(str(form.attributes["data-filters"]))
        tables = [table for table in area.all("table") if "data-filterable" in table.attributes]
        assert tables, form.attributes
        for select in form.all("select"):
            name = f"data-{select.attributes['name']}"
            options = {option.attributes["value"] for option in select.all("option")} - {""}
            rows = [row for table in tables for row in table.all("tbody")[0].all("tr")]
            assert options & {row.attributes.get(name) for row in rows}, name


def test_examples_are_of_different_systems_first() -> None:
    tables, data = full_tables(), report_data()
    links = {"q1": "questions/q1.html"}
    rows = examples_grid(tables["retrieval_gap"], data.questions, links).rows
    told = [(row.cells[0].text, row.cells[1].small, row.cells[2].text, row.cells[1].link) for row in rows]
    assert told == [
        ("Wrong year", "q0", "BM25 (Okapi)", ""),
        ("Wrong year", "q1", "Dense", "questions/q1.html"),
        ("Wrong year", "q2", "BM25 (Okapi)", ""),
        ("Lexical gap", "q2", "Dense", ""),
    ]


def test_pages_of_the_page_scorer_are_compared() -> None:
    metrics = random_metrics(("dense", "page_scorer", "page_scorer_p5", "page_scorer_p10"), companies=1)
    assert [row.cells[0].text for row in pages_grid(MetricIndex(metrics)).rows] == [
        "P = 5",
        "P = 10",
        "P = 20",
    ]
    assert pages_grid(MetricIndex(random_metrics(companies=1))).rows == ()


def test_trainings_and_features_are_summed_up() -> None:
    tables = full_tables()
    rows = training_grid(tables["page_scorer"], tables["folds"]).rows
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["fold_0", "document", "2", "3", "0.400", "0.250", "0.400"],
        ["fold_1", "document", "0", "0", "0.300", "0.250", "0.400"],
    ]
    assert rows[0].cells[-1].small == "n = 2"
    features = features_grid(tables["page_ranker"]).rows
    assert [(row.cells[0].text, row.cells[1].text) for row in features] == [
        ("bm25_terms_body", "0.600"),
        ("best_cosine", "0.400"),
    ]


def test_detectors_are_counted() -> None:
    rows = detector_grid(full_tables()["table_counts"]).rows
    assert [[cell.text for cell in row.cells] for row in rows] == [
        ["words", "1", "30", "41", "900", "20"],
        ["pymupdf", "1", "3", "4", "50", "1"],
    ]


def test_what_is_missing_says_how_to_make_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    index = shared_report(tmp_path_factory, "plain") / "index.html"
    text = words(parse(index.read_text(encoding="utf-8")))
    for command in ("finrag answers", "finrag judge", "finrag train page_scorer", "finrag run"):
        assert f"'{command}" in text, command


def test_any_table_may_be_missing_or_empty() -> None:
    tables, metrics = full_tables(), random_metrics(("dense",), companies=1)
    for name, table in tables.items():
        for changed in ({**tables, name: table.slice(0, 0)}, {k: v for k, v in tables.items() if k != name}):
            data = full_data(tables=changed, metrics=metrics)
            assert not data.tables[name].num_rows
            html = render_page("report.html.jinja", "Overview", **overview_context(data, {}))
            assert html.count("<h2") == len(SECTIONS), name
