"""The method page: definitions of all metrics, hashes of the data, folds, models, machine."""

from __future__ import annotations

from finrag_pipeline.evaluation.answer_metrics import ANSWER_METRICS
from finrag_pipeline.evaluation.numeric_match import NUMERIC_MATCHES
from finrag_pipeline.evaluation.retrieval_metrics import SERIES
from finrag_pipeline.reporting.method_page import (
    data_grid,
    definitions,
    describe_hardware,
    folds_grid,
    method_context,
)
from finrag_pipeline.reporting.site import render_page
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline_tests.reporting.builders import empty_data, question_row, questions_table
from finrag_pipeline_tests.reporting.html_tree import parse
from finrag_pipeline_tests.reporting.lake_builders import full_data


def keys(group: str) -> set[str]:
    return set(definitions()[group])


def test_every_metric_that_is_computed_is_defined() -> None:
    assert keys("retrieval") == {metric for metric, _ in SERIES}
    assert keys("answers") == {metric.name for metric in ANSWER_METRICS} > set(NUMERIC_MATCHES)
    assert keys("spaces") == {space.value for space in Space}
    assert keys("judging") >= {"relevance", "veracity", "correctness", "functional_citation"}


def test_definitions_stand_on_the_page() -> None:
    text = " ".join(
        parse(render_page("method.html.jinja", "Method", **method_context(full_data()))).text.split()
    )
    for group in definitions().values():
        for term, said, *_ in group.values():
            assert said in text, term
    assert "finrag run --source data/example" in text
    assert "the seed of everything is 17" in text


def test_the_hash_follows_the_labels() -> None:
    def digest(**changed: object) -> str:
        data = full_data(questions=questions_table(question_row("q", "F", **changed)))
        return next(r.cells[2].text for r in data_grid(data).rows if r.cells[0].text == "Questions measured")

    assert digest() == digest() and len(digest()) == 64
    assert digest(answer="43") != digest() != digest(gold_pages=[4])
    assert digest(company="another name") == digest()


def test_counts_of_the_data() -> None:
    counts = {row.cells[0].text: row.cells[1].text for row in data_grid(full_data()).rows}
    assert counts == {
        "Filings": "83",
        "Filings that could not be read": "1",
        "Filings that came as text only": "1",
        "Pages": "8,477",
        "Tables": "45",
        "Facts": "20",
        "Questions measured": "150",
        "Questions left out": "1",
    }


def test_folds_are_counted() -> None:
    rows = [[cell.text for cell in row.cells] for row in folds_grid(full_data().tables["folds"]).rows]
    assert rows == [["Fold 0", "2", "2"], ["Fold 1", "2", "2"]]
    assert "finrag run" in folds_grid(empty_data().tables["folds"]).empty


def test_models_are_told_by_their_fingerprints() -> None:
    assert [
        [cell.text for cell in row.cells] for row in method_context(full_data())["grids"]["models"].rows
    ] == [["Encoder", "an-encoder, fp32", "abc123"]]


def test_nothing_recorded_is_said_in_words() -> None:
    text = parse(render_page("method.html.jinja", "Method", **method_context(empty_data()))).text
    for sentence in ("No model was recorded.", "The machine was not recorded.", "No step failed."):
        assert sentence in text


def test_the_machine_is_described_without_failing() -> None:
    found = describe_hardware()
    assert found["cores"][0].isdigit() and found["operating system"] and found["graphics processor"]
    assert all(isinstance(text, str) and text for text in found.values())
