"""Every row of the papers, end to end, on a machine with a GPU and a model hub; and the rehearsal of it.

    python -m benchmarks.papers                        # with the models that FINRAG_… names, else the hub's
    python -m benchmarks.papers --rehearse FOLDER      # random weights, a local stand-in for the endpoint

Runs ``finrag`` as anybody would: filings and questions, training of every fold, all systems and variants,
answers on every retrieval, judging; then asks ``finrag systems`` whether each row was measured. A language
model is needed: FINRAG_LANGUAGE_MODEL__BASE_URL. ``--source`` takes FinanceBench, else the sample is used.
The papers' encoder: FINRAG_ENCODER__NAME=BAAI/bge-m3. What is done is not done again by a second call.

The rehearsal writes models with the files, configuration and names of tensors of the published ones (Table
Transformer in its size, the others in fewer and narrower layers) and trains for one epoch; its figures mean
nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks import FINRAG, arguments
from benchmarks.published_models import (
    DETECTED,
    TABLE_CLASSES,
    write_bge_m3,
    write_reranker,
    write_splade,
    write_table_transformer,
)
from finrag_pipeline.answering.systems import ANSWER_SYSTEMS
from finrag_pipeline.settings import get_settings

PORT = 8017
"""Of the stand-in: the same at every call, so that its answers are found again."""


def steps(source: Path | None, lake: str) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Commands of ``finrag`` in their order: what it is, arguments, settings of its own.

    The benchmark must be there before anything is trained on it. Table Transformer reads one filing, in a
    lake of its own.
    """
    of = ["--source", str(source)] if source else []
    yield "models", ["doctor"], {}
    yield "filings and questions", ["run", "--systems", "bm25", *of], {}
    yield "page scorer, all folds", ["train", "page_scorer"], {}
    yield "reranker, all folds", ["train", "reranker"], {}
    yield "systems and variants", ["run", "--ablations", *of], {}
    answers = [part for name in ANSWER_SYSTEMS for part in ("--systems", name)]
    yield "answers", ["answers", *answers], {}
    yield "judging", ["judge"], {}
    yield "metrics", ["metrics"], {}
    by_sight = {"FINRAG_TABLES__DETECTOR": "tatr", "FINRAG_LAKE": f"{lake}-tatr"}
    yield "Table Transformer", ["run", "--systems", "bm25", "--limit", "1", *of], by_sight


def rehearsed(folder: Path) -> dict[str, str]:
    """Write the models, start the endpoint, and say where they are as settings."""
    texts = [f"net revenue was ${n} million in fiscal {1990 + n % 40}, {n % 97} %" for n in range(3000)]
    of_tables = folder / "table-transformer-detection"
    of_structure = folder / "table-transformer-structure-recognition-v1.1-all"
    writers: dict[str, tuple[Path, Callable[..., object], tuple[Any, ...]]] = {
        "ENCODER__NAME": (folder / "bge-m3", write_bge_m3, (texts,)),
        "RERANKER__NAME": (folder / "bge-reranker-v2-m3", write_reranker, (texts,)),
        "SPLADE__NAME": (folder / "splade-cocondenser-ensembledistil", write_splade, (texts,)),
        "TABLES__DETECTION_MODEL": (of_tables, write_table_transformer, (DETECTED, 15, True)),
        "TABLES__STRUCTURE_MODEL": (of_structure, write_table_transformer, (TABLE_CLASSES, 125, False)),
    }
    for place, write, given in writers.values():
        if not place.is_dir():
            write(place, *given)
    server = ThreadingHTTPServer(("127.0.0.1", PORT), _Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{PORT}/v1"
    others = {
        **{"LANGUAGE_MODEL__BASE_URL": url, "JUDGE__MODELS__STAND_IN__BASE_URL": url},
        **{f"{kind}__EPOCHS": "1" for kind in ("PAGE_SCORER", "RERANKER_TRAINING")},
        **{"PAGE_SCORER__MAX_TOKENS": "128", "RERANKER_TRAINING__VALIDATION_PAGES": "5"},
    }
    models = {name: str(place) for name, (place, *_) in writers.items()}
    return {f"FINRAG_{name}": value for name, value in (models | others).items()}


class _Endpoint(BaseHTTPRequestHandler):
    """Answers chat completions with what each prompt asks for: verdicts, letters, or a sentence."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(message["content"] for message in asked["messages"])
        letters = re.search(r"Reply with exactly (\d+) letters", prompt)
        if letters:
            said = " ".join("TF"[n % 2] for n in range(int(letters[1])))
        elif '"verdicts"' in prompt:
            sentences = re.findall(r"^(\d+)\. ", prompt.rsplit("<document", 1)[1], re.MULTILINE)
            count = max(map(int, sentences), default=1)
            verdicts = [{"number": n, "reasoning": "As it says.", "label": 1} for n in range(1, count + 1)]
            said = json.dumps({"verdicts": verdicts})
        else:
            said = "The net revenue of the company was $120 million in fiscal 2022 [1]."
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        body = json.dumps({"model": "stand-in", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def finrag(
    arguments: list[str], environment: dict[str, str], **options: object
) -> subprocess.CompletedProcess:
    """Run a command of ``finrag``."""
    return subprocess.run([*FINRAG, *arguments], env=environment, check=False, **options)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--source", type=Path, help="folder of a benchmark; the sample by default")
    parser.add_argument("--rehearse", type=Path, metavar="FOLDER", help="write models of random weights here")
    options = parser.parse_args()
    environment = dict(os.environ)
    if options.rehearse:
        environment |= rehearsed(options.rehearse.absolute())
    failed = []
    for name, given, own in steps(options.source, get_settings().lake):
        start = time.monotonic()
        code = finrag(given, environment | own).returncode
        print(f"{name}: exit {code}, {time.monotonic() - start:.0f} s", flush=True)
        if code:
            failed.append(name)
    listed = finrag(["systems", "--json"], environment, capture_output=True, text=True)
    rows = json.loads(listed.stdout)
    # Detectors are scored on labelled pages: finrag tables.
    wanted = {"tables": ("runs here",)}
    lacking = [row for row in rows if row["status"] not in wanted.get(row["kind"], ("measured",))]
    for row in lacking:
        print(f"not measured: {row['name']}: {row['why']} -> {row['command']}")
    print(f"{len(rows) - len(lacking)} of {len(rows)} rows ran; failed: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed or lacking else 0)


if __name__ == "__main__":
    main()
