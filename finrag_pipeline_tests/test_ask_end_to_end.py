"""Questions asked of the sample: on the command line, over HTTP, and of a lake that does not hold the answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from finrag_pipeline.errors import ModelError, UsageError
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.models import Answer
from finrag_pipeline.serving.service import SearchService
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.console import called
from finrag_pipeline_tests.shared_run import sample_lake

pytestmark = pytest.mark.slow

KEYS = {
    "question", "answer", "value", "unit", "formula", "steps", "inputs", "citations", "alternatives",
    "abstained", "kind", "why", "looked_for", "mode", "quotes", "warnings", "fallback", "model", "system",
    "seconds", "evidence", "confidence", "from_rows", "series", "plot",
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_lake(tmp_path_factory)[0]


@pytest.fixture(scope="module")
def asker(root: Path) -> Asker:
    return Asker(Settings(lake=str(root)))


@pytest.fixture(scope="module")
def capex(root: Path) -> dict[str, Any]:
    """A fact of the sample that a question can ask for."""
    facts = Lake(root).read_all("statement_facts").to_pylist()
    return next(
        fact
        for fact in facts
        if fact["line"] == "PaymentsToAcquirePropertyPlantAndEquipment"
        and fact["scope"] == "primary"
        and fact["filing"] == "TORVEXLEY_2023_10K"
        and fact["fiscal_year"] == 2023
    )


def asked(fact: dict[str, Any]) -> str:
    return f"What was the capital expenditure of Torvexley in FY{fact['fiscal_year']}, in USD thousands?"


def test_a_figure_with_the_cell_it_comes_from(asker: Asker, capex: dict[str, Any]) -> None:
    reply = asker.ask(asked(capex))
    found = json.loads(json.dumps(reply.as_json()))
    assert set(found) == KEYS
    assert not found["abstained"] and found["unit"].endswith("thousand")
    assert found["value"] == pytest.approx(abs(capex["value"]) / 1e3)
    (read,) = found["inputs"]
    assert (read["filing"], read["page"], read["printed"]) == (
        capex["filing"], capex["page"], capex["printed"],
    )  # fmt: skip
    assert read["fact_id"] == capex["fact_id"] and read["box"]
    assert found["citations"][0]["page_label"] == str(capex["page"] + 1)
    assert "from" in reply.answer.as_text() and capex["printed"] in reply.answer.as_text()


def test_a_question_about_text_is_quoted(asker: Asker) -> None:
    reply = asker.ask("Why did Torvexley record restructuring charges in FY2023?").as_json()
    assert not reply["abstained"] and reply["value"] is None and reply["quotes"]
    pages = {(cited["filing"], cited["page"]) for cited in reply["citations"]}
    assert {(quote["filing"], quote["page"]) for quote in reply["quotes"]} <= pages
    for quote in reply["quotes"]:
        text = asker.searcher.find(reply["question"], None, 10).corpus.chunks
        texts = [" ".join(chunk.split()) for chunk in text["text"].to_pylist()]
        assert any(" ".join(quote["text"].split()) in chunk for chunk in texts), "word for word"


@pytest.mark.parametrize(
    "question",
    [
        "What was the capital expenditure of Nonesuch Holdings in FY2022?",
        "What was the capital expenditure of Torvexley in FY1987?",
        "What was the net income of Torvexley in FY2023 divided by (cash − cash)?",
    ],
)
def test_what_the_filings_do_not_hold_is_not_answered(asker: Asker, question: str) -> None:
    reply = asker.ask(question).as_json()
    assert reply["abstained"] and reply["value"] is None and reply["why"]
    assert reply["answer"].startswith("Cannot be determined from the filings indexed")


def test_a_filing_that_came_as_text_only_is_named_where_its_figures_are_missing(root: Path) -> None:
    question = "What was the deferred revenue of Sundrevale in FY2022?"
    arguments = ("ask", question, "--filing", "SUNDREVALE_2022_10K")
    reply = called(root, *arguments, "--json").json()
    assert reply["abstained"] and reply["why"].endswith("SUNDREVALE_2022_10K is text only: no tables")
    assert "text only: no tables" in called(root, *arguments).out


def test_an_abstention_shows_the_closest_rows_as_evidence(asker: Asker, root: Path) -> None:
    question = "What was the net income of Torvexley in FY2023 divided by (cash − cash)?"
    reply = asker.ask(question).as_json()
    assert reply["abstained"] and reply["value"] is None
    assert 0 < len(reply["evidence"]) <= 5
    assert {row["filing"].split("_")[0] for row in reply["evidence"]} == {"TORVEXLEY"}
    row = next(row for row in reply["evidence"] if "net income" in " ".join(row["path"]).lower())
    assert row["page_label"] == str(row["page"] + 1) and row["unit"] == "USD"
    assert 0 < len(row["values"]) <= 8
    tables = Lake(str(root)).read("page_tables", {"filing": row["filing"]}).to_pylist()
    for value in row["values"]:
        (cell,) = (
            cell
            for cell in tables
            if cell["page"] == row["page"]
            and [cell[side] for side in ("x0", "y0", "x1", "y1")] == value["box"]
        )
        assert (value["printed"], value["value"]) == (cell["text"], cell["value"])
        assert value["period_end"] == str(cell["period_end"])
    Answer.model_validate(reply)
    people = called(root, "ask", question)
    assert people.code == 0 and "Not answered. The closest rows:" in people.out
    assert row["values"][0]["printed"] in people.out


def test_what_is_answered_or_means_no_filing_shows_no_evidence(asker: Asker, capex: dict[str, Any]) -> None:
    assert asker.ask(asked(capex)).as_json()["evidence"] == []
    other = asker.ask("What was the revenue of Nonesuch Holdings in FY2022?").as_json()
    assert other["abstained"] and other["evidence"] == []
    assert asker.rows("What is the capital of France?") == []


def test_an_abstention_holds_where_its_evidence_cannot_be_read(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "lake")
    for path in (tmp_path / "lake" / "parquet" / "page_tables").glob("filing=TORVEXLEY*/*.parquet"):
        path.write_bytes(b"damaged")
    asker = Asker(Settings(lake=str(tmp_path / "lake")))
    reply = asker.ask("What was the net income of Torvexley in FY2023 divided by (cash − cash)?").as_json()
    assert reply["abstained"] and reply["evidence"] == []
    assert any("No evidence is shown" in warning for warning in reply["warnings"])


def test_modes_with_a_language_model_say_that_there_is_none(asker: Asker) -> None:
    with pytest.raises(ModelError) as error:
        asker.ask("What was revenue of Torvexley in FY2023?", "grounded")
    assert "FINRAG_LANGUAGE_MODEL" in str(error.value)


@pytest.mark.parametrize("question", ["", " \n", "x" * 20_001, "\ud800"])
def test_what_is_no_question_is_refused(asker: Asker, question: str) -> None:
    with pytest.raises(UsageError):
        asker.ask(question)


def test_the_command_line_and_the_service_say_the_same(root: Path, capex: dict[str, Any]) -> None:
    done = called(root, "ask", asked(capex), "--json")
    assert done.code == 0, done.err
    printed = {**done.json(), "seconds": None}
    service = SearchService(Settings(lake=str(root)))
    with TestClient(create_app(service), base_url="http://localhost") as client:
        service.refresh()
        posted = client.post("/ask", json={"question": asked(capex)})
        got = client.get("/ask", params={"question": asked(capex)})
        refused = client.post("/ask", json={"question": "x", "mode": "oracle"})
        missing = client.post("/ask", json={"question": "x", "filings": ["NOPE"]})
        silent = client.post("/ask", json={"question": "x", "mode": "cot"})
    assert posted.status_code == got.status_code == 200
    assert {**posted.json(), "seconds": None} == {**got.json(), "seconds": None} == printed
    Answer.model_validate(posted.json())
    assert (refused.status_code, missing.status_code, silent.status_code) == (422, 404, 503)
    people = called(root, "ask", asked(capex))
    assert people.code == 0 and capex["printed"] in people.out


def test_the_benchmark_is_answered_and_scored(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "lake")
    done = called(tmp_path / "lake", "answers", "--systems", "calculator", "--json")
    assert done.code == 0, done.err
    means = {
        (row["space"], row["metric"]): row["mean"]
        for row in done.json()
        if row["system"] == "calculator on finrag" and row["slice_value"] == "metrics-generated"
    }
    # Asked for what its own statements print, the calculator answers, in every space.
    for space in ("corpus", "filing", "pages"):
        assert means[space, "strict_match"] >= 0.8 and means[space, "citations_printed"] == 1.0
    refused = called(tmp_path / "lake", "answers", "--systems", "oracle", "--json")
    assert refused.code == 2 and "no answering system" in refused.error()["error"]


def test_a_name_that_one_company_alone_prints_tells_which_is_meant(asker: Asker) -> None:
    reply = asker.ask("How much goodwill came with Talmere in 2022?")
    assert (
        reply.warnings[0] == "No company is named: 'Talmere' stands in filings of torvexley industries alone."
    )
    assert not asker.ask("What was the revenue in 2023?").warnings


def test_evidence_may_be_left_out(asker: Asker) -> None:
    question = "What was the net income of Torvexley in FY2023 divided by (cash − cash)?"
    assert asker.ask(question).evidence and not asker.ask(question, with_evidence=False).evidence
