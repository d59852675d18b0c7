"""The whole protocol against an endpoint, with nothing but its address, model and key in the environment."""

from __future__ import annotations

import re
from typing import Any

import pytest

from finrag_pipeline.schemas import TABLES
from finrag_pipeline.schemas.catalogue import made_by
from finrag_pipeline_tests.console import called
from finrag_pipeline_tests.evaluation.judged_builders import reply
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.language_models.server import Reply, endpoint, said
from finrag_pipeline_tests.orchestration.conftest import Pipeline

pytestmark = pytest.mark.slow

KEY = "sk-7f3e-never-to-be-seen"


def speak(request: dict[str, Any]) -> Reply:
    """Writes an answer, or judges one where it is asked for a list of verdicts."""
    wanted = re.search(r"list of (\d+) obj", request["messages"][0]["content"])
    if wanted:
        return said(reply(*[1] * int(wanted[1])))
    return said(f"It was {request['seed']} million [1]. That is what the text says [2].")


def test_from_questions_to_estimates_by_address_model_and_key_alone(
    answering: Pipeline, indexed: IndexedLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    lake = answering.lake
    with endpoint(speak) as served:
        model = {"BASE_URL": served.base_url, "NAME": "some-model", "KEY": KEY}
        extra = {
            **indexed.variables(),
            "FINRAG_ANSWERS__REPEATS": "3",
            "FINRAG_ANSWERS__TEMPERATURE": "0.7",
            "FINRAG_JUDGE__SIMULATION_DRAWS": "20",
            **{f"FINRAG_LANGUAGE_MODEL__{name}": value for name, value in model.items()},
            **{f"FINRAG_JUDGE__MODELS__LOCAL__{name}": value for name, value in model.items()},
        }
        root = lake.local_path()
        runs = [
            called(root, "answers", "--systems", "prompt", "--json", **extra),
            called(root, "judge", "--json", **extra),
            called(root, "labels", "write", **extra),
        ]
    assert [run.code for run in runs] == [0, 0, 0], [run.err for run in runs]
    found = runs[1].json()
    judged = {
        row["criterion"]: row
        for row in found["estimates"]
        if (row["judge"], row["space"], row["theme"]) == ("local: some-model", "corpus", "all")
    }
    # Five questions, three answers each, two sentences in each answer.
    assert {name: row["verdicts"] for name, row in judged.items()} == {
        "relevance": 15,
        "veracity": 30,
        "correctness": 15,
    }
    assert all(row["estimate"] == 1 and row["missing"] == 0 for row in judged.values())
    assert found["missing"] == [] and found["judges_not_asked"] == {}
    assert {headers["authorization"] for headers in served.headers} == {f"Bearer {KEY}"}
    assert {request["model"] for request in served.requests} == {"some-model"}
    temperatures = {
        "list of" in request["messages"][0]["content"]: request["temperature"] for request in served.requests
    }
    assert temperatures == {True: 0.0, False: 0.7}

    assert not any(KEY in run.out + run.err for run in runs)
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert not [path.name for path in files if KEY.encode() in path.read_bytes()]
    for table in (
        "answers",
        *made_by("judge"),
        *(name for name in made_by("publish_judgements") if name in TABLES),
    ):
        assert KEY not in str(lake.read_all(table).to_pylist()), table  # whose files are compressed
