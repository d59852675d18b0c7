"""Every page of a whole report: what it refers to lies in its folder, and nothing asks for more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from finrag_pipeline_tests.reporting.html_tree import Element, parse
from finrag_pipeline_tests.reporting.reports import shared_report

_REFERENCES = ("href", "src", "srcset", "action", "data", "poster")


@pytest.fixture(scope="module", params=["full", "empty", "hostile"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_report(tmp_path_factory, request.param)


def pages(folder: Path) -> dict[Path, Element]:
    return {path: parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def references(document: Element) -> Iterator[str]:
    for element in document.walk():
        for name in _REFERENCES:
            if (target := element.attributes.get(name)) is not None and target != "data:,":
                yield target


def test_every_link_leads_somewhere(folder: Path) -> None:
    documents = pages(folder)
    identifiers = {
        path: {str(e.attributes["id"]) for e in document.walk() if "id" in e.attributes}
        for path, document in documents.items()
    }
    followed = 0
    for path, document in documents.items():
        for target in references(document):
            file, _, anchor = target.partition("#")
            file = file.partition("?")[0]
            assert re.fullmatch(r"(\.\./)?[\w.-]+(/[\w.-]+)*|", file), f"{path}: {target} is no plain path"
            found = (path.parent / file).resolve() if file else path
            assert found.is_relative_to(folder.resolve()), f"{path}: {target} leads out of the report"
            assert found.is_file(), f"{path}: {target} is missing"
            # What stands behind the # of an explorer page may be its state.
            if anchor and "=" not in anchor:
                assert anchor in identifiers[folder / found.relative_to(folder.resolve())], (
                    f"{path}: {target}"
                )
            followed += 1
    assert followed > 20


def test_no_page_names_another_site(folder: Path) -> None:
    for path, document in pages(folder).items():
        for target in references(document):
            assert not re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.IGNORECASE), f"{path}: {target}"
        for element in document.walk():
            names = element.attributes
            assert not [name for name in names if name.startswith("on") or name == "style"], path
            if element.tag == "script" and element.text.strip():
                assert names.get("type") == "application/json", f"{path} holds a script"
    for path in folder.rglob("*"):
        if path.suffix in (".css", ".js"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"https?:|@import|url\(|XMLHttp|\bfetch\(|innerHTML|\beval\(", text), path


def test_every_page_can_be_reached_from_the_first(folder: Path) -> None:
    reached, waiting = set(), [folder / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in reached or path.suffix != ".html":
            continue
        reached.add(path)
        for target in references(parse(path.read_text(encoding="utf-8"))):
            file = target.partition("#")[0].partition("?")[0]
            if file:
                waiting.append(folder / (path.parent / file).resolve().relative_to(folder.resolve()))
    assert reached == set(folder.rglob("*.html"))


def test_pages_stay_small(folder: Path) -> None:
    for path in folder.rglob("*.html"):
        assert path.stat().st_size < 1_000_000, path
    for path in (folder / "filings").glob("*.html"):
        assert path.stat().st_size < 300_000, path
