"""Faults, tried again and again: what is done to a lake, what happens, whether it is what it was afterwards.

    python -m benchmarks.faults [--times 20] [--only PART-OF-A-NAME] [--to TABLE.md]

Each trial begins with a copy of one sound lake (or with none), does the damage, then lets `finrag ingest` and
`finrag index` run as they would anyway, and the doctor heal what these have not met. It counts as survived
when every part of the lake has the bytes that it has without the fault, every checksum holds, and a search
finds the same. Printed as a Markdown table, which docs/faults.md holds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks import FINRAG
from finrag_pipeline.errors import FinragError
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.orchestration.healing import set_aside_damage
from finrag_pipeline.orchestration.instance import open_materialiser, set_aside_history
from finrag_pipeline.orchestration.runs import index, ingest
from finrag_pipeline.sample.generate import write_sample
from finrag_pipeline.services.damage import find_damage
from finrag_pipeline.services.search import Searcher
from finrag_pipeline.settings import Settings, get_settings
from finrag_pipeline.storage.lake import Lake

QUESTION = "What was the capital expenditure in 2023?"
FILINGS = 2
"""Filings of the sample in the lake that is damaged."""
_OF_BAD_FILES = re.compile(r"filings/filing=(EMPTY|NOISE)_2020_10K/|\w+/filing=HALF_2020_10K/")
"""Parts that bad files may leave: that they failed. What is left of half a PDF may be read."""
_RUNS_MAY_KEEP = ("embeddings",)
"""Folders of parts whose names are drawn at random."""


@dataclass
class Trial:
    """A lake to damage, the files that it was made of, and chance."""

    root: Path
    files: list[Path]
    chance: random.Random

    @property
    def lake(self) -> Lake:
        """The lake."""
        return Lake(self.root)

    def some(self, pattern: str) -> Path:
        """One of the files that match."""
        return self.chance.choice(sorted(self.root.glob(pattern)))

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        """The command line as a process of its own."""
        command = [*FINRAG, "--lake", str(self.root), *map(str, arguments)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        variables = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
        return subprocess.Popen(command, env=variables, **quiet, **options)

    def killed(self, seconds: float, *arguments: object) -> None:
        """SIGKILL to a command at any moment of its first seconds of processor time."""
        moment, process = self.chance.uniform(0.5, seconds), self.start(*arguments)
        seen = psutil.Process(process.pid)
        while process.poll() is None and sum(seen.cpu_times()[:4]) < moment:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it had ended"


def flip(trial: Trial, pattern: str) -> None:
    """Change bytes of a file, its last ones excepted."""
    path = trial.some(pattern)
    data = bytearray(path.read_bytes())
    first = trial.chance.randrange(4, max(5, len(data) * 2 // 3))
    for place in range(first, min(first + 16, len(data))):
        data[place] ^= 1 + trial.chance.randrange(255)
    path.write_bytes(data)


def cut(trial: Trial, pattern: str) -> None:
    """Leave only the beginning of a file, or nothing of it."""
    path = trial.some(pattern)
    path.write_bytes(path.read_bytes()[: trial.chance.randrange(path.stat().st_size)])


def lose(trial: Trial, pattern: str) -> None:
    """Remove a file or folder."""
    path = trial.some(pattern)
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def litter(trial: Trial) -> None:
    """Leave what killed writers leave."""
    for _ in range(5):
        path = trial.some("parquet/*/filing=*/data.parquet")
        path.with_name(f"data.parquet.{trial.chance.randbytes(16).hex()}.tmp").write_bytes(b"PAR1 half")


def no_space(trial: Trial) -> None:
    """No file may become longer than some kilobytes, as on a full disk."""
    from resource import RLIMIT_FSIZE, setrlimit

    limit = trial.chance.randrange(2_000, 60_000)
    trial.start("ingest", *trial.files, preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (limit, limit))).wait()


def poison(trial: Trial) -> None:
    """Bad files come with the good ones."""
    bad = trial.root.parent / "bad"
    bad.mkdir(parents=True, exist_ok=True)
    (bad / "EMPTY_2020_10K.pdf").write_bytes(b"")
    (bad / "NOISE_2020_10K.pdf").write_bytes(b"%PDF-1.7\n" + trial.chance.randbytes(5_000))
    # Of another company: a text that both had would have the vector of whichever batch it was in first.
    half = max(trial.files[0].parent.glob("*.pdf")).read_bytes()
    (bad / "HALF_2020_10K.pdf").write_bytes(half[: trial.chance.randrange(len(half))])
    names = sorted(bad.iterdir())
    trial.start("ingest", *trial.chance.sample([*names, *trial.files], len(names) + len(trial.files))).wait()


def twice(trial: Trial) -> None:
    """Two processes bring the same files at the same time."""
    for process in [trial.start("ingest", *trial.files) for _ in range(2)]:
        process.wait()


PARTS = ("filings", "filing_pages", "page_tables", "statement_facts", "page_profiles", "page_sentences")
FAULTS: dict[str, tuple[bool, Callable[[Trial], object]]] = {
    **{
        f"flipped bytes in a part of `{one}`": (True, lambda t, p=one: flip(t, f"parquet/{p}/*/data.parquet"))
        for one in (*PARTS, "filing_chunks")
    },
    "a part cut short": (True, lambda t: cut(t, "parquet/*/filing=*/data.parquet")),
    "a part lost": (True, lambda t: lose(t, "parquet/*/filing=*/data.parquet")),
    "a folder of a table lost": (True, lambda t: lose(t, f"parquet/{t.chance.choice(PARTS)}")),
    "flipped bytes in a vector index": (True, lambda t: flip(t, "lance/*.lance/data/*.lance")),
    "a file of a vector index lost": (True, lambda t: lose(t, "lance/*.lance/data/*.lance")),
    "a vector index lost": (True, lambda t: lose(t, "lance/*.lance")),
    "flipped bytes in kept vectors": (True, lambda t: flip(t, "parquet/embeddings/*/*/data.parquet")),
    "an original damaged": (True, lambda t: flip(t, "filings/*/*.pdf")),
    "an original lost": (True, lambda t: lose(t, "filings/*/*.pdf")),
    "notes on an original lost": (True, lambda t: lose(t, "filings/*/source.json")),
    "the ledger lost": (True, lambda t: lose(t, "ledger")),
    "an entry of the ledger cut short": (True, lambda t: cut(t, "ledger/*/*.json")),
    "the warehouse damaged": (True, lambda t: flip(t, "warehouse.duckdb")),
    "the history of Dagster damaged": (True, lambda t: cut(t, "dagster_home/**/*.db")),
    "leftovers of killed writers": (True, litter),
    "`ingest` killed at any moment": (False, lambda t: t.killed(7.0, "ingest", *t.files)),
    "`index` killed at any moment": (
        True,
        lambda t: (lose(t, "lance/*.lance"), t.killed(4.0, "index", "dense")),
    ),
    "no space on the disk": (False, no_space),
    "bad files among good ones": (False, poison),
    "two writers at once": (False, twice),
}
"""What is done, and whether it is done to a lake that was finished before."""


def bring(settings: Settings, files: list[Path]) -> None:
    """`finrag ingest` and `finrag index dense`."""
    os.environ.pop("DAGSTER_HOME", None)  # of the lake before
    done = ingest(settings, files, lambda *_: None)
    if done.failures:
        raise FinragError(f"failed: {done.failures}", "")
    index(settings, ["dense"], lambda *_: None)


def contents(root: Path, files: list[Path]) -> dict[str, str]:
    """Hash of every part, and what a search of the filings of ``files`` finds."""
    base, filings = root / "parquet", [filing_id(path.name) for path in files]
    found = {
        str(path.relative_to(base)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in base.rglob("data.parquet")
        if path.relative_to(base).parts[0] not in _RUNS_MAY_KEEP
    }
    searcher = Searcher(settings_of(root))
    for system in ("finrag", "dense"):
        answer = searcher.search(QUESTION, system, 10, filings)
        found[f"search {system}"] = repr(
            [(one["chunk_id"], one["score"]) for one in answer.results] + answer.warnings
        )
    return found


def settings_of(root: Path) -> Settings:
    """Settings of a lake."""
    return get_settings().model_copy(update={"lake": str(root)})


def survive(trial: Trial) -> str:
    """Let the commands run over what a fault has left; who mended it. FinragError where nothing did."""
    settings, by = settings_of(trial.root), "run"
    os.environ.pop("DAGSTER_HOME", None)
    try:
        bring(settings, trial.files)
    except FinragError as error:
        if "finrag doctor --heal" not in error.remedy:
            raise
        by = "doctor"
        os.environ.pop("DAGSTER_HOME", None)
        set_aside_history(settings)
        bring(settings, trial.files)
    if any(find_damage(trial.lake)):
        by = "doctor"
        os.environ.pop("DAGSTER_HOME", None)
        with open_materialiser(settings) as materialiser:
            set_aside_damage(trial.lake)
            materialiser.heal()
        bring(settings, trial.files)
    if damage := [one.why for one in find_damage(trial.lake) if one]:
        raise FinragError(f"still damaged: {damage}", "")
    return by


def attempt(name: str, number: int, sound: Path, files: list[Path], expected: dict[str, str]) -> str:
    """One trial of a fault; who mended it. Raises what nobody mended."""
    root = sound.with_name("trial") / "lake"
    finished, fault = FAULTS[name]
    try:
        if finished:
            shutil.copytree(sound, root)
        trial = Trial(root, files, random.Random(f"{name} {number}"))
        fault(trial)
        by = survive(trial)
        found = contents(root, files)
        if fault is poison:
            found = {key: value for key, value in found.items() if not _OF_BAD_FILES.match(key)}
        if wrong := [key for key in expected | found if found.get(key) != expected.get(key)]:
            raise FinragError(f"differs: {wrong}", "")
        return by
    finally:
        shutil.rmtree(root.parent, ignore_errors=True)


def main() -> None:
    """Try every fault, one after the other and then again; after each round the table so far is written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="trials of each fault")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial, to go on with")
    parser.add_argument("--only", default="", help="faults with this in their names")
    parser.add_argument("--to", type=Path, help="file for the table; printed where absent")
    asked = parser.parse_args()
    ended = {name: Counter[str]() for name in FAULTS if asked.only in name}
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        files = sorted((write_sample(Path(folder, "sample")) / "pdfs").glob("*.pdf"))[:FILINGS]
        sound = Path(folder, "sound")
        bring(settings_of(sound), files)
        expected = contents(sound, files)
        for number in range(asked.first, asked.first + asked.times):
            for name, ends in ended.items():
                try:
                    ends[attempt(name, number, sound, files, expected)] += 1
                except Exception as error:
                    ends["nobody"] += 1
                    why = " ".join(str(error).split())[:300]
                    print(f"{name}, {number}: {type(error).__name__}: {why}", file=sys.stderr, flush=True)
            if asked.to:
                asked.to.write_text(table(ended), encoding="utf-8")
    if not asked.to:
        print(table(ended))


def table(ended: dict[str, Counter[str]]) -> str:
    """The trials as Markdown, by who mended what they damaged."""
    rows = [["fault", "tried", "survived", "by the next run", "by the doctor"], ["---"] * 5]
    for name, ends in ended.items():
        tried = ends.total()
        rows.append([name, *(str(n) for n in (tried, tried - ends["nobody"], ends["run"], ends["doctor"]))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    main()
