from __future__ import annotations

import dataclasses

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.answer_metrics import RIGHT
from finrag_pipeline.evaluation.failure_modes import LABELS, gold_pages
from finrag_pipeline.evaluation.retrieval_gap import (
    LEVELS,
    answer_outcomes,
    first_answers,
    gap_counts,
    lost_level,
    retrieval_gap,
)
from finrag_pipeline.evaluation.retrieval_metrics import find_gold_chunks, score_runs
from finrag_pipeline.schemas import ANSWER_SCORES, ANSWERS, GAP_COUNTS, RETRIEVAL_GAP
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, run_rows, runs_table
from finrag_pipeline_tests.evaluation.gap_fixtures import (
    CHUNKS,
    GOLD,
    LAKE,
    PAGES,
    answer_row,
    asked,
    passages,
)

QUESTIONS = questions_table(
    asked([4]),
    asked([4, 6], "What is FY2021 dividends paid over net income?", answer="0.16", question_id="q2"),
    question_row("gone", GOLD, [4], status="excluded", problem="why"),
)


NOT_ANSWERED = ANSWERS.empty_table()


def ranked(system: str, question: str, *places: tuple[str, int], space: str = "corpus") -> list[dict]:
    chunks = [(f"{filing}/p{page}", filing, page) for filing, page in places]
    return run_rows(system, space, question, chunks)


def answers_table(*rows: dict) -> pa.Table:
    defaults = {"question": "?", "warnings": []}
    return pa.Table.from_pylist([{**defaults, **row} for row in rows], schema=ANSWERS)


class TestLevels:
    def level(self, question: dict, *places: tuple[str, int]) -> str:
        return lost_level(gold_pages(question, LAKE), passages(*places)).label

    def test_from_the_filing_to_the_chunk(self):
        one, two = asked([4]), asked([4, 6], "What is FY2021 dividends over net income?", answer="0.16")
        assert self.level(one) == "filing"
        assert self.level(one, ("BIRCH_2021_10K", 4), ("ALDER_2020_10K", 4)) == "filing"
        assert self.level(one, (GOLD, 6)) == "page"
        assert self.level(one, ("BIRCH_2021_10K", 4), (GOLD, 4)) == "none"
        assert self.level(two, (GOLD, 4)) == "page", "it needs both"
        assert self.level(two, (GOLD, 6), (GOLD, 4)) == "none"

    def test_a_passage_of_the_page_without_its_evidence(self):
        gold = gold_pages(asked([4]), LAKE)
        head, row = (Passage(name, GOLD, 4, CHUNKS[name]) for name in (f"{GOLD}/p4/head", f"{GOLD}/p4/row"))
        found = lost_level(gold, [head])
        assert (found.label, found.filing, found.page) == ("chunk", GOLD, 4)
        assert lost_level(gold, [head, row]).label == "none"


