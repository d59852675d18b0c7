"""Overview, filings, a filing and the method in a real browser, straight from the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.reporting.report import write_report
from finrag_pipeline_tests.reporting.browser import COLOURS, violations
from finrag_pipeline_tests.reporting.lake_builders import FILING, small_data

PAGES = ("index.html", "filings.html", f"filings/{FILING}.html", "filings/BROKEN.html", "method.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(small_data(), tmp_path_factory.mktemp("site") / "report").parent


def visible(page: Any, table: str) -> list[str]:
    """First cells of the rows that are shown."""
    cells = page.locator(f"#table-{table} tbody tr:visible > :first-child .value").all_inner_texts()
    return [" ".join(text.split()) for text in cells]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_a_narrow_window_scrolls_down_only(folder: Path, visit: Any, name: str) -> None:
    page = visit(color_scheme="light").go(folder / name)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, COLOURS) == []
    page.set_viewport_size({"width": 360, "height": 740})
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0


def test_the_menu_leads_to_every_page(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "index.html")
    menu = page.get_by_role("navigation", name="Pages of the report")
    for name in ("Filings", "Method", "Overview"):
        menu.get_by_role("link", name=name).click()
        current = menu.locator("[aria-current=page]")
        assert current.inner_text() == name
        assert page.locator("h1").count() == 1


def test_systems_are_filtered_and_counted(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "index.html")
    results = page.locator("#results")
    assert len(visible(page, "metrics-all")) == 9
    results.get_by_role("combobox", name="Space").select_option(label="Oracle filing")
    assert len(visible(page, "metrics-all")) == 3
    results.get_by_role("combobox", name="System").select_option(label="Dense")
    assert visible(page, "metrics-all") == ["Dense"]
    assert results.locator("output").inner_text() == "1 of 9 rows"
    results.get_by_role("combobox", name="Space").select_option(label="All spaces")
    results.get_by_role("searchbox").fill("oracle PAGES")
    assert len(visible(page, "metrics-all")) == 1
    results.get_by_role("searchbox").fill("")
    results.get_by_role("combobox", name="System").select_option(label="All systems")
    assert len(visible(page, "metrics-all")) == 9
    assert results.locator("output").inner_text() == ""


def test_recorded_answers_can_be_left_out(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "index.html")
    answers = page.locator("#answers > form")
    answers.get_by_label("System").select_option(label="This pipeline")
    assert visible(page, "answers") == ["Calculator", "Extractive"]
    answers.get_by_label("System").select_option(label="Recorded answers")
    answers.get_by_label("Given").select_option(label="Nothing (closed book)")
    assert visible(page, "answers") == ["gpt-4_closedBook"]


def test_tables_sort_by_keyboard(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "filings.html")
    head = page.locator("#table-filings thead th", has_text="Pages")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    counts = page.locator("#table-filings tbody tr td:nth-child(6)").all_inner_texts()
    numbers = [int(text.replace(",", "")) for text in counts]
    assert numbers == sorted(numbers, reverse=True)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"


def test_a_filing_is_found_and_opened(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "filings.html")
    page.get_by_label("State").select_option(label="Could not be read")
    assert visible(page, "filings") == ["BROKEN"]
    page.get_by_label("State").select_option(label="All")
    page.get_by_label("Containing").fill(FILING.lower())
    page.get_by_role("link", name=FILING).click()
    assert page.locator("h1").inner_text() == FILING
    page.get_by_role("link", name="page 41").first.click()
    assert page.url.endswith("#page-41")
    assert page.locator("#page-41").is_visible()


def test_the_head_of_a_long_table_stays_in_sight(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "filings.html")
    frame = page.locator(".scroll.long").first
    frame.evaluate("element => element.scrollTop = 900")
    head, inner = frame.locator("thead th").first.bounding_box(), frame.bounding_box()
    assert abs(head["y"] - inner["y"]) < 3


def test_without_scripts_everything_is_there(folder: Path, visit: Any) -> None:
    page = visit(java_script_enabled=False).go(folder / "filings.html")
    assert page.locator("#table-filings tbody tr").count() == 29
    assert page.locator("form").is_hidden()
