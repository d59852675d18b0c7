"""The page at ``/``: what its address says, what it shows of a page, pictures, and that texts stay texts."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pymupdf
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from starlette.datastructures import QueryParams

from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import original_path
from finrag_pipeline.filings.pages import read_html_pages, read_page_text
from finrag_pipeline.filings.pdf import MOST_DOTS, read_pages
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.services.filings import select_filings
from finrag_pipeline.serving import service as services
from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.local_page import Address
from finrag_pipeline.serving.service import SearchService
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import FILINGS, IndexedLake
from finrag_pipeline_tests.reporting.html_tree import Element, parse
from finrag_pipeline_tests.small_filings import write_lines, write_pdf

HOSTILE = "<script>alert('x')</script> \"><img src=x onerror=alert(1)>"


def found(page: Element, tag: str, **wanted: str) -> list[dict[str, str | None]]:
    """Attributes of the elements that have those wanted."""
    every = [element.attributes for element in page.all(tag)]
    return [one for one in every if all(one.get(name) == value for name, value in wanted.items())]


def marks(page: Element) -> list[str]:
    return [mark.text for mark in page.all("mark")]


@pytest.fixture
def reading(lake: Lake, tmp_path: Path) -> Lake:
    """A lake with a PDF and a filing of page text whose texts are hostile, and nothing to search."""
    paper = write_pdf(tmp_path / "ALDER_2021_10K.pdf", ["cover", f"Net revenue 221\n{HOSTILE}", "end"])
    text = {"doc": "TEXT", "page": 0, "text": f"Net revenue 4,321 of Birch\n{HOSTILE}"}
    filed = tmp_path / "BIRCH_2021_10K.htm"
    filed.write_text(f"<html><body><p>{'Net revenue of Birch. ' * 9}</p><script>x</script></body></html>")
    readers = {
        "pdf": partial(read_pages, start=0, stop=3),
        "html": read_html_pages,
        "page_text": read_page_text,
    }
    for path in (paper, filed, write_lines(tmp_path / "TEXT.jsonl", [text])):
        source = accept(lake, path)
        pages = readers[source.source](Path(original_path(lake, source)), source.filing)
        lake.write("filing_pages", pages, "f", {"filing": source.filing})
    return lake


@pytest.fixture
def reader(reading: Lake) -> Iterator[TestClient]:
    # Without a lifespan nothing is loaded: pages need no models.
    yield TestClient(create_app(SearchService(Settings(lake=reading.root))), raise_server_exceptions=False)


def test_an_address_says_all_and_comes_back() -> None:
    address = Address("What?", "acme", "10-K", "2022", "A & B/2", 7, ((1.0, 2.5, 3.0, 4.0),) * 2, "a passage")
    assert Address.of(QueryParams(urlsplit(address.link()).query)) == address
    opened = parse_qs(urlsplit(address.opening("C", 0, None, "other")).query)
    assert (opened["page"], opened["mark"], opened.get("box")) == (["1"], ["other"], None)
    assert Address().link() == "/"


@pytest.mark.parametrize(
    "query", ["page=x", "page=-1", "page=1e9", "box=1,2", "box=1,2,3,nan", "box=a,b,c,d"]
)
def test_what_cannot_be_read_in_an_address_is_left_out(query: str) -> None:
    assert Address.of(QueryParams(query)) == Address()


def test_filings_are_chosen_by_company_form_and_year() -> None:
    rows = [
        {"filing": "A", "company": "THE ACME CORPORATION", "form": "10-K", "fiscal_year": 2022},
        {"filing": "B", "company": "Acme Corp.", "form": "10-Q", "fiscal_year": 2023},
        {"filing": "C", "company": None, "form": None, "fiscal_year": None},
    ]
    assert select_filings(rows) == ["A", "B", "C"]
    assert select_filings(rows, "acme") == select_filings(rows, "Acme Corporation") == ["A", "B"]
    assert select_filings(rows, "Acm", "10-Q", "2023") == ["B"]
    assert select_filings(rows, "Birch") == []


def test_without_a_question_it_lists_the_filings(client: TestClient, indexed: IndexedLake) -> None:
    answer = client.get("/")
    page = parse(answer.text)
    assert answer.status_code == 200 and found(page, "input", name="q")
    links = [parse_qs(urlsplit(str(one["href"])).query) for one in found(page, "a") if "data-page" in one]
    assert {link["filing"][0] for link in links} == set(indexed.filings)
    for used in [*found(page, "link", rel="stylesheet"), *found(page, "script")]:
        assert client.get(str(used.get("href") or used.get("src"))).status_code == 200
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_a_question_brings_an_answer_and_pages_with_its_words_marked(client: TestClient) -> None:
    answer = client.get("/", params={"q": "What was the net revenue of x1y2z?"})
    assert answer.status_code == 200
    page = parse(answer.text)
    assert {mark.lower() for mark in marks(page)} & {"revenue", "x1y2z"}
    links = [str(one["href"]) for one in found(page, "a") if "filing=" in str(one.get("href"))]
    assert links and all("q=What" in link for link in links), "every link keeps the question"


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"q": "revenue", "company": "Nobody"}, 400, "No filing meets these conditions."),
        ({"q": "x" * 30_000}, 400, "30,000 characters"),
        ({"filing": "NOWHERE", "page": 1}, 404, "no filing"),
        ({"filing": FILINGS[0], "page": 99}, 404, "has no page 99"),
        ({"filing": "../../etc", "page": 1}, 503, "not a path inside the lake"),
    ],
)
def test_an_error_is_told_on_the_page(client: TestClient, query: dict, status: int, said: str) -> None:
    answer = client.get("/", params=query)
    assert answer.status_code == status
    assert said in answer.text and 'name="q"' in answer.text


def test_until_models_are_loaded_it_says_so(reader: TestClient) -> None:
    answer = reader.get("/", params={"q": "revenue"})
    assert answer.status_code == 503 and "The models are being loaded." in answer.text


def test_a_page_shows_its_picture_with_the_cell_marked(reader: TestClient) -> None:
    query = {"filing": "ALDER_2021_10K", "page": 2, "box": "100,50,120,60"}
    for path in ("/", "/sheet"):
        page = parse(reader.get(path, params=query).text)
        (image,) = found(page, "img")
        assert (image["width"], image["height"]) == ("612", "792")
        (cell,) = found(page, "path", **{"class": "used"})
        assert str(cell["d"]).startswith("M97.5 47.5H122.5V62.5")
    picture = reader.get(str(image["src"]))
    assert picture.headers["Content-Type"] == "image/webp"
    assert Image.open(io.BytesIO(picture.content)).size == (935, 1210)


def test_a_page_of_html_is_shown_in_a_frame_in_which_nothing_runs(reader: TestClient, reading: Lake) -> None:
    tables = TABLES["page_tables"].empty_table()
    reading.write("page_tables", tables, "f", {"filing": "BIRCH_2021_10K"})
    page = parse(
        reader.get("/", params={"filing": "BIRCH_2021_10K", "page": 1, "cell": "BIRCH:0:0:0:0"}).text
    )
    (frame,) = found(page, "iframe")
    assert frame["sandbox"] is None and not found(page, "img")
    shown = reader.get(str(frame["src"]))
    assert shown.status_code == 200 and "Net revenue of Birch." in shown.text and "<script" not in shown.text
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    assert reader.get("/pages/ALDER_2021_10K/1.html").status_code == 404


def test_words_and_passages_are_marked_on_pictures_and_texts(reader: TestClient) -> None:
    for marked in ({"q": "net revenue"}, {"mark": "Net revenue 221"}):
        page = parse(reader.get("/sheet", params={"filing": "ALDER_2021_10K", "page": 2, **marked}).text)
        assert found(page, "path", **{"class": "words" if "q" in marked else "evidence"})
    page = parse(reader.get("/sheet", params={"filing": "TEXT", "page": 1, "mark": "Net revenue 4,321"}).text)
    assert marks(page) == ["Net revenue 4,321"] and not found(page, "img")


@pytest.mark.parametrize("query", [{"filing": "ALDER_2021_10K", "page": 2}, {"filing": "TEXT", "page": 1}])
def test_texts_of_filings_and_addresses_stay_texts(reader: TestClient, query: dict) -> None:
    fields = dict.fromkeys(("q", "company", "form", "year", "mark"), HOSTILE)
    for path in ("/", "/sheet"):
        answer = reader.get(path, params={**query, **fields})
        page = parse(answer.text)
        assert "&lt;script&gt;alert" in answer.text
        assert all("src" in one for one in found(page, "script"))
        assert not [one for one in page.walk() if "onerror" in one.attributes]
        assert not re.search(r"unsafe-(inline|eval)", answer.headers["Content-Security-Policy"])


def test_pictures_are_kept_in_memory_and_asked_for_again_only_if_changed(
    reader: TestClient, reading: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/pages/ALDER_2021_10K/2.webp"
    first, small = reader.get(path), reader.get(path, params={"small": "true"})
    assert len(small.content) < len(first.content)
    monkeypatch.setattr(services, "page_image", lambda *_: pytest.fail("drawn again"))
    assert reader.get(path).content == first.content
    again = reader.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and not again.content
    assert not reading.fs.exists(reading.path("page_pictures")), "reading writes nothing"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/pages/ALDER_2021_10K/4.webp", 404),
        ("/pages/ALDER_2021_10K/0.webp", 404),
        ("/pages/ALDER_2021_10K/x.webp", 422),
        ("/pages/NOWHERE/1.webp", 404),
        ("/pages/..%2f..%2fetc/1.webp", 404),
        ("/pages/TEXT/1.webp", 404),
        ("/assets/ask.html.jinja", 404),
        ("/assets/..%2f..%2fsite.py", 404),
    ],
)
def test_nothing_else_is_served(reader: TestClient, path: str, status: int) -> None:
    answer = reader.get(path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "remedy"}


def test_a_page_of_the_size_of_a_wall_is_drawn_within_the_limit(lake: Lake, tmp_path: Path) -> None:
    with pymupdf.open() as document:
        document.new_page(width=14_000, height=14_000)
        document.save(tmp_path / "WALL.pdf")
    source = accept(lake, tmp_path / "WALL.pdf")
    pages = read_pages(Path(original_path(lake, source)), "WALL", 0, 1)
    lake.write("filing_pages", pages, "f", {"filing": "WALL"})
    client = TestClient(create_app(SearchService(Settings(lake=lake.root))))
    width, height = Image.open(io.BytesIO(client.get("/pages/WALL/1.webp").content)).size
    assert MOST_DOTS / 2 < width * height <= MOST_DOTS
