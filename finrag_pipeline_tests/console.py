"""The command line as other programs meet it, with exit code, stdout and stderr: as a process, or in this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from absl import logging as absl_logging

from finrag_pipeline import cli
from finrag_pipeline.settings import get_settings

REPOSITORY = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "finrag_pipeline.cli"]


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.out)

    def error(self) -> dict[str, str]:
        """The one JSON error on stderr, which must hold nothing else."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        error = json.loads(lines[0])
        assert set(error) == {"error", "remedy"} and all(error.values()), error
        return error


def environment(lake: Path, **extra: str) -> dict[str, str]:
    """Environment of a process that works on ``lake`` alone and reaches no model hub."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FINRAG_", "DAGSTER_"))}
    return {
        **kept,
        "FINRAG_LAKE": str(lake),
        "DAGSTER_HOME": str(lake / "dagster_home"),
        "FINRAG_WORKERS": "1",
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "200",
        **extra,
    }


def start(lake: Path, *arguments: str | Path, **extra: str) -> subprocess.Popen[str]:
    """Start ``finrag`` in a process group of its own."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=REPOSITORY,
        env=environment(lake, **extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str], timeout: float = 900) -> Done:
    """Wait for a started process."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"finrag did not end within {timeout} s\n{out[-2000:]}\n{err[-4000:]}") from None
    return Done(process.returncode, out, err)


def finrag(lake: Path, *arguments: str | Path, timeout: float = 900, **extra: str) -> Done:
    """Run ``finrag`` to its end."""
    return finish(start(lake, *arguments, **extra), timeout)


def called(lake: Path | str, *arguments: str | Path, **extra: str) -> Done:
    """Call ``finrag`` in this process: the same entry point and variables, without a start of Python.

    A process of its own is for what must be killed, run beside another one, or show what it loads and prints.
    """
    # rouge-score's logging holds what was stderr at its import, pytest's capture, and would close it when
    # Dagster sets up logging while another one stands there.
    absl_logging.get_absl_handler().python_handler.setStream(sys.__stderr__)
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        given = environment(Path(lake), **extra)
        for name in os.environ.keys() - given.keys():
            patch.delenv(name)
        for name, value in given.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["finrag", *map(str, arguments)])
        get_settings.cache_clear()
        with pytest.raises(SystemExit) as ended:
            cli.main()
    get_settings.cache_clear()
    return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())
