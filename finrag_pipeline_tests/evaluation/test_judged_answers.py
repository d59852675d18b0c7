from __future__ import annotations

import json

import pyarrow as pa
import pytest

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.evaluation.baseline_judge import BaselineJudge
from finrag_pipeline.evaluation.judge_estimates import calibrate, labelled_answers
from finrag_pipeline.evaluation.judged_answers import (
    Answer,
    abstains,
    answer_from_row,
    automatic_scores,
    language_of,
    plainly_abstains,
    rates,
    read_answers,
    sentence_rows,
    source_texts,
    without_text,
)
from finrag_pipeline.schemas import ANSWER_RATES, ANSWER_SENTENCES, ANSWERS, AUTOMATIC_SCORES, TABLES
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table
from finrag_pipeline_tests.evaluation.judged_builders import SOURCES, answer, read_marked, split_sources
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines


def test_markers_of_the_paper():
    # The shape of Figure 1: markers before and behind the full stop, several in a row.
    text, found = read_marked(
        "Le taux est de 5 % [^5f7cce^]. Il baisse depuis 2019.[^4ca822^][^63fad^] Rien de plus."
    )
    assert [one.cited for one in found] == [("5f7cce",), ("4ca822", "63fad"), ()]
    assert found[0].text == "Le taux est de 5 %."
    assert "[^" not in text


def test_sources_of_a_context():
    context = "##### [^a1^] #####\nSource: x.pdf\n\nFirst.\n\n##### [^b2^] #####\nSecond."
    assert split_sources(context) == {"a1": "Source: x.pdf\n\nFirst.", "b2": "Second."}


def test_what_a_sentence_is_held_against():
    one = answer("q/1", ("A.", ("s1",)), ("B.", ()), ("C.", ("nope",)))
    assert list(one.sources_of(0)) == ["s1"]
    assert list(one.sources_of(1)) == ["s1"], "it continues what came before"
    assert one.sources_of(2) == {}, "what it cites was not retrieved"
    silent = answer("q/2", ("A.", ()))
    assert list(silent.sources_of(0)) == list(SOURCES)


def test_the_grain_of_sentences():
    table = sentence_rows([answer("q/1", ("A.", ("s1", "s9")), ("B.", ()), theme="HR")])
    assert table.schema == ANSWER_SENTENCES
    first, second = table.to_pylist()
    assert (first["cited"], first["not_retrieved"], first["held_against"]) == (["s1", "s9"], ["s9"], ["s1"])
    assert (second["sentence"], second["cited"], second["held_against"]) == (1, [], ["s1"])


def row(**changes):
    fields = {
        "question_id": "q1",
        "question": "What?",
        "system": "grounded",
        "retrieval": "dense",
        "space": "corpus",
        "repeat": 3,
        "answer": "It was 5. It fell.",
        "citations": json.dumps(
            [
                {"text": "It was 5.", "sources": ["c1"], "unknown": ["9"], "supported": True},
                {"text": "It fell.", "sources": [], "unknown": [], "supported": False},
            ]
        ),
        "retrieved": ["c1", "c2"],
        "abstained": False,
    }
    return fields | changes


def test_a_row_of_the_lake():
    found = answer_from_row(row(), {"c1": "text one"}, theme="metrics")
    assert found.answer_id.startswith("q1/grounded/dense/corpus/3/")
    assert (found.system, found.space, found.repeat) == ("grounded on dense", "corpus", 3)
    assert answer_from_row(row(), {}).answer_id == found.answer_id
    other = answer_from_row(row(answer="It was 6."), {})
    assert other.answer_id != found.answer_id, "a verdict of the old answer must not count for the new one"
    assert [one.cited for one in found.sentences] == [("c1", "9"), ()]
    assert (dict(found.sources), found.theme) == ({"c1": "text one"}, "metrics")
    plain = answer_from_row(row(citations=None, retrieved=None), {})
    assert [one.text for one in plain.sentences] == ["It was 5.", "It fell."]
    with pytest.raises(LakeError, match="cannot be read"):
        answer_from_row(row(citations="[1]"), {})


@pytest.mark.parametrize(
    "text",
    [
        "Je suis désolé, mais les sources ne contiennent pas d'informations spécifiques.",
        "Aucune information n'est disponible sur ce point.",
        "I'm sorry, but the provided sources do not contain specific information.",
    ],
)
def test_abstentions(text):
    assert abstains(text)


