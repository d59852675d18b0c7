"""From the tables of the lake to one record per question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.evaluation.judged_answers import answer_from_row
from finrag_pipeline.reporting.explorer_data import (
    ExplorerData,
    ExplorerQuestion,
    Outcome,
    collect_explorer,
    outcomes,
    place_of,
)
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.reporting.explorer_lake import (
    FILINGS,
    HOSTILE_ID,
    PDF,
    SYSTEMS,
    TEXT,
    questions,
    rows_table,
    write_explorer_lake,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ExplorerData:
    root = tmp_path_factory.mktemp("explorer")
    settings = Settings(lake=str(root / "lake"))
    return collect_explorer(write_explorer_lake(settings, root / "in"), FILINGS)


def places(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["filing"], row["page"]) for row in rows]


def of(data: ExplorerData, name: str) -> ExplorerQuestion:
    (found,) = [question for question in data.questions if question.question_id == name]
    return found


def test_every_question_is_there_and_every_system(data: ExplorerData) -> None:
    assert [question.question_id for question in data.questions] == [
        row["question_id"] for row in questions()
    ]
    assert set(data.systems) == set(SYSTEMS) and data.systems[-1] == "dense_pages", "variants stand last"
    assert data.spaces == ["corpus", "filing"]
    assert [series.title for series in data.series][-1] == "some-model_closedBook"


def test_rankings_are_pages_with_their_ranks(data: ExplorerData) -> None:
    question = of(data, "q_two_pages")
    best, worst = question.rankings["corpus", "finrag"], question.rankings["corpus", "dense"]
    assert places(best["pages"][:2]) == [(PDF, 1), (PDF, 3)]
    assert (best["doc_rec"], best["page_rec"]) == (1.0, 1.0) and worst["page_rec"] == 0.0
    assert places(best["gold"]) == places(worst["gold"]) == [(PDF, 1), (PDF, 3)]
    assert [[one["rank"] for one in found["gold"]] for found in (best, worst)] == [[1, 2], [9, 10]]
    assert question.snippets[best["pages"][0]["chunk_id"]].startswith(
        "Alder Corp annual report 2021, part 1."
    )


def test_chunks_of_a_page_are_one_page(tmp_path: Path) -> None:
    settings = Settings(lake=str(tmp_path / "lake"))
    lake = write_explorer_lake(settings, tmp_path / "in")
    key = {"system": "dense", "space": "corpus", "question_id": "q_metrics", "filing": PDF}
    rows = [
        {**key, "rank": rank, "page": page, "chunk_id": f"{PDF}/p{page}/c{rank}", "score": 1.0 - rank / 10}
        for rank, page in enumerate([4, 2, 4, 1], start=1)
    ]
    lake.write(
        "retrieval_runs", rows_table("retrieval_runs", rows), "x", {"system": "dense", "fold": "fold_0"}
    )
    found = of(collect_explorer(lake, FILINGS), "q_metrics").rankings["corpus", "dense"]
    assert [(page["page"], page["ranks"]) for page in found["pages"]] == [(4, [1, 3]), (2, [2]), (1, [4])]
    assert "score" not in found["pages"][0] and found["depth"] == 4
    assert found["gold"] == [{"filing": PDF, "page": 2, "rank": 2}]


def test_finrag_says_why(data: ExplorerData) -> None:
    reasons = of(data, "q_metrics").reasons
    assert "income statement" in reasons[PDF, 2] and "shows revenue" in reasons[PDF, 2]
    assert of(data, "q_metrics").kinds[PDF, 2] == "Income statement"


def test_who_says_whether_an_answer_is_right(data: ExplorerData) -> None:
    found = {
        (answer["system"], answer["repeat"]): (answer["outcome"], answer["judged_by"])
        for answer in of(data, "q_metrics").answers
    }
    assert found == {
        ("calculator", 0): (Outcome.RIGHT, "comparison of the numbers"),
        ("prompt", 0): (Outcome.UNKNOWN, ""),
        ("prompt", 1): (Outcome.UNKNOWN, ""),
        ("prompt", 2): (Outcome.DECLINED, ""),
        ("recorded some-model_closedBook", 0): (Outcome.WRONG, "people"),
    }
    assert {s.system: o for s, o in outcomes(of(data, "q_metrics").answers).items()}[
        "prompt"
    ] == Outcome.UNKNOWN
    assert of(data, "q_text").answers[0]["outcome"] == Outcome.WRONG


def test_verdicts_of_judges_are_shown_with_the_answer_they_are_about(tmp_path: Path) -> None:
    settings = Settings(lake=str(tmp_path / "lake"))
    lake = write_explorer_lake(settings, tmp_path / "in")
    rows = lake.read("answers", {"system": "prompt", "fold": "fold_0"}).to_pylist()

    def verdict(row: dict[str, Any], **more: Any) -> dict[str, Any]:
        answer_id = answer_from_row(row, {}).answer_id
        return {
            "judge": "j",
            "criterion": "correctness",
            "answer_id": answer_id,
            "question_id": "q_metrics",
            **more,
        }

    verdicts = [
        verdict(rows[0], label=1, reasoning="it is"),
        verdict(rows[1], label=0),
        verdict(rows[1], criterion="veracity", sentence=0, problem="no JSON"),
        {**verdict(rows[2]), "answer_id": "of another answer", "label": 1},
    ]
    lake.write("verdicts", rows_table("verdicts", verdicts), "v", {"judge": "j"})
    answers = of(collect_explorer(lake, FILINGS), "q_metrics").answers
    prompted = [answer for answer in answers if answer["system"] == "prompt"]
    assert [(one["outcome"], one["judged_by"]) for one in prompted[:2]] == [
        (Outcome.RIGHT, "judge j"), (Outcome.WRONG, "judge j"),
    ]  # fmt: skip
    assert prompted[1]["verdicts"][1]["word"] == "no verdict"
    assert prompted[1]["verdicts"][1]["reasoning"] == "no JSON"
    assert prompted[2]["verdicts"] == []


def test_the_calculation_and_what_it_read(data: ExplorerData) -> None:
    calculator = of(data, "q_metrics").answers[0]
    assert calculator["derivation"]["formula"] == "revenue@2021"
    assert calculator["cited"] == [(PDF, 2)]
    damaged = of(data, HOSTILE_ID).answers[0]
    assert damaged["derivation"] is None and damaged["cited"] == []


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (f"{PDF}#page=59", (PDF, 59)),
        (f"{PDF}/p2/c0", (PDF, 2)),
        (f"{PDF}/p12/x5", (PDF, 12)),
        ("something else", None),
        ("", None),
    ],
)
def test_places_of_sources(source: str, place: tuple[str, int] | None) -> None:
    assert place_of(source) == place


def test_the_pages_that_are_shown(data: ExplorerData) -> None:
    shown = {one["place"]: one for one in of(data, "q_metrics").shown}
    assert next(iter(shown)) == (PDF, 2)
    assert shown[PDF, 2]["roles"] == ["gold page", "cited by calculator", "rank 1 of finrag"]
    assert len(shown) == 3
    ((x0, y0, x1, y1),) = shown[PDF, 2]["evidence"]
    assert 40 < x0 < x1 < 560 and 40 < y0 < y1 < 120
    assert shown[PDF, 2]["used"] == [(60.0, 80.0, 120.0, 95.0)]
    content = data.pages[PDF, 2]
    assert {name: len(boxes) for name, boxes in content["layers"].items()} == {
        "tables": 1, "headers": 1, "numbers": 1, "unreadable": 1,
    }  # fmt: skip
    assert content["facts"] == [((60.0, 80.0, 120.0, 95.0), "Revenues", "221")]


def test_text_only_filings_are_marked_in_their_text(data: ExplorerData) -> None:
    (gold, *_) = of(data, "q_text").shown
    text = data.pages[TEXT, 2]["text"]
    assert [text[start:end] for start, end in gold["spans"]] == ["The revenue of division 2 was $221 million"]
    assert gold["evidence"] == [] and data.pages[TEXT, 2]["width"] is None


def test_pages_that_are_not_there_say_so(data: ExplorerData) -> None:
    problem = data.pages[PDF, 77]["problem"]
    assert problem == f"{PDF} has 5 pages; there is no page 78."
    assert data.pages["GONE_2020_10K", 3]["problem"] == "The lake holds no pages of GONE_2020_10K."


def test_a_lake_with_questions_alone(tmp_path: Path) -> None:
    settings = Settings(lake=str(tmp_path / "lake"))
    lake = Lake(settings.lake)
    lake.write("benchmark_questions", rows_table("benchmark_questions", questions()[:2]), "q")
    data = collect_explorer(lake, FILINGS)
    assert len(data.questions) == 2 and data.systems == data.spaces == data.series == []
    assert all(page["problem"] for page in data.pages.values())


def test_losses_are_read_as_the_analysis_wrote_them(data: ExplorerData) -> None:
    found = {(loss["retrieval"], loss["answering"]): loss for loss in of(data, "q_text").losses}
    assert found["dense", None]["labels"] == ["wrong_year", "lexical_gap"]
    assert places([found["dense", None]]) == [(PDF, 2)]
    assert found["finrag", "calculator"]["level"] == "generation"


def test_json_of_another_kind_is_no_derivation(tmp_path: Path) -> None:
    settings = Settings(lake=str(tmp_path / "lake"))
    lake = Lake(settings.lake)
    lake.write("benchmark_questions", rows_table("benchmark_questions", questions()[:1]), "q")
    key = {"question_id": "q_metrics", "system": "calculator", "answer": "7"}
    odd = ["[]", "7", json.dumps({"inputs": [7, {"page": "x"}]}), json.dumps({"inputs": None, "steps": None})]
    rows = [{**key, "repeat": n, "derivation": text, "citations": text} for n, text in enumerate(odd)]
    lake.write("answers", rows_table("answers", rows), "a", {"system": "calculator", "fold": "fold_0"})
    answers = of(collect_explorer(lake, FILINGS), "q_metrics").answers
    assert [answer["inputs"] for answer in answers] == [[]] * 4