class TestRetrieval:
    def gap(self, rows: list[dict], **more) -> dict[tuple[str, str], dict]:
        table = retrieval_gap(runs_table(rows), QUESTIONS, LAKE, NOT_ANSWERED, {}, **more)
        assert table.schema.names == RETRIEVAL_GAP.names
        return {(row["retrieval"], row["question_id"]): row for row in table.to_pylist()}

    def test_every_measured_question_of_every_system(self):
        rows = ranked("dense", "q1", ("BIRCH_2021_10K", 4), ("ALDER_2020_10K", 4))
        rows += ranked("bm25", "q1", (GOLD, 4)) + ranked("bm25", "q2", (GOLD, 4))
        found = self.gap(rows, expected=["splade"])
        levels = {key: row["level"] for key, row in found.items()}
        assert levels == {
            ("bm25", "q1"): "none",
            ("bm25", "q2"): "page",
            ("dense", "q1"): "filing",
            ("dense", "q2"): "filing",
            ("splade", "q1"): "filing",
            ("splade", "q2"): "filing",
        }
        dense = found["dense", "q1"]
        assert dense["labels"] == ["wrong_company", "wrong_year"]
        assert (dense["filing"], dense["page"]) == ("BIRCH_2021_10K", 4), "the example of the first label"
        assert dense["why"].startswith(
            "None of the 2 passages stands in ALDER_2021_10K; BIRCH_2021_10K, page 5"
        )
        assert found["bm25", "q2"]["labels"] == ["multi_statement_gap"]
        assert (found["splade", "q1"]["filing"], found["splade", "q1"]["page"]) == (GOLD, 4)
        assert all(row["answering"] is None and row["why"].endswith(".") for row in found.values())

    def test_only_the_first_five_chunks_of_the_space_count(self):
        others = [("BIRCH_2021_10K", 4), ("ALDER_LETTER", 0), (GOLD, 0), (GOLD, 3), (GOLD, 8)]
        found = self.gap(ranked("dense", "q1", *others, (GOLD, 4)))
        assert found["dense", "q1"]["level"] == "page"
        assert found["dense", "q1"]["labels"] == ["wrong_company", "unannotated_page"]
        assert self.gap(ranked("dense", "q1", (GOLD, 4), space="filing")) == {}

    @given(
        st.dictionaries(
            st.sampled_from(["q1", "q2"]), st.lists(st.sampled_from(sorted(PAGES)), unique=True, max_size=7)
        )
    )
    def test_levels_agree_with_the_scores(self, rankings):
        rows = [row for name, places in rankings.items() for row in ranked("dense", name, *places)]
        found = self.gap(rows, expected=["dense"])
        chunks = [(f"{filing}/p{page}", filing, page) for filing, page in PAGES]
        table = pa.table(list(zip(*chunks, strict=True)), names=["chunk_id", "filing", "page"])
        scores = score_runs(
            runs_table(rows),
            QUESTIONS,
            CHUNKS,
            find_gold_chunks(QUESTIONS, table),
            expected=[("dense", "corpus")],
            overlap=lambda pairs: [(0.0, 0.0)] * len(pairs),
        )
        at_5 = scores.filter(pc.equal(scores["k"], 5)).to_pylist()
        value = {(row["question_id"], row["metric"]): row["value"] for row in at_5}
        for (_, name), row in found.items():
            assert (row["level"] == "filing") == (value[name, "doc_rec"] == 0)
            assert (row["level"] in ("filing", "page")) == (value[name, "page_rec"] < 1)
            partly = 0 < value[name, "page_rec"] < 1
            assert ("multi_statement_gap" in row["labels"]) == partly

    def test_a_chunk_without_text_and_a_filing_that_nobody_knows(self):
        with pytest.raises(LakeError, match="no text of 'x'"):
            self.gap(run_rows("dense", "corpus", "q1", [("x", GOLD, 4)]))
        nobody = dataclasses.replace(LAKE, identities={})
        with pytest.raises(LakeError, match="is not in the table filings"):
            retrieval_gap(runs_table(ranked("dense", "q1", (GOLD, 4))), QUESTIONS, nobody, NOT_ANSWERED, {})


class TestAnswers:
    RUNS = runs_table(ranked("dense", "q1", (GOLD, 0), (GOLD, 4)) + ranked("dense", "q2", (GOLD, 4)))
    GIVEN = (f"{GOLD}/p0", f"{GOLD}/p4")

    def gap(self, outcome: str, **more) -> dict:
        answer = answer_row(**{"answer": "$46,002 million", "retrieved": list(self.GIVEN), **more})
        outcomes = {("q1", "prompt", "dense"): (outcome, "people")}
        table = retrieval_gap(self.RUNS, QUESTIONS, LAKE, answers_table(answer), outcomes)
        (row,) = [row for row in table.to_pylist() if row["answering"]]
        assert (row["answering"], row["retrieval"], row["question_id"]) == ("prompt", "dense", "q1")
        return row

    def test_a_right_answer_loses_nothing_wherever_it_has_it_from(self):
        row = self.gap("correct", retrieved=[])
        assert (row["level"], row["labels"]) == ("none", [])
        assert row["why"] == "The answer is right (people)."

    def test_a_wrong_answer_over_the_evidence(self):
        row = self.gap("incorrect", answer="$48.213 million")
        assert (row["level"], row["labels"]) == ("generation", ["scale_error", "invented_number"])
        assert row["why"].startswith("The answer is wrong (people), and the evidence is among the passages; ")
        assert (row["filing"], row["page"]) == (GOLD, 4)

    def test_an_abstention_over_the_evidence(self):
        row = self.gap("refusal", answer="It cannot be determined.", abstained=True)
        assert (row["level"], row["labels"]) == ("generation", [])
        assert "abstains" in row["why"]

    def test_what_was_given_counts_not_the_first_five(self):
        row = self.gap("incorrect", retrieved=[f"{GOLD}/p0"])
        assert row["level"] == "page"
        assert self.gap("incorrect", retrieved=[f"{GOLD}#page=4"])["level"] == "generation"
        assert self.gap("incorrect", retrieved=[])["level"] == "filing"
        held_to = self.gap("incorrect", retrieved=[f"{GOLD}#page=4", "calculation"])
        assert held_to["level"] == "generation", "a calculation is no page"

    def test_a_source_that_nobody_ranked(self):
        with pytest.raises(LakeError, match="No ranking holds 'x'"):
            self.gap("incorrect", retrieved=["x"])

    def test_answers_without_verdict_retrieval_or_of_another_space_are_left_out(self):
        rows = [
            answer_row("a", question_id="q2"),
            answer_row("b", retrieval=None),
            answer_row("c", space="filing"),
            answer_row("d", repeat=1),
        ]
        table = retrieval_gap(self.RUNS, QUESTIONS, LAKE, answers_table(*rows), {})
        assert not any(row["answering"] for row in table.to_pylist())
        assert first_answers(NOT_ANSWERED) == {}


