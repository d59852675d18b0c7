"""File names of pages that are about a filing: safe on every file system, and never two alike."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# Devices of Windows, which has no files of these names.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_LONGEST = 60


def page_names(identifiers: Iterable[str]) -> dict[str, str]:
    """A name without suffix for each identifier: letters, digits, ``_`` and ``-`` of ASCII only.

    An identifier of such characters is its own name. Others are cut to what is safe, with a hash behind, and
    so are those that differ in case only, which some file systems take for one.

    Args:
        identifiers: of unknown origin, such as identifiers of filings or questions.

    Returns:
        Name by identifier, in the given order; the same identifiers give the same names.
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
