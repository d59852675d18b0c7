"""A real browser for the pages of a report: Chromium where it is installed, else the tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless Chromium for the tests of a file.

    Not for all: while it lives an event loop runs in this process, and nothing else can start one.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass
class Visit:
    """A page in a context of its own, with what went wrong and what it asked for.

    Attributes:
        page: Playwright's page.
        problems: messages of the console and uncaught errors.
        requests: addresses that were asked for.
    """

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def go(self, path: Path, query: str = "") -> Any:
        """Open a file; returns the page."""
        self.page.goto(path.as_uri() + query)
        return self.page


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens fresh contexts: ``visit(color_scheme="dark", java_script_enabled=False, …)`` gives a `Visit`.

    When the test is over, none of its pages may have had an error or asked for anything but files and what
    this machine serves.
    """
    contexts, visits = [], []

    def open_one(**options: Any) -> Visit:
        context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
        contexts.append(context)
        found = Visit(context.new_page())
        found.page.set_default_timeout(30_000)
        found.page.on(
            "console", lambda message: found.problems.append(message.text) if message.type != "info" else None
        )
        found.page.on("pageerror", lambda error: found.problems.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        visits.append(found)
        return found

    yield open_one
    for context in contexts:
        context.close()
    for found in visits:
        assert found.problems == []
        assert all(url.startswith(("file:", "data:", "http://127.0.0.1:")) for url in found.requests)


@pytest.fixture
def page(visit: Any) -> Any:
    """A page of a fresh context, with the checks of `visit`."""
    return visit().page


COLOURS = ("color-contrast", "link-in-text-block")
"""Rules of axe that another colour scheme alone can break."""


def violations(page: Any, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds on a page, by all of its rules or some: rule and the first element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    # Without its own requests for style sheets, which a browser refuses to files, and without the elements
    # that are as they should be, which take as long to tell as the others to find.
    options: dict[str, Any] = {"preload": False, "resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = axe.Axe().run(page, options=options).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary'][:300]}"
        for one in found
    ]
