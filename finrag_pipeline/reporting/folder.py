"""Replace a folder as a whole: readers find the old contents or the new ones, never a mixture."""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from finrag_pipeline.errors import LakeError, UsageError

MARKER = ".finrag-report"
"""File that says that a folder may be replaced: it was written here and holds nothing of anyone else."""

_STALE_SECONDS = 3600.0
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace_folder(folder: Path, write: Callable[[Path], None]) -> Path:
    """Write a folder under a temporary name beside ``folder``, then put it in its place.

    Where the system can (Linux), the two folders are exchanged in one step; elsewhere two renames leave a
    moment without the folder. What killed runs left behind is removed once it is an hour old.

    Args:
        folder: folder to make or replace, with its parents.
        write: fills an empty folder.

    Returns:
        ``folder``, with links resolved.

    Raises:
        UsageError: ``folder`` is a file, or holds something that was not written by this function.
        LakeError: it cannot be written.
    """
    folder = folder.resolve()
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    try:
        _refuse_foreign(folder)
        temporary.mkdir(parents=True)
        write(temporary)
        (temporary / MARKER).touch()
        _swap(temporary, folder)
    except OSError as error:
        raise LakeError(
            f"The folder {folder} cannot be written: {error.strerror or error}.",
            "Check permissions and free space, then run again.",
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _remove_leftovers(folder)
    return folder


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", "Name a folder for the report.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise UsageError(
            f"The folder {folder} holds files that no report put there.",
            "Choose another folder, or empty it.",
        )


def _swap(temporary: Path, folder: Path) -> None:
    """Put ``temporary`` in the place of ``folder``; what was there is then at ``temporary``, or gone."""
    if folder.exists() and _exchange(temporary, folder):
        return
    old = temporary.with_suffix(".old.tmp")
    for attempt in (1, 2, 3):  # another writer may put its folder there between the two renames
        with suppress(FileNotFoundError):
            folder.rename(old)
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.exists():
                if old.exists():
                    old.rename(folder)
                raise
            if attempt == 3:
                raise
        else:
            return
        finally:
            shutil.rmtree(old, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step (Linux ``renameat2``); False where that is not possible."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    return rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0


def _remove_leftovers(folder: Path) -> None:
    for path in folder.parent.glob(f".{glob.escape(folder.name)}.*.tmp"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
