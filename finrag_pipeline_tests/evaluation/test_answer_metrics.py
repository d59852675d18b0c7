"""Citations are held against the words of the page, not against what the answer was made from."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from finrag_pipeline.answering.extractive import answer_from_text
from finrag_pipeline.answering.generation import Asked, generate
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.answering.runs import derivation_row, extractive_row, generated_row
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.answer_metrics import (
    ANSWER_METRICS,
    SHOWN,
    PrintedPages,
    as_series,
    printed_citations,
    score_answers,
)
from finrag_pipeline.evaluation.published import load_recorded_answers
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.schemas import ANSWERS, BENCHMARK_QUESTIONS, FILING_PAGES, conform
from finrag_pipeline.settings import AnswerSettings, EvaluationSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.answering.derivations import abstention, capital_expenditure
from finrag_pipeline_tests.language_models.server import ScriptedModel
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines

FILING = "ALDER_2021_10K"
BOX = [100.0, 200.0, 140.0, 210.0]


def word(text: str, x: float, y: float = 205.0) -> dict[str, Any]:
    box = {"x0": x - 5, "x1": x + 5, "y0": y - 4, "y1": y + 4}
    return {**box, "text": text, "block": 0, "line": 0, "word": 0}


@pytest.fixture
def pages(lake: Lake) -> PrintedPages:
    blank = {"string": "", "int32": 0, "float": 0.0, "double": 0.0, "bool": False}
    row = {f.name: None if f.nullable else blank.get(str(f.type), []) for f in FILING_PAGES}
    words = [word("(", 108), word("1,577", 120), word(")", 132), word("1,402", 160)]
    row |= {"filing": FILING, "page": 3, "text": "Capital expendi-\ntures rose.", "words": words}
    lake.write("filing_pages", pa.Table.from_pylist([row], FILING_PAGES), "x", {"filing": FILING})
    return PrintedPages(lake)


def cell(printed: str, box: list[float] | None = BOX, page: int = 3, filing: str = FILING) -> dict[str, Any]:
    return {"filing": filing, "page": page, "box": box, "printed": printed}


def row(*inputs: dict[str, Any], quote: str | None = None, **changes: Any) -> dict[str, Any]:
    sources = [f"{FILING}/p3/c0"]
    cited = (
        [{"text": quote, "sources": sources}] if quote else [{"text": "It was 1,577.", "sources": sources}]
    )
    found = {"abstained": False, "answer": f"“{quote}” ({FILING}, page 4)", "citations": json.dumps(cited)}
    return {**found, "derivation": json.dumps({"inputs": inputs}), **changes}


def test_a_number_is_all_that_the_words_in_its_box_say(pages: PrintedPages) -> None:
    wide, empty = [100.0, 200.0, 170.0, 210.0], [0.0, 0.0, 5.0, 5.0]
    told = row(cell("(1,577)"), cell("1,402"), cell("577"), cell("1,577", wide), cell("1,577", empty))
    assert list(printed_citations(told, pages)) == [True, False, False, False, False]


def test_what_has_no_boxes_is_not_measured(pages: PrintedPages) -> None:
    told = row(cell("1,577", None), cell("1,577", page=9), cell("1,577", filing="BIRCH_2021_10K"))
    assert list(printed_citations(told, pages)) == []


def test_a_quote_stands_on_its_page(pages: PrintedPages) -> None:
    assert list(printed_citations(row(quote="Capital expenditures rose."), pages)) == [True]
    assert list(printed_citations(row(quote="Capital expenditures fell."), pages)) == [False]
    assert list(printed_citations(row(quote="x", answer="It rose."), pages)) == [], "no quote of the answer"


def test_an_abstention_cites_nothing(pages: PrintedPages) -> None:
    assert list(printed_citations(row(cell("1,402"), abstained=True), pages)) == []


QUESTION = "What was Alder's FY2021 capital expenditure (in USD millions)?"
PAGE = Passage("c1", "ALDER_2021_10K", 59, "Purchases of property (1,577) in millions 2021")


def questions(**gold: str) -> pa.Table:
    rows = [
        {
            "question_id": name,
            "question": QUESTION,
            "answer": answer,
            "question_type": "metrics",
            "company": "Alder",
            "filing": f"ALDER_{name}",
            "gold_pages": [0],
            "evidence": [],
            "status": "measured",
        }
        for name, answer in gold.items()
    ]
    return conform(pa.Table.from_pylist(rows, BENCHMARK_QUESTIONS), "benchmark_questions")


def answer(question_id: str, text: str, **changes) -> dict:
    row = dict.fromkeys(ANSWERS.names)
    return row | {
        "question_id": question_id,
        "question": QUESTION,
        "system": "prompt",
        "retrieval": "dense",
        "space": "corpus",
        "repeat": 0,
        "answer": text,
        "retrieved": ["c1"],
        "abstained": False,
        "warnings": [],
        **changes,
    }  # fmt: skip


def scores(rows: list[dict], gold: pa.Table) -> dict[tuple[str, str], float]:
    table = score_answers(conform(pa.Table.from_pylist(rows, ANSWERS), "answers"), gold)
    return {(row["question_id"], row["metric"]): row["value"] for row in table.to_pylist()}


class TestScores:
    def test_right_and_wrong_answers(self) -> None:
        gold = questions(a="$1577.00", b="$1577.00", c="Data Center")
        found = scores([answer("a", "$1,577 million"), answer("b", "It was 1577 in FY2021, so 12."), answer("c", "data center"), answer("x", "1577")], gold)  # fmt: skip
        assert (found["a", "numeric_match"], found["a", "strict_match"]) == (1.0, 1.0)
        assert (found["b", "numeric_match"], found["b", "numeric_match_first"]) == (1.0, 1.0)
        assert found["c", "rouge_l"] == 1.0 and found["c", "numeric_match"] == 0.0
        assert ("c", "strict_match") not in found and ("x", "rouge_l") not in found

    def test_what_a_system_states_as_its_last_word_is_judged(self) -> None:
        gold = questions(a="$1577.00")
        text = "Rows: 1 2 3 4 5 6 7 1577 9"
        assert scores([answer("a", text)], gold)["a", "strict_match"] == 0.0
        assert scores([answer("a", text, final_answer="$1,577 million")], gold)["a", "strict_match"] == 1.0

    def test_an_abstention_is_no_answer(self) -> None:
        found = scores([answer("a", "Cannot be determined: 1577", abstained=True)], questions(a="$1577.00"))
        assert (found["a", "abstained"], found["a", "strict_match"]) == (1.0, 0.0)

    def test_citations(self) -> None:
        def cited(citations: str | None, **changes: object) -> dict[str, float]:
            found = scores([answer("a", "1577", citations=citations, **changes)], questions(a="$1577.00"))
            return {metric: value for (_, metric), value in found.items() if "cit" in metric}

        told = json.dumps([{"sources": ["c1"], "unknown": ["7"]}, {"sources": [], "unknown": []}])
        assert cited(told) == {"cited_sentences": 0.5, "citation_validity": 0.5}
        assert cited(json.dumps([{"sources": []}])) == {"cited_sentences": 0.0}
        assert cited(None) == {} == cited("[]")
        assert cited(told, system="calculator") == {}, "it cites what it was given, by construction"

    def test_every_metric_is_declared_once_and_tables_show_some(self) -> None:
        names = [metric.name for metric in ANSWER_METRICS]
        assert len(set(names)) == len(names) and set(SHOWN) < set(ANSWER_METRICS)

    def test_both_widths_of_the_strict_match(self) -> None:
        found = scores(
            [answer("a", "$0.39 million"), answer("b", "$0.40 million")], questions(a="$0.40", b="$0.40")
        )
        assert (found["a", "strict_match"], found["a", "strict_match_wide"]) == (0.0, 1.0)
        assert (found["b", "strict_match"], found["b", "strict_match_wide"]) == (1.0, 1.0)

    def test_confidence_stands_at_its_bin_beside_the_strict_match(self) -> None:
        def row(name: str, text: str, confidence: float, from_rows: bool = True) -> dict:
            stated = json.dumps({"confidence": confidence, "from_rows": from_rows})
            return answer(name, text, system="calculator", derivation=stated)

        numbers = dict.fromkeys("abc", "$1577.00")
        gold = questions(**numbers, d="It grew to $1,577 million.", e="in words", f="No, it fell by 3%.")
        rows = [
            row("a", "1577", 0.65),
            row("b", "12", 0.04),
            row("c", "1577", 0.9, False),
            row("d", "1577", 0.95),
            row("e", "1577", 0.95),
            row("f", "No. -$12 million", 0.95),
        ]
        table = score_answers(conform(pa.Table.from_pylist(rows, ANSWERS), "answers"), gold)
        found = {
            (one["question_id"], one["metric"], one["k"]): one["value"]
            for one in as_series(table).to_pylist()
            if one["k"]
        }
        assert found == {
            ("a", "confidence", 60): 0.65,
            ("a", "confident_right", 60): 1.0,
            ("b", "confidence", 1): 0.04,
            ("b", "confident_right", 1): 0.0,
            ("d", "confidence", 90): 0.95,
            ("d", "confident_right", 90): 1.0,
            ("f", "confidence", 90): 0.95,
            ("f", "confident_right", 90): 1.0,
        }
        brier = {one["question_id"]: one["value"] for one in table.to_pylist() if one["metric"] == "brier"}
        assert brier == pytest.approx({"a": 0.1225, "b": 0.0016, "d": 0.0025, "f": 0.0025})

    def test_a_series_averages_repeats_and_can_be_summarised(self) -> None:
        gold = questions(a="$1577.00", b="$1577.00")
        rows = [
            answer("a", "1577"),
            answer("a", "12", repeat=1),
            answer("b", "1577"),
            answer("b", "1577", repeat=1),
        ]
        table = as_series(score_answers(conform(pa.Table.from_pylist(rows, ANSWERS), "answers"), gold))
        strict = {
            row["question_id"]: row["value"] for row in table.to_pylist() if row["metric"] == "strict_match"
        }
        assert strict == {"a": 0.5, "b": 1.0}
        means = summarise(table, gold, {}, EvaluationSettings()).to_pylist()
        (mean,) = (r for r in means if (r["slice"], r["metric"]) == ("all", "strict_match"))
        assert (mean["system"], mean["space"], mean["mean"], mean["n"]) == (
            "prompt on dense",
            "corpus",
            0.75,
            2,
        )


class TestRows:
    KEY: ClassVar = {"question_id": "a", "retrieval": "dense", "space": "corpus", "fold": 1}

    def test_all_kinds_of_answers_are_rows_and_score(self) -> None:
        model = ScriptedModel(lambda *_: "It was $1,577 million [1].")
        (generated,) = generate(model, "prompt", [Asked(QUESTION, (PAGE,))], AnswerSettings())
        quoted = answer_from_text(QUESTION, [PAGE])
        rows = [
            generated_row(generated, **self.KEY),
            derivation_row(capital_expenditure(), ["p1"], **self.KEY),
            derivation_row(abstention(), [], **self.KEY),
            extractive_row(quoted, ["c1"], **self.KEY, seconds=0.1),
        ]
        table = conform(pa.Table.from_pylist(rows, ANSWERS), "answers")
        assert table["system"].to_pylist() == ["prompt", "calculator", "calculator", "extractive"]
        assert table["value"].to_pylist()[:3] == [1577e6, 1577e6, None]
        assert table["abstained"].to_pylist() == [False, False, True, True]
        found = score_answers(table, questions(a="$1577.00")).to_pylist()
        strict = [row["value"] for row in found if row["metric"] == "strict_match"]
        assert strict == [1.0, 1.0, 0.0, 0.0]
        validity = [row["value"] for row in found if row["metric"] == "citation_validity"]
        assert validity == [1.0], "of the language model alone"
        assert json.loads(table["derivation"][1].as_py())["inputs"][0]["page"] == 59


class TestRecordedAnswers:
    def write(self, folder: Path) -> None:
        (folder / "gpt-4_oracle.jsonl").write_text(
            json.dumps(
                {"financebench_id": "a", "model_answer": "It was $1,577 million.", "label": "Correct Answer"}
            )
            + "\n\n"
            + json.dumps({"financebench_id": "b", "model_answer": 12, "label": "Refusal"})
            + "\n"
            + json.dumps({"financebench_id": "z", "model_answer": "of another benchmark"})
        )
        line = json.dumps(
            {"financebench_id": "a", "answer": "I'm sorry, I cannot answer.", "model": "Qwen/Q"}
        )
        (folder / "shared_mpnet__qwen.jsonl.gz").write_bytes(gzip.compress(line.encode()))

    def test_files_become_systems(self, tmp_path: Path) -> None:
        self.write(tmp_path)
        rows = load_recorded_answers(tmp_path, {"a": QUESTION, "b": QUESTION}).to_pylist()
        assert [(r["system"], r["space"], r["model"], r["human_label"], r["abstained"]) for r in rows] == [
            ("recorded gpt-4_oracle", "pages", "gpt-4", "correct", False),
            ("recorded gpt-4_oracle", "pages", "gpt-4", "refusal", False),
            ("recorded shared_mpnet__qwen", "corpus", "Qwen/Q", None, True),
        ]
        assert (rows[0]["value"], rows[0]["unit"]) == (1577e6, "currency")

    @pytest.mark.parametrize(
        "text", ["{", "7", '{"financebench_id": "a"}', '{"financebench_id": "a", "answer": []}']
    )
    def test_a_damaged_line_is_named(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "x_oracle.jsonl").write_text(text)
        with pytest.raises(BenchmarkError, match=r"x_oracle\.jsonl, line 1"):
            load_recorded_answers(tmp_path, {"a": QUESTION})

    def test_damaged_files_and_empty_folders(self, tmp_path: Path) -> None:
        with pytest.raises(BenchmarkError, match="holds no recorded answers"):
            load_recorded_answers(tmp_path, {})
        (tmp_path / "x.jsonl").write_text("[1]")
        with pytest.raises(BenchmarkError, match=r"x\.jsonl' is one JSON array"):
            load_recorded_answers(tmp_path, {})
        (tmp_path / "x.jsonl").unlink()
        (tmp_path / "x.jsonl.gz").write_bytes(b"no gzip")
        with pytest.raises(BenchmarkError, match="cannot be read"):
            load_recorded_answers(tmp_path, {})


@needs_data("financebench_authors", "our_answer_per_question.csv")
def test_rouge_of_recorded_answers_of_the_authors(tmp_path: Path) -> None:
    """Two of the thirteen files, through the loader; numeric matches of all of them are tested with their forms."""
    gold = read_lines("financebench", "financebench_open_source.jsonl")
    asked = questions(**{row["financebench_id"]: row["answer"] for row in gold})
    runs = ("shared_mpnet_char1024__qwen25-7b-8bit", "openbook_evidence_20260102__llama32-3b-8bit")
    for run in runs:
        name = f"{run}.jsonl.gz"
        (tmp_path / name).symlink_to(DATA / "financebench_authors" / "answers" / name)
    recorded = load_recorded_answers(tmp_path, {row["financebench_id"]: row["question"] for row in gold})
    assert recorded.num_rows == 300
    found = {
        (row["system"].removeprefix("recorded "), row["question_id"], row["metric"]): row["value"]
        for row in score_answers(recorded, asked).to_pylist()
    }
    with (DATA / "financebench_authors" / "our_answer_per_question.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["run"] in runs]
    assert len(rows) == 300
    for row in rows:
        key = row["run"], row["financebench_id"]
        assert found[*key, "rouge_l"] == pytest.approx(float(row["rougeL"]), abs=1e-4)
        assert found[*key, "numeric_match"] == float(row["numeric_match"])


@needs_data("financebench", "results")
def test_the_sixteen_configurations_with_people_s_verdicts() -> None:
    gold = read_lines("financebench", "financebench_open_source.jsonl")
    recorded = load_recorded_answers(
        DATA / "financebench" / "results", {row["financebench_id"]: row["question"] for row in gold}
    )
    assert recorded.num_rows == 2400 and len(set(recorded["system"].to_pylist())) == 16
    labels = recorded["human_label"].to_pylist()
    assert [labels.count(label) for label in ("correct", "incorrect", "refusal")] == [1135, 528, 737]
