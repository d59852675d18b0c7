"""The machine that figures were made on, read when asked."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

_SECONDS = 10


def describe_hardware() -> dict[str, str]:
    """Processor, cores, memory, graphics processor and operating system, in words for people.

    What cannot be read is left out, but for the graphics processor: ``none found`` means that the NVIDIA
    driver's own tool is absent or lists none.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    found = {
        "processor": _processor(),
        "cores": f"{cores}" if usable == cores else f"{cores}, of which {usable} may be used",
        "memory": _memory(),
        "graphics processor": _graphics() or "none found",
        "operating system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }
    return {name: text for name, text in found.items() if text}


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # no POSIX
        return ""
    return f"{size / 1024**3:.1f} GiB" if size > 0 else ""


def _graphics() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())
