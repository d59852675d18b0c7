"""What people wait for, beside a bare encode of the same text: a new filing, or a benchmark from nothing.

    python -m benchmarks.fresh filing some_10k.pdf          # a new filing, from file to searchable
    python -m benchmarks.fresh benchmark FINANCEBENCH    # from nothing to the report, with its peak memory

Every run has a lake of its own, in which nothing is known beforehand; the encoder is converted already, as on
any machine that has been used once. The peer is `SentenceTransformer.encode` on the windows of the chunks, on
all of a filing's and a sample of a benchmark's.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.command import measure
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import model_folder
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake

FINRAG = [sys.executable, "-m", "finrag_pipeline.cli"]
SYSTEMS = ("finrag", "bm25", "dense")
MOST_WINDOWS = 1024
"""Windows that the peer encodes; its time is scaled to all of them."""


def run(folder: str, *arguments: str) -> tuple[float, float]:
    """Seconds and peak memory in GiB of a finrag command on a lake in ``folder``."""
    os.environ |= {"FINRAG_LAKE": folder, "DAGSTER_HOME": str(Path(folder) / "dagster_home")}
    code, seconds, peak = measure([*FINRAG, *arguments])
    if code not in (0, 3):
        sys.exit(f"finrag {' '.join(arguments)} ended with {code}")
    return seconds, peak


def bare_encode(lake: Lake, seed: int) -> tuple[float, int]:
    """Seconds that a bare encode of all windows of the lake's chunks takes, and how many there are."""
    from sentence_transformers import SentenceTransformer

    encoder = Encoder(get_settings().encoder, lake)
    texts = lake.read_all("filing_chunks", ["text"])["text"].to_pylist()
    windows = [window for text in texts for window in encoder.windows(text)]
    drawn = np.random.default_rng(seed).permutation(len(windows))[:MOST_WINDOWS]
    model = SentenceTransformer(str(model_folder(encoder.settings.name)), device="cpu")
    model.encode(windows[:8])
    start = time.perf_counter()
    model.encode([windows[place] for place in drawn.tolist()], normalize_embeddings=True)
    return (time.perf_counter() - start) * len(windows) / len(drawn), len(windows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("filing", "benchmark"))
    parser.add_argument("path", type=Path, help="a PDF of about 160 pages, or the folder of a benchmark")
    options = parser.parse_args()
    chosen = [part for system in SYSTEMS for part in ("--systems", system)]
    arguments = (
        ["ingest", str(options.path)]
        if options.what == "filing"
        else ["run", "--source", str(options.path), *chosen]
    )
    with tempfile.TemporaryDirectory() as folder:
        seconds, peak = run(folder, *arguments)
        bare, windows = bare_encode(Lake(folder), get_settings().seed)
    print(
        f"finrag {arguments[0]}: {seconds:.1f} s, peak memory {peak:.2f} GiB; bare encode of {windows} "
        f"windows {bare:.1f} s; ratio {seconds / bare:.2f}"
    )


if __name__ == "__main__":
    main()
