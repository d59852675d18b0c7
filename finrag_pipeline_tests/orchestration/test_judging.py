"""The evaluation protocol over the answers of a small lake: verdicts, labels of people, estimates, tests."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from finrag_pipeline.commands.answers import check_sheets, import_sheets, judge_answers
from finrag_pipeline.errors import UsageError
from finrag_pipeline.language_models.load import CachedLanguageModel
from finrag_pipeline.language_models.protocol import Message
from finrag_pipeline.orchestration.partitions import sweep_range
from finrag_pipeline.schemas.catalogue import made_by
from finrag_pipeline.settings import AnswerSettings, JudgeSettings, LanguageModelSettings
from finrag_pipeline_tests.evaluation.judged_builders import reply
from finrag_pipeline_tests.language_models.server import ScriptedModel
from finrag_pipeline_tests.orchestration.conftest import Pipeline, failure_text, made, rows

pytestmark = pytest.mark.slow

JUDGE, JUDGEMENTS = made_by("judge"), made_by("publish_judgements")

MODEL = LanguageModelSettings(name="m", base_url="http://127.0.0.1:9/v1")
QUICK = JudgeSettings(simulation_draws=20, budget=9)


def answered(pipeline: Pipeline, *systems: str) -> None:
    for system in systems:
        result = pipeline.run("answer", tags=sweep_range(system))
        assert result.success, failure_text(result)


def judged(pipeline: Pipeline, *systems: str) -> list[dict]:
    """Judge and publish; what the runs said of each asset, run by run."""
    found = []
    for job, tags in [*(("judge", sweep_range(system)) for system in systems), ("publish_judgements", None)]:
        result = pipeline.run(job, tags=tags)
        assert result.success, failure_text(result)
        found.append(made(result))
    return found


def test_the_graph_runs_without_any_model_and_leaves_out_a_judge_without_an_address(
    answering: Pipeline,
) -> None:
    pipeline, lake = answering.configured(judge=QUICK), answering.lake
    answered(pipeline, "calculator", "extractive")
    assert pipeline.run("publish_answers").success
    first, _, published = judged(pipeline, "calculator", "extractive")
    assert set(first) == set(JUDGE) and set(published) == set(JUDGEMENTS) - {"judge_calibration"}

    answers = lake.read_all("answers")
    verdicts = lake.read_all("verdicts")
    whole = verdicts.filter(pc.equal(verdicts["criterion"], "relevance"))
    assert whole.num_rows == answers.num_rows and set(verdicts["judge"].to_pylist()) == {"baseline"}
    assert {row["system"] for row in lake.read("answer_rates").to_pylist()} == {
        "calculator on finrag",
        "extractive on finrag",
    }
    estimates = lake.read("judged_estimates").to_pylist()
    assert {row["method"] for row in estimates} == {"judge"}, "nobody has labelled"
    assert {row["space"] for row in estimates} == {"corpus", "filing", "pages"}
    compared = lake.read("system_comparisons").to_pylist()
    assert {row["system"] for row in compared} == {"extractive on finrag"}
    assert published["judge_sensitivity"].metadata["plot"].startswith("![Half width")

    entry = lake.ledger_entry("judge_calibration", "")
    assert entry and entry["outcome"] == "skipped" and "FINRAG_JUDGE__LABELLED" in entry["error"]
    again = judged(pipeline, "calculator")
    assert {one.metadata["cache"] for run in again for one in run.values()} == {"hit"}

    # A judge without an address is left out.
    panel = {"lost": LanguageModelSettings(kind="endpoint", name="m")}
    lost = answering.configured(judge=QUICK.model_copy(update={"models": panel}))
    assert judge_answers(lost.settings, ["calculator"], lambda name: None)["judges_not_asked"] == {
        "lost": "The endpoint has no address (FINRAG_JUDGE__MODELS__LOST__BASE_URL)."
    }
    assert set(lake.read_all("verdicts")["judge"].to_pylist()) == {"baseline"}


def test_verdicts_of_answers_that_are_gone_go_as_well(answering: Pipeline) -> None:
    pipeline, lake = answering.configured(judge=QUICK), answering.lake
    answered(pipeline, "calculator")
    assert pipeline.run("judge", tags=sweep_range("calculator")).success
    (partition, *_) = lake.partitions("verdicts")
    lake.remove("answers", partition)
    assert pipeline.run("judge", tags=sweep_range("calculator")).success
    for asset in JUDGE:
        assert len(lake.partitions(asset)) == 4 and lake.info(asset, partition) is None


def test_a_source_without_text_blocks_the_verdicts(answering: Pipeline) -> None:
    lake = answering.lake
    answered(answering, "calculator")
    (partition, *_) = lake.partitions("answers")
    table = lake.read("answers", partition)
    gone = pa.array([["GONE_2020/p1/c0"]] * table.num_rows, pa.list_(pa.string()))
    table = table.set_column(table.column_names.index("retrieved"), table.schema.field("retrieved"), gone)
    lake.write("answers", table, "changed", partition)
    result = answering.run("judge", tags=sweep_range("calculator"))
    assert not result.success
    failed = {one.check_name for one in result.get_asset_check_evaluations() if not one.passed}
    assert failed == {"sources_have_text"} and lake.partitions("verdicts") == []


def say(messages: Sequence[Message], seed: int | None) -> str:
    """An answer that is right in three of four repeats, and gives what is in the first source."""
    return f"It was {5 if (seed or 0) % 4 else 7} million [1]. The text speaks of it [2]."


def count_of(system: str) -> int:
    return int(re.search(r"list of (\d+) obj", system)[1])


def strict(messages: Sequence[Message], seed: int | None) -> str:
    """A judge that fails what says 7."""
    return reply(*[0 if "7 million" in messages[1].content else 1] * count_of(messages[0].content))


@pytest.fixture
def models(answering: Pipeline, monkeypatch: pytest.MonkeyPatch) -> dict[str, ScriptedModel]:
    """A generator and two judges by script; what they say is kept in the lake, as real ones' words are."""
    found = {
        "writer": ScriptedModel(say, "writer"),
        "good": ScriptedModel(strict, "good"),
        "mute": ScriptedModel(lambda messages, seed: "I would rather not say.", "mute"),
    }

    def load(settings: LanguageModelSettings, lake: object) -> CachedLanguageModel:
        return CachedLanguageModel(found[settings.name], answering.lake)

    monkeypatch.setattr("finrag_pipeline.orchestration.sweeps.load_language_model", load)
    monkeypatch.setattr("finrag_pipeline.evaluation.baseline_judge.load_language_model", load)
    return found