def test_people_come_before_the_strict_match_and_the_judge():
    rows = [
        answer_row("1", question_id="a", human_label="incorrect"),
        answer_row("2", question_id="b"),
        answer_row("3", question_id="c"),
        answer_row("", question_id="d", abstained=True),
        answer_row("", question_id="e", error="none came"),
        answer_row("6", question_id="f"),
    ]
    key = {"system": "prompt", "retrieval": "dense", "space": "corpus", "metric": RIGHT}
    scores = [{**key, "question_id": name, "repeat": 0, "value": 1.0} for name in "abde"]
    scores += [{**key, "question_id": "b", "repeat": 1, "value": 0.0}]
    questions = questions_table(*(question_row(name, GOLD, [4]) for name in "abcde"))
    found = answer_outcomes(
        answers_table(*rows), pa.Table.from_pylist(scores, schema=ANSWER_SCORES), questions
    )
    assert {name: outcome for (name, _, _), outcome in found.items()} == {
        "a": ("incorrect", "people"),
        "b": ("correct", "strict match"),
        "c": ("incorrect", "the deterministic judge"),
        "d": ("refusal", "the answer itself"),
        "e": ("refusal", "the answer itself"),
    }


class TestCounts:
    def table(self, rows: list[tuple]) -> pa.Table:
        names = ("question_id", "retrieval", "answering", "level", "labels")
        common = {"space": "corpus", "why": "Why.", "filing": None, "page": None}
        return pa.Table.from_pylist(
            [{**common, **dict(zip(names, row, strict=True))} for row in rows], schema=RETRIEVAL_GAP
        )

    def test_levels_add_up_and_labels_need_not(self):
        questions = questions_table(*(question_row(f"q{i}", f"F{i // 2}", [0]) for i in range(6)))
        rows = [(f"q{i}", "dense", None, "page", ["wrong_year", "lexical_gap"]) for i in range(4)]
        rows += [(f"q{i}", "dense", None, "none", []) for i in (4, 5)]
        rows += [(f"q{i}", "dense", "prompt", "generation", ["scale_error"]) for i in range(6)]
        table = gap_counts(self.table(rows), questions)
        assert table.schema.names == GAP_COUNTS.names
        found = {(r["answering"], r["kind"], r["value"]): r for r in table.to_pylist()}
        alone = {value: found[None, "level", value]["count"] for value in LEVELS if value != "generation"}
        assert alone == {"filing": 0, "page": 4, "chunk": 0, "none": 2}
        assert (None, "level", "generation") not in found and (None, "label", "scale_error") not in found
        assert found[None, "label", "wrong_year"]["share"] == pytest.approx(4 / 6)
        assert {value for who, kind, value in found if (who, kind) == ("prompt", "label")} == set(LABELS)
        every = found["prompt", "level", "generation"]
        assert (every["count"], every["n"], every["high"]) == (6, 6, 1.0)
        assert every["low"] < 0.6, "three filings show little"
        for row in found.values():
            assert 0 <= row["low"] <= row["share"] <= row["high"] <= 1

    def test_one_filing_has_no_interval(self):
        questions = questions_table(question_row("q0", "F", [0]))
        table = gap_counts(self.table([("q0", "dense", None, "none", [])]), questions)
        assert all(row["low"] is row["high"] is None for row in table.to_pylist())

    def test_nothing_was_measured(self):
        assert gap_counts(self.table([]), QUESTIONS).num_rows == 0
