from __future__ import annotations

import json

import pyarrow as pa
import pytest

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.baseline_judge import BaselineJudge
from finrag_pipeline.evaluation.judge_estimates import calibrate, labelled_answers
from finrag_pipeline.evaluation.judged_answers import read_answers, source_texts, without_text
from finrag_pipeline.schemas import ANSWERS, TABLES
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines


def blank(table: str, **values: object) -> dict:
    kinds = {"int32": 0, "int64": 0, "float": 0.0, "double": 0.0, "bool": False, "string": ""}
    fields = {f.name: None if f.nullable else kinds.get(str(f.type), []) for f in TABLES[table]}
    return fields | values


@pytest.fixture
def filled(lake):
    """Chunks of two chunkings and pages of a filing whose name looks like a path of its own."""
    keys = {"filing": "A#b 2020"}
    for table, chunk in (
        ("filing_chunks", "p0/c0"),
        ("contextual_chunks", "p0/r1"),
        ("parent_child_chunks", "p0/parent0"),
    ):
        row = blank(
            table if table in TABLES else "filing_chunks",
            chunk_id=f"A#b 2020/{chunk}",
            text=f"text of {chunk}",
            **keys,
        )
        name = "filing_chunks"
        lake.write(table, pa.Table.from_pylist([row], TABLES[name]), "f", keys, name=name)
    pages = [blank("filing_pages", page=page, text=f"page {page}", **keys) for page in (0, 1)]
    lake.write("filing_pages", pa.Table.from_pylist(pages, TABLES["filing_pages"]), "f", keys)
    return lake


def answer_row(question: str, retrieved: list[str], **more: object) -> dict:
    return blank("answers", question_id=question, question="What was it?", system="prompt", retrieval="dense",
                 space="corpus", answer="It was 5.", retrieved=retrieved, **more)  # fmt: skip


def test_texts_of_chunks_of_every_chunking_and_of_pages(filled):
    names = ["A#b 2020/p0/c0", "A#b 2020/p0/r1", "A#b 2020/p0/parent0", "A#b 2020#page=1", "B/p0/c0", "odd"]
    assert source_texts(filled, names) == {
        "A#b 2020/p0/c0": "text of p0/c0",
        "A#b 2020/p0/r1": "text of p0/r1",
        "A#b 2020/p0/parent0": "text of p0/parent0",
        "A#b 2020#page=1": "page 1",
    }


def test_answers_with_sources_and_slices(filled):
    questions = questions_table(
        question_row("q1", "A_2020", [0], reasoning="Logical reasoning OR Information extraction"),
        question_row(
            "q2",
            "A_2020",
            [0],
            question_type="domain-relevant",
            question="Quel est le revenu de la société ?",
        ),
    )
    rows = pa.Table.from_pylist(
        [answer_row("q1", ["A#b 2020/p0/c0", "gone/p1/c0"]), answer_row("q2", []), answer_row("q9", [])],
        ANSWERS,
    )
    first, second = found = read_answers(filled, rows, questions)
    assert dict(first.sources) == {"A#b 2020/p0/c0": "text of p0/c0"}
    assert (first.theme, first.difficulty, first.language) == ("metrics", "logical reasoning", "en")
    assert (second.theme, second.difficulty, second.language) == ("domain-relevant", "unknown", "fr")
    assert (first.system, first.space) == ("prompt on dense", "corpus")
    assert without_text(rows, found) == ["gone/p1/c0"]


def test_labelled_answers_are_held_against_the_gold_pages(filled, tmp_path):
    questions = questions_table(
        question_row("q1", "A#b 2020", [1]),
        question_row("q2", "not in the lake", [3]),
        question_row("q3", "A_2020", [0]),
    )
    lines = [
        ("q1", "It was 5.", "Correct Answer"),
        ("q2", "No.", "Refusal"),
        ("q3", "x", None),
        ("q8", "y", "Refusal"),
    ]
    (tmp_path / "m_oracle.jsonl").write_text(
        "\n".join(
            json.dumps({"financebench_id": q, "model_answer": a, "label": label}) for q, a, label in lines
        )
    )
    answers, labels, references, groups = labelled_answers(filled, tmp_path, questions)
    assert labels == [1, 2] and references == ["42", "42"] and groups == ["recorded m_oracle"] * 2
    assert dict(answers[0].sources) == {"A#b 2020#page=1": "page 1"}
    assert dict(answers[1].sources) == {"not in the lake#page=3": "evidence on page 3\n"}
    with pytest.raises(BenchmarkError, match="no recorded answers"):
        labelled_answers(filled, tmp_path / "nowhere", questions)


@needs_data("financebench", "results")
def test_the_published_labels_come_through(lake):
    """All 2,400, and the figures of the documentation on a part of them."""
    asked = read_lines("financebench", "financebench_open_source.jsonl")
    questions = questions_table(
        *(
            question_row(
                row["financebench_id"], "F", [0], question=row["question"], answer=str(row["answer"])
            )
            for row in asked
        )
    )
    folder = DATA / "financebench" / "results"
    answers, labels, references, groups = labelled_answers(lake, folder, questions)
    assert len(answers) == 2400 and len(set(groups)) == 16
    some = slice(None, None, 16)
    (three, _) = calibrate(
        BaselineJudge(), answers[some], labels[some], references=references[some], criteria=["correctness"]
    ).to_pylist()
    assert three["observed"] == pytest.approx(0.827, abs=0.08)
