"""What people wait for: a run with nothing to do, and one new filing from file to searchable."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FINRAG = [sys.executable, "-m", "finrag_pipeline.cli"]


def timed(*arguments: str, environment: dict[str, str] | None = None) -> float:
    """Seconds of a finrag command that must succeed."""
    start = time.perf_counter()
    subprocess.run(
        [*FINRAG, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="benchmark already run in the lake")
    parser.add_argument("filing", type=Path, help="a PDF of about 150 pages")
    options = parser.parse_args()
    for _ in range(3):
        print(f"run with nothing changed: {timed('run', '--source', str(options.source)):.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        # A lake of its own with an empty vector cache: nothing of the filing is known beforehand. The
        # encoder is already converted, as on any lake that has been used once.
        environment = {"FINRAG_LAKE": folder, "DAGSTER_HOME": str(Path(folder) / "dagster_home")}
        encoders = Path(os.environ.get("FINRAG_LAKE", "data_lake")) / "models" / "encoders"
        if encoders.is_dir():
            shutil.copytree(encoders, Path(folder) / "models" / "encoders")
        ingest = timed("ingest", str(options.filing), environment=environment)
        search = timed("search", "total revenue", "--json", environment=environment)
        both = ingest + search
        print(f"new filing to first answer: {both:.1f} s (ingest {ingest:.1f}, search {search:.1f})")


if __name__ == "__main__":
    main()
