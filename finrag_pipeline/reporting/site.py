"""The report as a site: its menu and templates, safe file names, and a folder that is replaced as a whole."""

from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import re
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.errors import LakeError, UsageError, refused

if TYPE_CHECKING:
    from jinja2 import Environment


_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# Devices of Windows, which has no files of these names.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_LONGEST = 60


def page_names(identifiers: Iterable[str]) -> dict[str, str]:
    """A name without suffix for each identifier: letters, digits, ``_`` and ``-`` of ASCII only.

    An identifier of such characters is its own name. Others are cut to what is safe, with a hash behind, and
    so are those that differ in case only, which some file systems take for one.
    The same identifiers give the same names.
    """
    known = list(dict.fromkeys(identifiers))
    alike = Counter(name.casefold() for name in known)
    return {name: _name(name, alike[name.casefold()] == 1) for name in known}


def _name(identifier: str, alone: bool) -> str:
    if alone and _PLAIN.fullmatch(identifier) and not _RESERVED.fullmatch(identifier):
        return identifier
    digest = hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9]+", "_", identifier)[:_LONGEST].strip("_")
    return f"{readable or 'page'}-{digest}"


MARKER = ".finrag-report"
"""File that says that a folder may be replaced: it was written here and holds nothing of anyone else."""

_STALE_SECONDS = 3600.0
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace_folder(folder: Path, write: Callable[[Path], None]) -> Path:
    """Write a folder under a temporary name beside ``folder``, then put it in its place.

    Where the system can (Linux), the two folders are exchanged in one step; elsewhere two renames leave a
    moment without the folder. What killed runs left behind is removed once it is an hour old. Returns the
    folder with links resolved.

    Raises:
        UsageError: ``folder`` is a file, or holds something that was not written by this function.
        LakeError: it cannot be written.
    """
    folder = folder.resolve()
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    remedy = "Check permissions and free space, then run again."
    try:
        with refused(LakeError, f"The folder {folder} cannot be written", remedy):
            _refuse_foreign(folder)
            temporary.mkdir(parents=True)
            write(temporary)
            (temporary / MARKER).touch()
            _swap(temporary, folder)
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


TEMPLATES = Path(__file__).parent / "templates"
"""Folder of the templates, and of the style sheets and scripts that go with them."""


def copy_assets(target: Path, *names: str) -> None:
    """Style sheets and scripts, into the folder ``assets`` below ``target``."""
    (target / "assets").mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(TEMPLATES / name, target / "assets" / name)


PAGES = {
    "Overview": "index.html",
    "Questions": "questions.html",
    "Filings": "filings.html",
    "Method": "method.html",
}
"""Name and file of every page in the menu, in its order."""


def write_page(path: Path, html: str) -> None:
    """Write a page, in a folder that is made for it; what is no text, as in paths, is replaced."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(html.encode("utf-8", "replace"))


def render_page(template: str, here: str, root: str = "", **context: Any) -> str:
    """One page as HTML; every text in it is escaped.

    ``here`` is its name in the menu, or that of the page it belongs to; ``root`` is the way up to
    ``index.html``: empty, or ``../`` for pages in a folder. ``pages`` in the context is another menu, and
    ``about`` says of what.
    """
    shared = {"here": here, "root": root, "pages": list(PAGES.items()), "about": "the report"}
    return _environment().get_template(template).render(shared | context)


@cache
def _environment() -> Environment:
    # Kept, so that a template is compiled once for hundreds of pages.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    dumped = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
    environment.policies["json.dumps_kwargs"] = dumped  # of the filter tojson, for script elements
    return environment
