"""Filings of several documents: pages, identity and tables of an 8-K with its release, of a 10-K with its report."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.engine import Engine
from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.edgar import fetch_new
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import original_path
from finrag_pipeline.filings.pages import extract_pages
from finrag_pipeline.filings.submission import Document, documents
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.statements.facts import find_facts, statement_facts
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.tables.extract import extract_tables
from finrag_pipeline_tests.edgar_server import TEN, Filed, sec

RELEASE, ANNUAL = TEN[6], TEN[7]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with an 8-K and a 10-K whose statements stand in exhibits, as they come from EDGAR."""
    lake = Lake(tmp_path_factory.mktemp("submission"))
    with sec(RELEASE, ANNUAL) as server:
        for path in fetch_new(lake, server.settings(), 1 << 20).files:
            accept(lake, path)
    return lake


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine(1, 60)
    yield engine
    engine.close()


def read(lake: Lake, engine: Engine, filed: Filed) -> dict[str, Any]:
    """Row of ``filings``, pages, tables and facts."""
    from finrag_pipeline.filings.originals import get_source

    source = get_source(lake, filed.filing)
    path = Path(original_path(lake, source))
    (row,) = describe_filing(path, source).to_pylist()
    pages = extract_pages(path, filed.filing, source.source, engine)
    tables = extract_tables(row, pages, TableSettings(), path, engine)
    facts = statement_facts(filed.filing, tables, pages["text"].to_pylist(), row["form"])
    return {"row": row, "pages": pages.to_pylist(), "tables": tables.to_pylist(), "facts": facts}


def test_pages_of_an_exhibit_follow_those_of_the_form_and_name_it(lake: Lake, engine: Engine) -> None:
    pages = read(lake, engine, RELEASE)["pages"]
    labels = [page["label"] for page in pages]
    assert labels[:2] == [None, None] and {*labels[2:]} == {"EX-99.1"}
    assert "Hazelton" in pages[1]["text"] and pages[2]["text"].startswith("Exhibit 99.1")
    assert [page["page"] for page in pages] == list(range(len(pages)))


def test_an_8k_reports_on_the_period_of_its_release(lake: Lake, engine: Engine) -> None:
    row = read(lake, engine, RELEASE)["row"]
    assert (row["source"], row["form"], row["company"]) == ("html", "8-K", "TORVEXLEY INDUSTRIES, INC.")
    assert (row["fiscal_year"], row["fiscal_quarter"], row["period_end"]) == (2023, 3, dt.date(2023, 9, 30))
    assert row["conflicts"] == [] and row["filed"] == RELEASE.filed


def test_tables_of_a_release_have_their_scale_and_period(lake: Lake, engine: Engine) -> None:
    found = read(lake, engine, RELEASE)
    values = {
        (cell["caption"], cell["row_label"], cell["period_start"], cell["period_end"]): cell["value"]
        for cell in found["tables"]
        if cell["value"] is not None
    }
    start, end = dt.date(2023, 7, 1), dt.date(2023, 9, 30)
    income, reconciliation = (
        "CONSOLIDATED STATEMENTS OF INCOME",
        "RECONCILIATION OF NET INCOME TO ADJUSTED EBITDA",
    )
    assert values[income, "Net sales", start, end] == 923e6
    assert values[income, "Diluted earnings per share", start, end] == 1.10
    assert values["CONSOLIDATED BALANCE SHEETS", "Total assets", None, dt.date(2022, 12, 31)] == 4012e6
    ebitda = {key[0]: value for key, value in values.items() if key[1:] == ("Adjusted EBITDA", start, end)}
    assert list(ebitda.values()) == [171e6] and next(iter(ebitda)).startswith(reconciliation)
    outlook = [
        cell for cell in found["tables"] if cell["row_label"] == "Capital expenditures" and cell["value"]
    ]
    assert [cell["value"] for cell in outlook] == [160e6, 170e6]
    sales = find_facts(found["facts"], label="net sales", scope="primary").to_pylist()
    assert {(fact["value"], fact["fiscal_quarter"], fact["page"]) for fact in sales} >= {(923e6, 3, 3)}


def test_statements_of_a_10k_are_found_in_its_exhibit(lake: Lake, engine: Engine) -> None:
    found = read(lake, engine, ANNUAL)
    assert (found["row"]["form"], found["row"]["period_end"]) == ("10-K", dt.date(2023, 1, 28))
    assert [page["label"] for page in found["pages"]] == [None, None, "EX-13, 30", "EX-13, 31"]
    sales = find_facts(found["facts"], label="net sales", scope="primary").to_pylist()
    assert {(fact["value"], fact["period_end"]) for fact in sales} == {
        (3_412_118_000, dt.date(2023, 1, 28)),
        (3_200_004_000, dt.date(2022, 1, 29)),
    }


def marked(*parts: tuple[str, str]) -> bytes:
    return "".join(
        f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>1\n<TEXT>\n{text}\n</TEXT>\n</DOCUMENT>\n"
        for kind, text in parts
    ).encode()


def test_attachments_and_other_exhibits_are_left_out() -> None:
    whole = marked(
        ("8-K", "cover"), ("EX-10.1", "contract"), ("EX-99.1", "release"), ("EX-99.2", "slides"),
        ("GRAPHIC", "begin 644 logo.jpg\nM_]C_X"), ("EX-99.1", "<PDF>\nbegin 644 a.pdf"), ("EX-101.INS", "<XBRL>x"),
    )  # fmt: skip
    assert documents(b"<SEC-DOCUMENT>\n" + whole) == [
        Document(None, b"cover"),
        Document("EX-99.1", b"release"),
    ]
    assert documents(b"<html>no marks</html>") == [Document(None, b"<html>no marks</html>")]
    assert documents(marked(("EX-99.1", "alone"))) == [Document(None, b"alone")]


def test_documents_may_be_text_and_in_several_encodings(tmp_path: Path, engine: Engine) -> None:
    form, report = "<html><body>Café</body></html>".encode(), "Ergebnis: 5 € für <alle>".encode("cp1252")
    path = tmp_path / "a.htm"
    path.write_bytes(marked(("10-K", "@"), ("EX-13", "%")).replace(b"@", form).replace(b"%", report))
    pages = extract_pages(path, "a", "html", engine).to_pylist()
    assert [page["text"] for page in pages] == ["Café", "Ergebnis: 5 € für <alle>"]

    path = tmp_path / "a.txt"
    path.write_bytes(marked(("10-K405", "cover\n<PAGE>\ntext"), ("EX-13", "report\n<PAGE>\nmore")))
    pages = extract_pages(path, "a", "text", engine).to_pylist()
    assert [(page["text"], page["label"]) for page in pages] == [
        ("cover", None), ("text", None), ("report", "EX-13"), ("more", "EX-13"),
    ]  # fmt: skip
