"""A filing a minute through inbox, automation and search, under query load; by hand.

    python -m benchmarks.soak [--minutes 30] [--from FOLDER-OF-PDFS] [--work FOLDER]

Starts Dagster's daemon and `finrag serve` on a new lake, drops a filing into the inbox every minute, asks
once a second, and looks at the memory of both. Filings are the sample's, or those of a folder, in turn; each
is made another file, so that none is taken for one that is there already. With every tenth comes a PDF that
unfolds beyond all memory, which must delay no other. Printed as a Markdown table; the lake and the output of
both programs stay in the folder of `--work`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from benchmarks import FINRAG
from finrag_pipeline.sample.generate import write_sample
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.settings import REPOSITORY
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.filings.raw_pdf import nested_forms

PORT = 8668
QUESTIONS = (
    "/search?question=capital+expenditure",
    "/ask?question=What+was+the+revenue+in+2023%3F",
    "/ask?question=Why+did+operating+expenses+change%3F",
    "/search?question=" + quote("total assets at the end of fiscal 2022"),
    "/filings",
    "/metrics",
)


class Asking(threading.Thread):
    """Asks once a second: seconds and statuses of all answers, memory of some processes meanwhile."""

    def __init__(self, programs: dict[str, int]) -> None:
        super().__init__(daemon=True)
        self.programs = programs
        self.seconds: list[float] = []
        self.statuses: Counter[str] = Counter()
        self.memory: dict[str, list[float]] = {name: [] for name in programs}
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(1.0):
            path, start = random.choice(QUESTIONS), time.monotonic()
            try:
                with urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=60) as answer:
                    answer.read()
                    self.statuses[str(answer.status)] += 1
            except HTTPError as error:
                self.statuses[f"{error.code} {json.load(error).get('error')}"] += 1
            except OSError as error:
                self.statuses[f"no answer: {error}"] += 1
            self.seconds.append(time.monotonic() - start)
            for name, process in self.programs.items():
                self.memory[name].append(resident(process))


def resident(process: int) -> float:
    """Private memory of a process and those below it that are no runs, in MB; 0.0 where it is gone."""
    total = 0.0
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        if b"spawn_main" in command:  # a run, as the code server starts them
            return 0.0
        kept = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) / 1024 for line in kept if line.startswith("Private_"))
        for thread in Path(f"/proc/{process}/task").iterdir():
            total += sum(resident(int(child)) for child in (thread / "children").read_text().split())
    return total


def start(lake: Path, *command: str) -> subprocess.Popen[bytes]:
    """A program on the lake, its output in a file beside it."""
    variables = os.environ | {"FINRAG_LAKE": str(lake), "DAGSTER_HOME": str(lake / "dagster_home")}
    output = lake.with_name(f"{Path(command[0]).name}.log").open("wb")
    return subprocess.Popen(command, env=variables, cwd=REPOSITORY, stdout=output, stderr=output)


def wait_until_ready() -> None:
    """Wait for the service."""
    while True:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{PORT}/ready", timeout=5):
            return
        time.sleep(1)


def drop(inbox: Path, original: Path, number: int) -> str:
    """Put another file with the pages of ``original`` into the inbox; its filing."""
    name = f"{original.stem}_{number}"
    aside = inbox.with_name("aside.pdf")
    aside.write_bytes(original.read_bytes() + f"\n% {number}\n".encode())
    aside.rename(inbox / f"{name}.pdf")
    return name


def done(lake: Lake, filing: str) -> bool:
    """Whether all that search reads of a filing is made."""
    return all(lake.info(table, {"filing": filing}) for table in PER_FILING)


def soak(minutes: int, originals: list[Path], folder: Path) -> list[tuple[str, Any]]:
    """Run it; the figures."""
    lake = folder / "lake"
    finrag = (*FINRAG, "--lake", str(lake))
    subprocess.run([*finrag, "ingest", str(originals[0])], check=True, stdout=subprocess.DEVNULL)
    dagster = str(Path(sys.executable).with_name("dagster-daemon"))
    daemon = start(lake, dagster, "run", "-w", str(REPOSITORY / "workspace.yaml"))
    service = start(lake, *finrag, "serve", "--port", str(PORT))
    try:
        wait_until_ready()
        asking = Asking({"service": service.pid, "daemon": daemon.pid})
        asking.start()
        dropped: dict[str, float] = {}
        took: dict[str, float] = {}
        beside_poison = []
        begun = time.monotonic()
        while time.monotonic() < begun + 60 * (minutes + 10) and len(took) < minutes:
            now = time.monotonic()
            if len(dropped) < minutes and now >= begun + 60 * len(dropped):
                number = len(dropped)
                filing = drop(lake / "inbox", originals[number % len(originals)], number)
                dropped[filing] = now
                if number % 10 == 5:
                    beside_poison.append(filing)
                    drop(lake / "inbox", nested_forms(folder / "POISON.pdf", 6), number)
            for filing in dropped.keys() - took.keys():
                if done(Lake(lake), filing):
                    took[filing] = now - dropped[filing]
            time.sleep(2)
        asking.stop.set()
        asking.join()
        with urlopen(f"http://127.0.0.1:{PORT}/filings", timeout=60) as answer:
            listed = {row["filing"] for row in json.load(answer)}
        failed = [row for row in Lake(lake).ledger_entries() if row["outcome"] == "failed"]
        poisoned = [took[one] for one in beside_poison if one in took]
        memory = asking.memory.items()
        return [
            ("filings dropped, and searchable at the end", f"{len(dropped)}, {len(took.keys() & listed)}"),
            ("seconds from inbox to searchable, median and most", _of(list(took.values()), 1.0)),
            ("the same of those that came with a poison file", _of(poisoned, 1.0)),
            ("requests", len(asking.seconds)),
            *((f"answered {status}", count) for status, count in asking.statuses.most_common()),
            ("seconds of a request, median and 95th percentile", _of(asking.seconds, 0.95)),
            *((f"MB of the {name}, by tenths of the time", _tenths(mb)) for name, mb in memory),
            ("steps that failed", [f"{row['asset']} {row['partition']}: {row['error']}" for row in failed]),
            ("errors in the output of both programs", _errors(folder)),
        ]
    finally:
        for process in (service, daemon):
            process.send_signal(signal.SIGINT)
        for process in (service, daemon):
            process.wait(60)


def _errors(folder: Path) -> dict[str, int]:
    """Lines of errors, without what differs from one to the next, and how often each came."""
    lines = [line for path in folder.glob("*.log") for line in path.read_text("utf-8").splitlines()]
    bad = (line for line in lines if re.search("error|exception|traceback|critical", line, re.IGNORECASE))
    return dict(Counter(re.sub(r"[0-9a-f]*\d[-:0-9a-f]*", "N", line) for line in bad))


def _of(seconds: list[float], share: float) -> str:
    if len(seconds) < 2:
        return str(seconds)
    high = max(seconds) if share == 1.0 else quantiles(seconds, n=100)[round(100 * share) - 1]
    return f"{median(seconds):.2f}, {high:.2f}"


def _tenths(numbers: list[float]) -> str:
    size = max(1, len(numbers) // 10)
    return " ".join(
        f"{median(numbers[at : at + size]):.0f}" for at in range(0, size * 10, size) if numbers[at:]
    )


def main() -> None:
    """Soak, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--from", type=Path, dest="originals", help="folder of PDFs; the sample's if absent")
    parser.add_argument("--work", type=Path, help="a new folder, which stays; a temporary one if absent")
    asked = parser.parse_args()
    folder = asked.work or Path(tempfile.mkdtemp(prefix="soak-"))
    originals = sorted((asked.originals or write_sample(folder / "sample") / "pdfs").glob("*.pdf"))
    figures = soak(asked.minutes, originals, folder)
    print("| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in figures), sep="\n")
    if not asked.work:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
