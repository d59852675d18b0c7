from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from finrag_pipeline.errors import BenchmarkError, FilingError, FinragError, LakeError, ModelError, UsageError
from finrag_pipeline.settings import REPOSITORY, Settings, get_settings


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No FINRAG_ variables, and none of the settings that other tests have read."""
    for name in list(os.environ):
        if name.startswith("FINRAG_"):
            monkeypatch.delenv(name)
    get_settings.cache_clear()
    yield monkeypatch
    get_settings.cache_clear()


def test_the_defaults_need_no_variable(environment: pytest.MonkeyPatch) -> None:
    settings = get_settings()
    assert settings.profile == "sample"
    assert settings.lake.endswith("data_lake")
    assert (settings.chunks.tokens, settings.chunks.overlap) == (1024, 128)
    assert settings.retrieval.rrf_k == 60
    assert settings.workers == os.cpu_count()


def test_variables_override_single_values(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FINRAG_LAKE", "/somewhere/lake")
    environment.setenv("FINRAG_ENCODER__PRECISION", "int8")
    environment.setenv("FINRAG_CHUNKS__TOKENS", "256")
    settings = get_settings()
    assert settings.lake == "/somewhere/lake"
    assert settings.encoder.precision == "int8"
    assert settings.encoder.name == Settings().encoder.name
    assert settings.chunks.tokens == 256
    assert settings.chunks.overlap == 128


def test_an_empty_variable_counts_as_unset(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FINRAG_LAKE", "")
    assert get_settings().lake.endswith("data_lake")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FINRAG_WORKERS", "0"),
        ("FINRAG_PROFILE", "huge"),
        ("FINRAG_PAGE_TIMEOUT", "-1"),
        ("FINRAG_ENCODER__PRECISION", "fp8"),
        ("FINRAG_ENCODER__NAEM", "BAAI/bge-m3"),
        ("FINRAG_CHUNKS__TOKENS", "many"),
        ("FINRAG_RERANKER_TRAINING__DERIVED", "20"),
        ("FINRAG_EVALUATION__CONFIDENCE", "95"),
    ],
)
def test_a_wrong_variable_is_named(environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    environment.setenv(name, value)
    with pytest.raises(UsageError) as caught:
        get_settings()
    assert name in caught.value.reason
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "meant"), [("FINRAG_LAEK", "FINRAG_LAKE"), ("FINRAG_CHUNKS_TOKENS", "FINRAG_CHUNKS__TOKENS")]
)
def test_a_mistyped_variable_names_the_nearest(
    environment: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    environment.setenv(name, "1")
    with pytest.raises(UsageError, match=f"no setting {name}") as caught:
        get_settings()
    assert caught.value.remedy.startswith(f"Did you mean {meant}")


def test_repeats_need_a_temperature(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FINRAG_ANSWERS__REPEATS", "20")
    with pytest.raises(UsageError, match="temperature"):
        get_settings()
    environment.setenv("FINRAG_ANSWERS__TEMPERATURE", "0.7")
    get_settings.cache_clear()
    assert get_settings().answers.repeats == 20


def test_a_group_given_as_one_value_is_refused(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FINRAG_ENCODER", "BAAI/bge-m3")
    with pytest.raises(UsageError, match="encoder"):
        get_settings()


def test_settings_survive_their_json(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("FINRAG_RETRIEVAL__DEPTH", "50")
    settings = get_settings()
    assert Settings.model_validate(settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize(
    "kind", [FinragError, FilingError, BenchmarkError, ModelError, LakeError, UsageError]
)
def test_errors_keep_reason_and_remedy(kind: type[FinragError]) -> None:
    error = pickle.loads(pickle.dumps(kind("It is odd.", "Mend it.")))  # noqa: S301
    assert type(error) is kind
    assert (error.reason, error.remedy, str(error)) == ("It is odd.", "Mend it.", "It is odd. Mend it.")


def test_judges_are_named_one_by_one_and_an_address_means_an_endpoint(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("FINRAG_JUDGE__MODELS__QWEN__BASE_URL", "http://localhost:8000/v1")
    environment.setenv("FINRAG_JUDGE__MODELS__QWEN__NAME", "Qwen2.5")
    environment.setenv("FINRAG_JUDGE__MODELS__QWEN__KEY", "sk-secret")
    environment.setenv("FINRAG_JUDGE__MODELS__HERE__KIND", "local")
    environment.setenv("FINRAG_LANGUAGE_MODEL__BASE_URL", "http://localhost:8001/v1")
    settings = get_settings()
    assert settings.language_model.kind == "endpoint"
    first, second = settings.judge.models["qwen"], settings.judge.models["here"]
    assert (first.kind, first.name, second.kind) == ("endpoint", "Qwen2.5", "local")
    assert first.key is not None and first.key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in f"{settings} {settings.model_dump(mode='json')}"


def _groups() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every group of settings by its name, and the settings without one."""
    yield "", Settings
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield name, field.annotation


def test_every_setting_is_read_where_its_group_is_known() -> None:
    package = REPOSITORY / "finrag_pipeline"
    left_out = {package / "settings.py", *(package / "reporting").rglob("*.py")}
    texts = [path.read_text() for path in package.rglob("*.py") if path not in left_out]
    names = {text: set(re.findall(r"\.(\w+)", text)) for text in texts}
    unread = []
    for group, kind in _groups():
        classes = {parent.__name__ for parent in kind.__mro__ if parent.__module__ == Settings.__module__}
        knowing = [
            found
            for text, found in names.items()
            if not group or f".{group}" in text or any(one in text for one in classes)
        ]
        unread += [f"{group}.{name}" for name in kind.model_fields if not any(name in one for one in knowing)]
    assert unread == []


@pytest.mark.parametrize("folds", [None, 3])
def test_as_many_folds_are_made_as_were_asked_for(folds: int | None) -> None:
    code = (
        "from finrag_pipeline.orchestration.partitions import fold_partitions, trained_partitions\n"
        "print(*fold_partitions.get_partition_keys(), len(trained_partitions.get_partition_keys()))"
    )
    asked = {"FINRAG_EVALUATION__FOLDS": str(folds)} if folds else {}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    count = folds or 5
    assert done.stdout.split() == [*(f"fold_{n}" for n in range(count)), str(count + 1)]
