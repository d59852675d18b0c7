"""The pages of the question explorer as they are written, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.reporting.explorer import (
    default_pair,
    loss_of,
    question_links,
    write_explorer,
)
from finrag_pipeline.reporting.explorer_data import (
    ExplorerData,
    ExplorerQuestion,
    collect_explorer,
    cut,
    number_text,
    scale_text,
)
from finrag_pipeline.reporting.explorer_pages import outline, text_parts
from finrag_pipeline.reporting.page_pictures import page_images
from finrag_pipeline.reporting.report import write_report
from finrag_pipeline.reporting.site import _environment
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.reporting.builders import HOSTILE, report_data
from finrag_pipeline_tests.reporting.explorer_lake import FILINGS, HOSTILE_ID, PDF, write_explorer_lake
from finrag_pipeline_tests.reporting.html_tree import Element, body_rows, parse
from finrag_pipeline_tests.reporting.reports import shared_report


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    root = tmp_path_factory.mktemp("explorer")
    return write_explorer_lake(Settings(lake=str(root / "lake")), root / "in")


@pytest.fixture(scope="module")
def data(lake: Lake) -> ExplorerData:
    return collect_explorer(lake, FILINGS)


def bare(data: ExplorerData) -> ExplorerData:
    """Questions and nothing else."""
    return ExplorerData(tuple(ExplorerQuestion(question.row) for question in data.questions))


def one_system(data: ExplorerData) -> ExplorerData:
    """One system, no answers, no gold page."""

    def only(question: ExplorerQuestion) -> ExplorerQuestion:
        rankings = {key: ranking for key, ranking in question.rankings.items() if key == ("corpus", "bm25")}
        row = {**question.row, "gold_pages": None, "evidence": None, "answer": "", "justification": None}
        return replace(question, row=row, rankings=rankings, answers=(), losses=(), shown=question.shown[:1])

    return replace(data, questions=tuple(only(question) for question in data.questions))


CASES: dict[str, Any] = {"full": lambda data: data, "bare": bare, "one system": one_system}


@pytest.fixture(scope="module", params=CASES)
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, data: ExplorerData, lake: Lake
) -> Path:
    target = tmp_path_factory.mktemp("report")
    images = partial(page_images, lake) if request.param == "full" else None
    assert write_explorer(CASES[request.param](data), target, images) == len(data.questions)
    return target


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, data: ExplorerData, lake: Lake) -> Path:
    target = tmp_path_factory.mktemp("full")
    write_explorer(data, target, partial(page_images, lake), {PDF: "filings/alder.html"})
    return target


def page(path: Path) -> Element:
    return parse(path.read_text(encoding="utf-8"))


def words(element: Element) -> str:
    return " ".join(element.text.split())


def spread(element: Element) -> str:
    """Its words, with a space between elements."""

    def texts(one: Element) -> list[str]:
        return [
            text for child in one.children for text in ([child] if isinstance(child, str) else texts(child))
        ]

    return " ".join(" ".join(texts(element)).split())


def section(document: Element, title: str) -> Element:
    (found,) = [e for e in document.walk() if e.attributes.get("aria-labelledby") == title]
    return found


def test_every_page_is_sound(folder: Path) -> None:
    paths = [folder / "questions.html", *sorted((folder / "questions").iterdir())]
    assert len(paths) == 7
    for path in paths:
        document = page(path)
        assert (
            len(document.all("h1"))
            == len(document.all("main"))
            == len(document.all("head")[0].all("title"))
            == 1
        )
        levels = [int(e.tag[1]) for e in document.walk() if re.fullmatch("h[1-6]", e.tag)]
        assert all(after - before <= 1 for before, after in pairwise(levels)), path
        identifiers = [e.attributes["id"] for e in document.walk() if "id" in e.attributes]
        assert len(identifiers) == len(set(identifiers)), path
        for element in document.walk():
            assert not [name for name in element.attributes if name.startswith("on") or name == "style"]
            if element.tag == "script":
                assert "src" in element.attributes or element.attributes["type"] == "application/json"
                if "src" not in element.attributes:
                    json.loads(element.text)
            target = element.attributes.get("href") or element.attributes.get("src")
            if target is None or target == "data:,":
                continue
            if target.startswith("#"):
                assert target[1:] in identifiers, f"{path}: {target}"
            elif not re.search(r"(index|filings|method)\.html$|report\.(css|js)$", target):
                assert (path.parent / target).resolve().is_relative_to(folder.resolve())
                assert (path.parent / target).is_file(), f"{path}: {target}"


def test_names_of_files_are_safe_and_never_alike(full: Path, data: ExplorerData) -> None:
    names = [path.name for path in (full / "questions").iterdir()]
    assert len({name.casefold() for name in names}) == len(data.questions)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.html", name) for name in names)
    assert question_links(data)["q_two_pages"] == "questions/q_two_pages.html"


def test_texts_of_others_are_texts(full: Path, data: ExplorerData) -> None:
    path = full / question_links(data)[HOSTILE_ID]
    source = path.read_text(encoding="utf-8")
    assert '<script>alert("' not in source and "</script><script>" not in source
    document = page(path)
    assert words(document.all("h1")[0]).startswith(HOSTILE.split("very")[0][:40])
    assert words(document.all("h1")[0]).endswith("more characters)"), "a long question is cut in its heading"
    assert document.text.count("very long") > 300, "and stands there in whole below"
    assert len(words(document.all("title")[0])) < 160


def test_the_list_holds_every_question_with_both_systems(full: Path) -> None:
    document = page(full / "questions.html")
    rows = body_rows(document.by_id("questions"))
    assert len(rows) == 6
    first = [words(cell) for cell in rows[0]]
    assert first[0].startswith("What was the revenue of division 2 of Alder Corp in FY2021?")
    assert "ALDER_2021_10K" in first[0] and "q_metrics" in first[0]
    assert first[1:] == ["1.00 ●", "0.00 ○", "✓ right", "Nothing lost"]
    assert [words(cell) for cell in rows[2]][3:] == ["✗ wrong", "Wrong or no answer Invented number"]
    excluded = [words(cell) for cell in rows[5]]
    assert "Not measured: gold filing 'GONE_2020_10K' could not be read" in excluded[0]
    assert excluded[1:] == ["–", "–", "–", "–"]


def test_a_question_shows_two_rankings_and_marks_gold_in_words(full: Path, data: ExplorerData) -> None:
    document = page(full / question_links(data)["q_metrics"])
    left, right = (section(document, f"{side}-name") for side in ("left", "right"))
    assert words(left.all("h3")[0]) == "finrag" and words(right.all("h3")[0]) == "dense"
    hits = left.all("li")
    assert "Rank 1" in words(hits[0]) and "ALDER_2021_10K, page 3" in words(hits[0])
    assert "Gold page" in words(hits[0]) and "Gold page" not in words(hits[1])
    assert "Why: income statement" in words(hits[0])
    assert [words(value) for value in right.all("dd")] == ["1.00", "0.00", "p. 3: 10"]


def test_the_data_hold_every_ranking(full: Path, data: ExplorerData) -> None:
    payload = json.loads(page(full / question_links(data)["q_metrics"]).by_id("ranked-data").text)
    assert set(payload["runs"]) == {"corpus", "filing"}
    for space, runs in payload["runs"].items():
        for system, run in runs.items():
            ranking = data.questions[0].rankings[space, system]
            assert [payload["places"][hit[0]][:2] for hit in run["hits"]] == [
                [found["filing"], found["page"]] for found in ranking["pages"]
            ]
            assert [hit[1] for hit in run["hits"]] == [found["ranks"] for found in ranking["pages"]]


def test_the_answer_is_derived_cell_by_cell(full: Path, data: ExplorerData) -> None:
    document = page(full / question_links(data)["q_metrics"])
    answers = spread(section(document, "answers-title"))
    for told in (
        "calculator on finrag Whole corpus ✓ right by comparison of the numbers",
        "Formula revenue@2021",
        "Revenue FY2021 = 221 million",
        "Revenue FY2021 221 millions 221,000,000 ALDER_ 2021_ 10K, page 3",
        "“Revenue of division 2”, table 1, row 2, column 2",
        "Revenue of all divisions: $884 million (as well)",
        "Size FY2021 $221 million Formula",
        "Strict match, wide 1.00",
        "1 declined, 2 not judged",
        "some-model_ closedBook nothing given ✗ wrong by people It says 7.",
    ):
        assert told in answers


def test_pages_are_shown_with_what_was_read_from_them(full: Path, data: ExplorerData) -> None:
    document = page(full / question_links(data)["q_metrics"])
    sheet = document.by_id("page-1")
    (image,) = sheet.all("img")
    assert image.attributes["src"] == "../pages/ALDER_2021_10K_p3.webp"
    assert (full / "pages/ALDER_2021_10K_p3.webp").stat().st_size > 1000
    assert "1 table, 1 fact, 1 cell used in the calculation" in str(image.attributes["alt"])
    layers = {str(path.attributes["class"]) for path in sheet.all("path")}
    assert layers == {"tables", "headers", "numbers", "unreadable", "evidence", "used"}
    assert words(sheet.all("title")[0]) == "Revenues: 221"
    assert [link.attributes["href"] for link in sheet.all("a")] == ["../filings/alder.html"]
    assert len(list((full / "pages").iterdir())) == 4, "a page that several questions show is there once"
    text = page(full / question_links(data)["q_text"]).by_id("page-1")
    assert [words(mark) for mark in text.all("mark")] == ["The revenue of division 2 was $221 million"]


def test_what_is_missing_is_said_and_the_rest_goes_on(
    full: Path, data: ExplorerData, lake: Lake, tmp_path: Path
) -> None:
    hostile = page(full / question_links(data)[HOSTILE_ID])
    assert words(hostile.by_id("page-2")).endswith("ALDER_2021_10K has 5 pages; there is no page 78.")
    assert hostile.by_id("page-1").all("img")
    gone = words(page(full / question_links(data)["q_excluded"]))
    assert "The lake holds no pages of GONE_2020_10K." in gone
    assert "No retrieval system has ranked pages for this question." in gone
    (tmp_path / "lake/filings").mkdir(parents=True)
    write_explorer(data, tmp_path, partial(page_images, Lake(tmp_path / "lake")))
    sheet = page(tmp_path / question_links(data)["q_metrics"]).by_id("page-1")
    assert "The lake holds no original of this filing." in words(sheet)
    assert [words(mark) for mark in sheet.all("mark")] == [], "its text is shown instead"
    assert "The revenue of division 2 was $221 million" in words(sheet)


def test_where_it_was_lost_the_compared_systems_first(full: Path, data: ExplorerData) -> None:
    losses = section(page(full / question_links(data)["q_text"]), "losses-title")
    tables = [[[spread(cell) for cell in row] for row in body_rows(table)] for table in losses.all("table")]
    assert [row[0] for row in tables[0]] == [
        "finrag Whole corpus", "calculator on finrag Whole corpus", "dense Whole corpus",
    ]  # fmt: skip
    assert tables[0][1][1:3] == ["✗ Wrong or no answer", "Invented number"]
    assert tables[0][2][1:3] == ["✗ Page not found", "Wrong year, Lexical gap"]
    assert tables[0][0][1:] == ["✓ Nothing lost", "–", "nothing is lost"]
    assert [row[0] for row in tables[1]] == ["bm25 Whole corpus"]
    assert words(losses.all("summary")[0]) == "Other systems (1)"


def test_neighbours_are_linked(full: Path, data: ExplorerData) -> None:
    links = list(question_links(data).values())
    for number, link in enumerate(links):
        found = {
            a.attributes["rel"]: a.attributes for a in page(full / link).all("a") if "rel" in a.attributes
        }
        assert set(found) == {"prev", "next"}
        assert all(("hidden" in one) != ("href" in one) for one in found.values()), "none leads nowhere"
        turns = {rel: one["href"] for rel, one in found.items() if "href" in one}
        expected = {}
        if number:
            expected["prev"] = links[number - 1].removeprefix("questions/")
        if number + 1 < len(links):
            expected["next"] = links[number + 1].removeprefix("questions/")
        assert turns == expected


def test_pages_stay_small(full: Path) -> None:
    for path in full.rglob("*.html"):
        assert path.stat().st_size < 100_000, path


def test_it_is_part_of_the_report(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, data: ExplorerData, lake: Lake
) -> None:
    index = write_report(report_data(explorer=data, images=partial(page_images, lake)), tmp_path / "report")
    menu = [(words(link), link.attributes["href"]) for link in page(index).all("nav")[0].all("a")]
    assert ("Questions", "questions.html") in menu
    assert len(list((index.parent / "questions").glob("*.html"))) == 6
    empty = shared_report(tmp_path_factory, "plain")
    assert "This report holds no questions." in words(page(empty / "questions.html"))


def test_the_pair_that_is_compared_first(data: ExplorerData) -> None:
    assert default_pair(data) == ("finrag", "dense")
    assert default_pair(one_system(data)) == ("bm25", None)
    assert default_pair(bare(data)) == default_pair(ExplorerData()) == (None, None)


def test_a_loss_is_that_of_the_answer_where_there_is_one(data: ExplorerData) -> None:
    question = data.questions[2]
    found = [loss_of(question, "finrag", "corpus", answering) for answering in ("calculator", "prompt", None)]
    assert [loss["level"] if loss else None for loss in found] == ["generation", "none", "none"]
    assert loss_of(question, "dense_pages", "corpus", None) is None


def test_json_in_a_page_ends_no_script() -> None:
    value = {"text": "</script><!--<script>&'\"", "line": "\u2028"}
    template = _environment().from_string("{{ value | tojson }}")
    text = template.render(value=value)
    assert "<" not in text and json.loads(text) == value
    with pytest.raises(ValueError, match="JSON"):
        template.render(value=float("nan"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (scale_text(1e6), "millions"),
        (scale_text(0.01), "%"),
        (scale_text(250), "× 250"),
        (scale_text(None), ""),
        (number_text(1577000000.0), "1,577,000,000"),
        (number_text(-0.125), "−0.125"),
        (number_text(True), ""),
        (cut("abcdef", 3), "abc … (3 more characters)"),
        (cut("abc", 3), "abc"),
        (outline([(1.0, 2.04, 3.26, 4.0)], 1.0), "M0 1H4.3V5H0Z"),
    ],
)
def test_figures_for_people(found: str, expected: str) -> None:
    assert found == expected


def test_long_texts_end_early_with_a_word_on_it() -> None:
    assert text_parts("abc def", [(4, 7)]) == [("abc ", False), ("def", True)]
    parts = text_parts("x" * 30_000, [(10, 20), (25_000, 25_010)])
    assert sum(marked for _, marked in parts) == 1
    assert parts[-1][0] == " … (10,000 more characters)"