def scripted(pipeline: Pipeline, *judges: str, **more: object) -> Pipeline:
    panel = {name: MODEL.model_copy(update={"name": name}) for name in judges}
    return pipeline.configured(
        language_model=MODEL.model_copy(update={"name": "writer"}),
        answers=AnswerSettings(repeats=4, temperature=0.7, seed=0),
        judge=QUICK.model_copy(update={"models": panel, **more}),
    )


def fill(source: Path, target: Path, label: str = "") -> Path:
    """A sheet as two annotators would fill it, who pass what does not say 7; or ``label`` everywhere."""
    table = list(csv.DictReader(io.StringIO(source.read_text("utf-8-sig"), newline="")))
    for row in table:
        row["label_1"] = row["label_2"] = label or str(
            int("7 million" not in (row["sentence"] or row["answer"]))
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    out = io.StringIO()
    writer = csv.DictWriter(out, table[0].keys())
    writer.writeheader()
    writer.writerows(table)
    target.write_text(out.getvalue(), "utf-8")
    return target


def test_the_whole_protocol_by_script(
    answering: Pipeline, models: dict[str, ScriptedModel], tmp_path: Path
) -> None:
    recorded = tmp_path / "labelled"
    recorded.mkdir()
    lines = [
        {"financebench_id": f"q{n}", "model_answer": text, "label": f"{label} Answer"}
        for n in range(5)
        for text, label in (("It was 5 million.", "Correct"), ("It was 7 million.", "Incorrect"))
    ]
    (recorded / "some_oracle.jsonl").write_text("\n".join(map(json.dumps, lines)))
    pipeline = scripted(answering, "good", "mute", labelled=str(recorded))
    lake = pipeline.lake
    answered(pipeline, "prompt")
    assert pipeline.run("publish_answers").success
    found = judge_answers(pipeline.settings, ["prompt"], lambda name: None)

    # Repeats, at both grains.
    answers = lake.read_all("answers").filter(pc.field("space") == "corpus")
    assert answers.num_rows == 5 * 4 and set(answers["repeat"].to_pylist()) == {0, 1, 2, 3}
    sentences = lake.read_all("answer_sentences").filter(pc.field("space") == "corpus")
    assert sentences.num_rows == 5 * 4 * 2 and set(sentences["repeat"].to_pylist()) == {0, 1, 2, 3}
    assert all(sentences["cited"].to_pylist())
    rates = {
        row["metric"]: row for row in found["rates"] if row["theme"] == "all" and row["space"] == "corpus"
    }
    assert (rates["response"]["rate"], rates["response"]["n"], rates["response"]["questions"]) == (1.0, 20, 5)

    # Judges: one that says nothing of use has no score, and is named.
    verdicts = lake.read_all("verdicts")
    of_mute = verdicts.filter(pc.equal(verdicts["judge"], "mute: mute"))
    assert of_mute.num_rows and of_mute["label"].null_count == of_mute.num_rows
    assert {row["judge"] for row in found["missing"]} >= {"mute: mute"}
    assert set(models["good"].asked[0][1:2]) == {0.0}, "asked at temperature 0"
    calibrated = {
        (row["judge"], row["criterion"], row["labels"], row["group"]): row for row in found["calibration"]
    }
    assert calibrated["good: good", "correctness", "two", "all"]["kappa"] == 1
    assert not any(judge == "mute: mute" for judge, *_ in calibrated)

    # Labels of people: sheets out, one is spoilt, the others count.
    folder = lake.local_path("labels")
    assert {path.name for path in folder.glob("*.xlsx")} == {
        "prompt_on_finrag.relevance.xlsx",
        "prompt_on_finrag.veracity.xlsx",
    }
    filled = fill(folder / "prompt_on_finrag.veracity.csv", tmp_path / "veracity.csv")
    spoilt = fill(folder / "prompt_on_finrag.relevance.csv", tmp_path / "relevance.csv", "2")
    counts, problems = check_sheets(lake, [filled, spoilt])
    assert [row["agreed"] for row in counts] == [9] and set(problems) == {"relevance.csv"}
    with pytest.raises(UsageError, match=r"relevance.csv: the label '2'"):
        import_sheets(pipeline.settings, [filled, spoilt])
    assert lake.read("human_labels").num_rows == 0, "all or nothing"
    done = import_sheets(pipeline.settings, [filled])
    assert (done["labels"], done["bad_sheets"]) == (9, {})
    estimates = {
        row["method"]: row
        for row in done["estimates"]
        if (row["criterion"], row["judge"], row["theme"], row["space"])
        == ("veracity", "good: good", "all", "corpus")
    }
    truth = sum("7 million" not in text for text in sentences["text"].to_pylist()) / sentences.num_rows
    assert set(estimates) == {"human", "human_wald", "judge", "ppi", "ppi_normal"}
    assert estimates["judge"]["questions"] == 5 and estimates["ppi"]["labels"] == 9
    assert estimates["ppi"]["low"] <= truth <= estimates["ppi"]["high"]
    assert {row["criterion"] for row in done["agreement"]} == {"veracity"}

    # A bad sheet that lies in the folder is named, and the run goes on with the others.
    fill(spoilt, folder / "filled" / "relevance.csv", "2")
    result = scripted(answering, "good", "mute").run("publish_judgements")
    assert result.success
    assert lake.info("judge_calibration") is None, "without the labels nobody can tell what it is worth"
    bad = {one.check_name: one for one in result.get_asset_check_evaluations() if not one.passed}
    assert "relevance.csv" in str(bad["sheets_readable"].description) and "Mend" in str(
        bad["sheets_readable"].description
    )
    assert lake.read("human_labels").num_rows == 9


def test_nothing_is_asked_twice_but_what_has_failed(
    answering: Pipeline, models: dict[str, ScriptedModel]
) -> None:
    pipeline, lake = scripted(answering, "good"), answering.lake
    answered(pipeline, "prompt")
    down = [True]
    models["good"]._answer = lambda messages, seed: "error" if down[0] else strict(messages, seed)
    result = pipeline.run("judge", tags=sweep_range("prompt"))
    assert result.success, "a judge that is down stops nobody"
    bad = {
        one.check_name: str(one.description) for one in result.get_asset_check_evaluations() if not one.passed
    }
    assert set(bad) == {"no_verdict_missing"} and "It is down." in bad["no_verdict_missing"]
    failed = lake.read_all("verdicts")
    assert set(failed.filter(failed["failed"])["problem"].to_pylist()) == {"It is down."}
    down[0] = False
    assert pipeline.run("judge", tags=sweep_range("prompt")).success
    whole = lake.read_all("verdicts")
    assert not any(whole["failed"].to_pylist()) and whole["label"].null_count == 0
    asked = len(models["good"].asked)
    # Another judge beside it: the verdicts are made anew, and nobody is asked what was answered before.
    more = scripted(answering, "good", "mute")
    assert made(more.run("judge", tags=sweep_range("prompt")))["verdicts"].metadata["cache"] == "miss"
    assert len(models["good"].asked) == asked


def test_retrieval_is_compared_with_dense_and_the_page_scorer(answering: Pipeline) -> None:
    lake = answering.lake
    values = {"dense": 0.0, "page_scorer": 0.5, "finrag": 1.0}
    for system, value in values.items():
        scored = [
            {"system": system, "space": "corpus", "question_id": f"q{n}", "metric": metric, "k": 5,
             "value": value}
            for n in range(5)
            for metric in ("page_rec", "doc_rec")
        ]  # fmt: skip
        lake.write(
            "retrieval_scores", rows("retrieval_scores", *scored), "s", {"system": system, "fold": "f"}
        )
    assert answering.configured(judge=QUICK).run("publish_judgements").success
    found = {
        (row["baseline"], row["system"], row["metric"]): row
        for row in lake.read("system_comparisons").to_pylist()
    }
    assert set(found) == {
        (baseline, system, metric)
        for baseline in ("dense", "page_scorer")
        for system in values
        for metric in ("page_rec", "doc_rec")
        if system != baseline
    }
    one = found["dense", "finrag", "page_rec"]
    assert (one["difference"], one["better"], one["n"]) == (1.0, 5, 5)
    assert all(row["p_holm"] >= row["p_value"] for row in found.values())