def test_a_partial_answer_is_no_abstention():
    _, found = read_marked(
        "Le chiffre est de 5 M€ [^a^]. Il était de 4 M€ [^a^]. Les sources ne contiennent pas le détail."
    )
    assert not plainly_abstains(found)
    assert not abstains("Le chiffre d'affaires est de 5 M€.")
    assert not plainly_abstains(())


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
        row = blank(table, chunk_id=f"A#b 2020/{chunk}", text=f"text of {chunk}", **keys)
        lake.write(table, pa.Table.from_pylist([row], TABLES[table]), "f", keys)
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
        [
            answer_row("q1", ["A#b 2020/p0/c0", "gone/p1/c0", "calculation"]),  # the last is of no filing
            answer_row("q2", []),
            answer_row("q9", []),
        ],
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
    found = labelled_answers(filled, tmp_path, questions)
    told = [(label, gold, system) for _, label, gold, system in found]
    assert told == [(1, "42", "recorded m_oracle"), (2, "42", "recorded m_oracle")]
    assert dict(found[0].answer.sources) == {"A#b 2020#page=1": "page 1"}
    assert dict(found[1].answer.sources) == {"not in the lake#page=3": "evidence on page 3\n"}
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
    found = labelled_answers(lake, folder, questions)
    assert len(found) == 2400 and len({one.system for one in found}) == 16
    three = calibrate(BaselineJudge(), "correctness", found[::16]).to_pylist()[0]
    assert three["observed"] == pytest.approx(0.827, abs=0.08)


FRENCH = "La société emploie mille deux cents personnes à Lyon."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (FRENCH, "fr"),
        ("The company employs one thousand two hundred people in Lyon.", "en"),
        ("$1,577 million", None),
        ("", None),
    ],
)
def test_language(text, language):
    assert language_of(text) == language


def values(*answers):
    table = automatic_scores(answers)
    assert table.schema == AUTOMATIC_SCORES
    return {(r["metric"], r["sentence"]): r["value"] for r in table.to_pylist()}


def test_worked_by_hand():
    found = values(
        answer(
            "q/1",
            (FRENCH, ("s2",)),
            ("Elle grandit depuis longtemps.", ("s2", "s9")),
            ("Voilà.", ()),
            language="fr",
        )
    )
    assert found == {
        ("correct_language", None): 1,
        ("response", None): 1,
        ("functional_citation", 0): 1,
        ("functional_citation", 1): 0,
    }


def test_no_response():
    assert values(answer("q/1", ("The company employs many people.", ())))["response", None] == 0
    declined = answer("q/1", ("That cannot be determined from these.", ("s1",)), abstains=True)
    assert values(declined)["response", None] == 0
    assert values(answer("q/1", (FRENCH, ("s2",))))["correct_language", None] == 0


def test_rates_by_theme_and_difficulty():
    answers = [
        answer(f"q{i}/{k}", (FRENCH, ("s2",) if i else ("s9",)), language="fr", theme="HR" if i < 2 else "IT")
        for i in range(4)
        for k in range(3)
    ]
    table = rates(automatic_scores(answers))
    assert table.schema == ANSWER_RATES
    rows = {(r["metric"], r["theme"], r["difficulty"]): r for r in table.to_pylist()}
    assert rows["functional_citation", "all", "all"]["rate"] == pytest.approx(9 / 12)
    assert rows["functional_citation", "HR", "all"]["rate"] == pytest.approx(0.5)
    assert rows["functional_citation", "IT", "all"]["rate"] == 1
    assert rows["response", "all", "all"]["questions"] == 4
    everything = rows["functional_citation", "all", "all"]
    assert everything["low"] < 0.75 < everything["high"]
    assert everything["effective_n"] < 8, "three answers to a question are no three observations"


@needs_data("eval_rag", "relevancy_answers.jsonl")
def test_the_published_answers():
    sources = {
        row["source_contents_id"]: split_sources(row["text"])
        for row in read_lines("eval_rag", "source_contents.jsonl.gz")
    }
    recorded = read_lines("eval_rag", "relevancy_answers.jsonl")[::10]
    answers = []
    for row in recorded:
        text, found = read_marked(row["answer"])
        answers.append(
            Answer(
                row["uuid_answers"],
                row["question id"],
                row["questions - fr"],
                text,
                found,
                sources[row["source_contents_id"]],
                plainly_abstains(found),
                language="fr",
            )
        )
    # The label says "not English"; the others of these answers are French.
    spoken = [language_of(one.text) for one in answers]
    assert [code != "en" for code in spoken] == [bool(row["answer_is_not_english"]) for row in recorded]
    table = rates(automatic_scores(answers)).to_pylist()
    overall = {r["metric"]: r["rate"] for r in table if r["theme"] == r["difficulty"] == "all"}
    assert overall["correct_language"] == pytest.approx(1667 / 2420, abs=0.06)
    assert overall["functional_citation"] == pytest.approx(0.99, abs=0.015), "99 % in the paper"
