from __future__ import annotations

import json

import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.judged_answers import (
    abstains,
    answer_from_row,
    plainly_abstains,
    sentence_rows,
    unique_answers,
)
from finrag_pipeline.schemas import ANSWER_SENTENCES
from finrag_pipeline_tests.evaluation.judged_builders import SOURCES, answer, read_marked, split_sources


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


def test_an_answer_comes_once():
    one = answer("q/1", ("A.", ()))
    assert unique_answers([one]) == [one]
    with pytest.raises(LakeError, match="twice"):
        unique_answers([one, one])
