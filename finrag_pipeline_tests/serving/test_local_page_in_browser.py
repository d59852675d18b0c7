"""The page at ``/`` in a real browser over the sample: from a question to the cell, and back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
import uvicorn

from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.server import listen
from finrag_pipeline.serving.service import SearchService
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests.reporting.browser import COLOURS, browser, violations, visit  # noqa: F401
from finrag_pipeline_tests.shared_run import sample_lake

pytestmark = pytest.mark.slow

CAPEX = "What was Torvexley's capital expenditure in FY2023, in USD millions?"
SERIES = "How did Torvexley's revenue develop over the last eight quarters?"
NOTHING = "What were Torvexley's sales to astronauts in FY2023?"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the sample is served, its models loaded."""
    service = SearchService(Settings(lake=str(sample_lake(tmp_path_factory)[0])))
    assert service.refresh()
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(service), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()


def open_page(visit: Any, address: str, question: str = "", **options: Any) -> Any:  # noqa: F811
    page = visit(**options).page
    page.set_default_timeout(60_000)  # the first question loads models
    page.goto(f"{address}/?{urlencode({'q': question})}" if question else f"{address}/")
    return page


def drawn(page: Any) -> str:
    """What marks the cell on the page that is open, once its picture is there."""
    picture = page.locator("#sheet img")
    picture.wait_for()
    while not picture.evaluate("image => image.complete"):
        page.wait_for_timeout(20)
    assert picture.evaluate("image => image.naturalWidth") > 500
    return str(page.locator("#sheet path.used").get_attribute("d"))


def test_from_a_question_to_the_cell_and_back(visit: Any, address: str) -> None:  # noqa: F811
    page = open_page(visit, address)
    page.keyboard.type(CAPEX)  # the field has the focus
    page.keyboard.press("Enter")
    assert page.locator(".answer").inner_text() == "$171 million"
    link = page.get_by_role("link", name="(171)")
    link.focus()
    page.keyboard.press("Enter")
    marked = drawn(page)
    box = parse_qs(urlsplit(page.url).query)["box"][0].split(",")
    assert marked.startswith(f"M{float(box[0]) - 2.5:.1f}".removesuffix(".0"))
    assert page.evaluate("document.activeElement.id") == "sheet-title"
    shared = page.url
    page.get_by_role("link", name="Page 11").click()
    page.get_by_role("heading", name="page 11").wait_for()
    page.go_back()
    page.get_by_role("heading", name="page 10").wait_for()
    assert page.url == shared and drawn(page) == marked
    page.keyboard.press("Escape")
    assert not page.locator("#sheet").is_visible() and "filing" not in page.url
    assert link.evaluate("link => link === document.activeElement")
    other = visit().page
    other.goto(shared)
    assert drawn(other) == marked and other.locator(".answer").inner_text() == "$171 million"


def test_without_scripts_the_same_is_shown(visit: Any, address: str) -> None:  # noqa: F811
    page = open_page(visit, address, CAPEX, java_script_enabled=False)
    page.get_by_role("link", name="(171)").click()
    page.get_by_role("heading", name="TORVEXLEY_2023_10K, page 10").wait_for()  # the page is loaded anew
    assert page.locator("#sheet path.used").count() == 1
    page.get_by_role("link", name="Close").click()
    page.locator("#sheet").wait_for(state="hidden")
    assert page.locator("#sheet").is_hidden() and page.locator(".answer").inner_text() == "$171 million"


def test_a_series_has_bars_and_an_abstention_the_closest_rows(visit: Any, address: str) -> None:  # noqa: F811
    page = open_page(visit, address, SERIES)
    bars = page.locator(".series rect")
    assert bars.count() == 8
    assert max(float(bar.get_attribute("width")) for bar in bars.all()) == 100.0
    page = open_page(visit, address, NOTHING)
    page.get_by_role("heading", name="Not answered").wait_for()
    page.get_by_role("link", name="3,691").first.click()
    assert drawn(page)


def test_filters_hold_for_the_list_and_for_questions(visit: Any, address: str) -> None:  # noqa: F811
    page = open_page(visit, address)
    page.get_by_role("combobox", name="Form").select_option("10-Q")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url("**form=10-Q**")
    forms = page.locator("main tbody td:nth-child(3)").all_inner_texts()
    assert forms and set(forms) == {"10-Q"}
    page.locator("#q").fill("What were net sales?")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=What**")
    found = page.locator(".found .where").all_inner_texts()
    assert found and all("10Q" in where for where in found)
    assert page.get_by_role("combobox", name="Form").input_value() == "10-Q"
    assert page.locator(".found .drawn path.words[d*=M]").count()


@pytest.mark.parametrize("question", ["", CAPEX, SERIES, NOTHING])
def test_axe_finds_nothing_and_a_phone_scrolls_down_only(
    visit: Any,  # noqa: F811
    address: str,
    question: str,
) -> None:
    page = open_page(visit, address, question, color_scheme="light", bypass_csp=True)
    page.locator("main a[data-page]:not([tabindex])").first.click()
    page.locator("#sheet h2").wait_for()
    page.locator("#sheet summary").click()
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, COLOURS) == []
    page.set_viewport_size({"width": 390, "height": 844})
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0
    assert violations(page) == []


def test_axe_finds_nothing_on_the_page_for_programs(visit: Any, address: str) -> None:  # noqa: F811
    page = visit(color_scheme="dark").page
    page.set_content(httpx.get(f"{address}/docs", trust_env=False).text)  # a browser asks for an icon, too
    assert violations(page) == []
