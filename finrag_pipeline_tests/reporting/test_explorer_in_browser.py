"""The question explorer in a real browser, straight from the files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.reporting.explorer import question_links, write_explorer
from finrag_pipeline.reporting.explorer_data import ExplorerData, collect_explorer
from finrag_pipeline.reporting.page_pictures import page_images
from finrag_pipeline.reporting.site import TEMPLATES
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests.reporting.browser import COLOURS, violations
from finrag_pipeline_tests.reporting.explorer_lake import FILINGS, HOSTILE_ID, write_explorer_lake


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExplorerData]:
    root = tmp_path_factory.mktemp("explorer")
    settings = Settings(lake=str(root / "lake"))
    lake = write_explorer_lake(settings, root / "in")
    data = collect_explorer(lake, FILINGS)
    target = root / "report"
    (target / "assets").mkdir(parents=True)
    for name in ("report.css", "report.js"):
        (target / "assets" / name).write_bytes((TEMPLATES / name).read_bytes())
    write_explorer(data, target, partial(page_images, lake))
    return target, data


@pytest.fixture(scope="module")
def folder(report: tuple[Path, ExplorerData]) -> Path:
    return report[0]


@pytest.fixture(scope="module")
def links(report: tuple[Path, ExplorerData]) -> dict[str, str]:
    return question_links(report[1])


def shown(page: Any) -> list[str]:
    """Identifiers of the questions in the list."""
    rows = page.locator("#questions tbody tr:visible th a")
    return [row.get_attribute("href").split("?")[0].split("/")[1] for row in rows.all()]


def column(page: Any, name: str) -> list[str]:
    place = page.locator(f"#questions thead th[data-column={name}]").evaluate("cell => cell.cellIndex")
    return [
        row.inner_text()
        for row in page.locator(f"#questions tbody tr:visible > :nth-child({place + 1})").all()
    ]


def follow(page: Any, link: Any) -> None:
    """Click a link, and wait until its page is loaded: a click alone does not."""
    with page.expect_navigation():
        link.click()


def hits(page: Any, side: str) -> list[str]:
    return page.locator(f".ranking[data-side={side}] .where").all_inner_texts()


def test_search_finds_words_in_any_order(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "questions.html")
    assert len(shown(page)) == 6
    assert page.locator("#explore output").inner_text() == "6 of 6 questions"
    page.locator("#explore-text").fill("birch REVENUE")
    assert shown(page) == ["q_text.html"]
    page.locator("#explore-text").fill("nothing of the kind")
    assert shown(page) == []
    page.get_by_role("button", name="Clear all filters").click()
    assert len(shown(page)) == 6


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"company": "Birch"}, ["q_text.html"]),
        ({"source": "page_text"}, ["q_text.html"]),
        ({"type": "novel-generated"}, ["q_two_pages.html"]),
        ({"outcome": "w"}, ["q_text.html"]),
        ({"outcome": "r"}, ["q_metrics"]),
        ({"level": "generation"}, ["q_text.html"]),
        ({"label": "invented_number"}, ["q_text.html"]),
        ({"left": "dense", "label": "wrong_year", "type": "novel-generated"}, ["q_two_pages.html"]),
        ({"left": "dense", "right": "finrag", "found": "left"}, []),
        ({"found": "left", "company": "Alder", "type": "novel-generated"}, ["q_two_pages.html"]),
        ({"answers": "recorded some-model_closedBook/-/-", "outcome": "w", "type": "novel-generated"},
         ["q_two_pages.html"]),
    ],
)  # fmt: skip
def test_filters(folder: Path, visit: Any, choices: dict[str, str], expected: list[str]) -> None:
    page = visit().go(folder / "questions.html")
    for name, value in choices.items():
        page.locator(f"#explore [name={name}]").select_option(value)
    found = shown(page)
    assert len(found) == len(expected)
    assert all(name.startswith(wanted) for name, wanted in zip(found, expected, strict=True))


def test_the_columns_follow_the_chosen_systems(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "questions.html")
    assert column(page, "left")[:3] == ["1.00 ●"] * 3
    assert column(page, "right")[:3] == ["0.00 ○"] * 3
    page.locator("[name=left]").select_option("bm25")
    assert column(page, "left")[:3] == ["1.00 ●", "0.50 ◐", "1.00 ●"]
    assert "bm25" in page.locator("thead [data-column=left]").inner_text()
    page.locator("thead [data-column=left] button").click()
    assert column(page, "left")[-2:] == ["–", "–"], "sorted by the new figures, unmeasured last"
    assert column(page, "level")[0] == "–", "nothing is known of where this system loses"


def test_a_filtered_list_can_be_shared(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "questions.html")
    page.locator("[name=left]").select_option("bm25")
    page.locator("[name=company]").select_option("Alder")
    page.locator("#explore-text").fill("expenditure")
    address = page.evaluate("location.href")
    assert address.startswith("file:") and "left=bm25" in address and "text=expenditure" in address
    other = visit().page
    other.goto(address)
    assert shown(other) == ["q_two_pages.html"]
    assert other.locator("[name=left]").input_value() == "bm25"
    assert column(other, "left") == ["0.50 ◐"]
    # The question opens with the same system, and its link back leads to the same list.
    other.locator("#questions tbody tr:visible a").click()
    other.locator("#left-name", has_text="bm25").wait_for()
    follow(other, other.get_by_role("link", name="All questions"))
    assert shown(other) == ["q_two_pages.html"]


def test_previous_and_next_keep_to_the_list(folder: Path, links: dict[str, str], visit: Any) -> None:
    page = visit().go(folder / "questions.html")
    every = shown(page)
    page.locator("#explore-text").fill("alder")
    listed = shown(page)
    assert 2 <= len(listed) < len(every), "the filter leaves something out, and something to turn to"
    follow(page, page.locator("#questions tbody tr:visible a").first)
    place, following = page.locator(".turn .place"), page.locator(".turn a[rel=next]")
    assert place.inner_text() == f"1 of {len(listed)} in this list"
    assert not page.locator(".turn a[rel=prev]").is_visible()
    for number, name in enumerate(listed[1:], start=2):
        follow(page, following)
        assert page.url.split("?")[0].endswith(name)
        assert place.inner_text() == f"{number} of {len(listed)} in this list"
    assert not following.is_visible()
    # Somebody who is given the address has not seen the list: all questions take turns.
    other = visit().page
    other.goto(page.url)
    assert other.locator(".turn .place").inner_text() == f"{every.index(listed[-1]) + 1} of {len(every)}"


def test_the_state_may_stand_behind_the_hash(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "questions.html", "#company=Birch&left=nothing_like_it")
    assert shown(page) == ["q_text.html"]
    assert page.locator("[name=left]").input_value() == "finrag", "unknown values are left alone"


def test_two_systems_are_compared(folder: Path, links: dict[str, str], visit: Any) -> None:
    page = visit().go(folder / links["q_metrics"])
    assert "ALDER_2021_10K, page 3" in hits(page, "left")[0] and "Gold page" in hits(page, "left")[0]
    assert "Gold page" not in " ".join(hits(page, "right")[:5])
    figures = page.locator(".ranking[data-side=right] dd")
    assert figures.all_inner_texts() == ["1.00", "0.00", "p. 3: 10"]
    page.locator("#compare [name=right]").select_option("bm25")
    assert "Gold page" in hits(page, "right")[0]
    assert figures.all_inner_texts() == ["1.00", "1.00", "p. 3: 1"]
    assert not page.locator(".ranking .why", has_text="Score").count(), "no scale that people could read"
    page.locator("#compare [name=left]").select_option("finrag")
    assert "Why: " in page.locator(".ranking[data-side=left] .hit").first.inner_text()


def test_a_comparison_can_be_shared(folder: Path, links: dict[str, str], visit: Any) -> None:
    page = visit().go(folder / links["q_two_pages"])
    page.locator("#compare [name=right]").select_option("dense_pages")
    page.locator("#compare [name=space]").select_option("filing")
    expected = hits(page, "right")
    other = visit().page
    other.goto(page.evaluate("location.href"))
    assert other.locator("#right-name").inner_text() == "dense_pages"
    assert other.locator("#compare [name=space]").input_value() == "filing"
    assert hits(other, "right") == expected
    # Reading on keeps the systems.
    follow(other, other.get_by_role("link", name="Next"))
    assert other.locator("#right-name").inner_text() == "dense_pages"
    assert other.locator("h1").inner_text().startswith("What was the revenue of division 2 of Birch")


def test_the_script_shows_what_the_page_shows_without_it(
    folder: Path, links: dict[str, str], visit: Any
) -> None:
    for name in ("q_metrics", "q_two_pages", HOSTILE_ID):
        seen = []
        for scripts in (False, True):
            page = visit(java_script_enabled=scripts).go(folder / links[name])
            assert page.locator("#compare").is_visible() == scripts
            seen.append(
                [
                    (hits(page, side), page.locator(f"[data-side={side}]").inner_text())
                    for side in ("left", "right")
                ]
            )
        assert seen[0] == seen[1]
        assert seen[0][0][0]
    page = visit(java_script_enabled=False).go(folder / "questions.html")
    assert len(shown(page)) == 6 and not page.locator("#explore").is_visible()


def test_layers_can_be_taken_off_the_picture(folder: Path, links: dict[str, str], visit: Any) -> None:
    page = visit().go(folder / links["q_metrics"])
    sheet = page.locator(".sheet").first
    image = sheet.locator("img")
    image.scroll_into_view_if_needed()
    page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=image.element_handle())
    for name, box in (("evidence", ".evidence"), ("used", ".used"), ("facts", ".facts")):
        assert sheet.locator(f"svg {box}").is_visible()
        page.locator(f"#show-{name}").uncheck()
        assert not sheet.locator(f"svg {box}").is_visible()
    assert not sheet.locator("svg .numbers").is_visible()
    page.locator("#show-cells").check()
    assert sheet.locator("svg .numbers").is_visible() and sheet.locator("svg .unreadable").is_visible()


def test_texts_of_others_stay_texts(folder: Path, links: dict[str, str], visit: Any) -> None:
    page = visit().go(folder / links[HOSTILE_ID])
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.locator("#compare [name=right]").select_option("bm25")
    page.locator("#compare [name=left]").select_option("dense")
    assert '<script>alert("x")</script>' in page.locator("h1").inner_text()
    assert page.locator("script:not([src]):not([type='application/json'])").count() == 0
    visit().go(folder / "questions.html", "?text=<script>alert(1)</script>&company=<b>")
    assert dialogs == []


@pytest.mark.slow
def test_axe_finds_nothing_and_it_scrolls_down_only(folder: Path, links: dict[str, str], visit: Any) -> None:
    page = visit(color_scheme="light").page
    for path in ("questions.html", *(links[name] for name in ("q_metrics", "q_text", HOSTILE_ID))):
        page.goto((folder / path).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for scheme, width, rules in (("light", 1280, ()), ("dark", 1280, COLOURS), ("dark", 420, ())):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            assert violations(page, rules) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{path} scrolls sideways"


def test_it_works_with_the_keyboard_alone(folder: Path, visit: Any) -> None:
    page = visit().go(folder / "questions.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#explore-text").focus()
    page.keyboard.type("capital expenditure")
    assert shown(page) == ["q_two_pages.html"]
    page.locator("#questions tbody tr:visible a").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#compare")
    page.locator("#compare [name=left]").focus()
    page.keyboard.type("bm")
    assert page.locator("#left-name").inner_text() == "bm25"
    assert "bm25: PageRec@5 0.50" in page.locator("#compared").inner_text(), "told to screen readers"
