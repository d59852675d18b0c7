"""A whole command: wall time, and peak memory of all its processes together."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import psutil


def measure(command: list[str], interval: float = 0.2) -> tuple[int, float, float]:
    """Exit code, seconds, and peak of the summed proportional set sizes of the process tree in GiB.

    Proportional: a page shared by several processes counts once.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command)
    root, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        total = 0
        try:
            for member in [root, *root.children(recursive=True)]:
                try:
                    total += member.memory_full_info().pss
                except psutil.Error:
                    continue
        except psutil.Error:
            pass
        peak = max(peak, total)
        time.sleep(interval)
    return process.returncode, time.perf_counter() - start, peak / 1024**3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    code, seconds, peak = measure(options.command)
    print(f"exit {code}, {seconds:.1f} s, peak memory {peak:.2f} GiB")
    sys.exit(code)


if __name__ == "__main__":
    main()
