"""Whether a process that left a note is still there: its name holds host, number and start."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

PROCESS_TAG = "finrag/process"
"""Tag of a run of the command line, with its process: somebody watches it."""


def process_name(pid: int) -> str:
    """Name of a process of this machine."""
    return f"{socket.gethostname()}:{pid}:{_start_time(pid)}"


def is_alive(name: str) -> bool:
    """Whether a process still runs; another machine's cannot be judged from here and counts as alive."""
    host, pid, started = name.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    if started:
        return _start_time(int(pid)) == started
    with suppress(PermissionError):  # no /proc on this system
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return False
    return True


def _start_time(pid: int) -> str:
    # Field 22 of /proc/<pid>/stat: with it, a recycled process number is not mistaken for the run.
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    # A zombie has ended; only nobody has asked for its exit code yet.
    return "" if fields[0] == "Z" else fields[19]
