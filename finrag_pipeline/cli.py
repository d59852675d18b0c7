"""The command line ``finrag``: the same graph as the Dagster UI, and answers from the index.

Exit codes: 0 all done; 1 it failed; 2 wrong usage; 3 done, but some filings failed, or
with less than this lake can give; 130 stopped by Ctrl-C.
Errors go to stderr: one line for people, ``{"error", "remedy"}`` with ``--json``.
"""

from __future__ import annotations

import os

# Matrices here are small: a second thread of linear algebra spins after each of them, a tenth of a run.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import errno
import gc
import json
import sys
import traceback
from pkgutil import iter_modules, resolve_name
from tempfile import NamedTemporaryFile
from typing import NoReturn

import typer

from finrag_pipeline import commands
from finrag_pipeline.commands.console import FAILED, STOPPED, USAGE, app, err
from finrag_pipeline.errors import FinragError, UsageError

for _module in iter_modules(commands.__path__):
    resolve_name(f"finrag_pipeline.commands.{_module.name}")  # adds its commands


_OF_THE_DISK = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Entry point; turns errors into one line for people or JSON for programs."""
    # What is imported stays: looking through it for garbage is an eighth of a short command's time.
    gc.set_threshold(100_000)
    try:
        code = app(standalone_mode=False)
    except FinragError as error:
        _fail(error.reason, error.remedy, USAGE if isinstance(error, UsageError) else FAILED)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:  # its reader has seen enough: finrag facts … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        # Typer's own errors: an unknown option, a missing argument, a value of the wrong type.
        context, message = getattr(error, "ctx", None), getattr(error, "format_message", None)
        if message is None:
            _fail(*_told(error), FAILED)
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(f"{message()}\n")
            sys.exit(USAGE)
        command = context.command_path if context else "finrag"
        _fail(f"{message().rstrip('.')}.", f"See: {command} --help", USAGE)
    if code == STOPPED:  # Typer makes a keyboard interrupt into this code
        _fail("Stopped.", "Run the same command again to go on: what is done is kept.", STOPPED)
    if "duckdb" not in sys.modules:  # which tells people of all that is not cleared away at the end
        gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)


def _told(error: Exception) -> tuple[str, str]:
    """What is wrong where nothing said it better, and what to do."""
    full = isinstance(error, OSError) and error.errno in _OF_THE_DISK
    if isinstance(error, OSError) and (full or error.filename):
        told = f"{error.filename or 'A file'} cannot be {'written' if full else 'used'}: {error.strerror}."
        return told, "Check path, permissions and free space of the lake; another: finrag --lake FOLDER …"
    with NamedTemporaryFile("w", prefix="finrag-", suffix=".log", delete=False) as file:
        traceback.print_exception(error, file=file)
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}", f"This is a defect; please report it with {file.name}."


def _fail(reason: str, remedy: str, code: int) -> NoReturn:
    if "--json" in sys.argv:
        sys.stderr.write(json.dumps({"error": reason, "remedy": remedy}, ensure_ascii=False) + "\n")
    else:
        err.print(f"error: {reason} {remedy}", markup=False, soft_wrap=True, style="red")
    sys.exit(code)


if __name__ == "__main__":
    main()
