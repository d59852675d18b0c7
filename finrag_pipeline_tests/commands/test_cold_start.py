"""What a command loads at a cold start: modules are counted, not seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from finrag_pipeline_tests.console import REPOSITORY, environment
from finrag_pipeline_tests.shared_run import sample_lake

UNWANTED = frozenset(
    {
        "dagster", "dask", "fastapi", "huggingface_hub", "lancedb", "lightgbm", "matplotlib", "nltk", "openvino",
        "pandas", "pymupdf", "scipy", "sentence_transformers", "sklearn", "tokenizers", "torch", "transformers",
    }
)  # fmt: skip
"""Libraries that take a tenth of a second or more to load."""

FILING = "PELLAMOOR_2022_10K"
NEEDED = {
    ("--help",): set(),
    ("filings",): set(),
    ("facts", FILING): set(),
    ("metrics",): set(),
    ("show", FILING, "3"): {"pymupdf"},  # draws the page
    ("systems",): {"huggingface_hub"},  # looks for weights in its cache
    ("ask", "What was the revenue of Pellamoor in FY2022?"): set(),
    # Vectors are in LanceDB, the ranker is LightGBM's, which needs SciPy; the encoder runs on OpenVINO.
    ("search", "capital expenditure in 2022"): {
        "huggingface_hub", "lancedb", "lightgbm", "nltk", "openvino", "scipy", "tokenizers",
    },
}  # fmt: skip

CODE = """
import json, sys
from finrag_pipeline import cli
try:
    cli.main()
except SystemExit as ended:
    print()
    print(json.dumps([ended.code or 0, sorted({name.partition('.')[0] for name in sys.modules})]))
"""


@pytest.fixture(scope="module")
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_lake(tmp_path_factory)[0]


@pytest.mark.parametrize("arguments", NEEDED, ids=lambda arguments: arguments[0])
def test_a_command_loads_only_what_it_uses(lake: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            CODE,
            *arguments,
            *(["--to", str(tmp_path)] if arguments[0] == "show" else []),
        ],
        env=environment(lake),
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )
    assert done.returncode == 0, done.stderr
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stdout
    assert UNWANTED & set(loaded) <= NEEDED[arguments]
