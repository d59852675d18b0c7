"""Errors that people are meant to read: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class FinragError(Exception):
    """A problem with a remedy.

    Args:
        reason: what is wrong, in one sentence, naming the file or value.
        remedy: what the reader can do about it, in one sentence.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}".strip())
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process boundaries by pickling; the default would lose the remedy.
        return (type(self), (self.reason, self.remedy))


class Problem(str):
    """Why something cannot run here, for people, with the one command that mends it."""

    command: str

    def __new__(cls, reason: str, command: str = "finrag run") -> Problem:
        """The reason, which reads like any text, and the command."""
        made = super().__new__(cls, reason)
        made.command = command
        return made


def find_name(name: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that is meant by a name in any case."""
    return next((one for one in sorted(known, key=name.__ne__) if one.lower() == name.lower()), None)


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """``Did you mean A or B? ``, the likeliest of ``known``; nothing where none is alike."""
    lowered = {one.lower(): one for one in known}
    likely = [lowered[one] for one in get_close_matches(name.lower(), lowered, most)]
    return f"Did you mean {' or '.join(likely)}? " if likely else ""


class Fallback(str):
    """A warning that an answer is worse than this lake can give, and the remedy."""


@contextmanager
def refused(kind: type[FinragError], what: str, remedy: str) -> Iterator[None]:
    """What the system refuses within is raised as this kind of error: ``what``, and why."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}.", remedy) from error


class FilingError(FinragError):
    """A filing that cannot be read: corrupt, encrypted, empty, not a PDF, malformed page text."""


class EdgarError(FinragError):
    """EDGAR cannot be reached, or refuses what it is asked."""


class BenchmarkError(FinragError):
    """A benchmark source or question file that cannot be used."""


class ModelError(FinragError):
    """A model that cannot be loaded or has unexpected contents."""


class LakeError(FinragError):
    """A missing, damaged or inconsistent part of the lake."""


class DamageError(LakeError):
    """A part or an index that is not as it was written; ``path``, below the root of the lake, is made again.

    A run that meets it sets it aside and makes it anew; otherwise that is for `finrag doctor --heal`.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason, "Make it anew: finrag doctor --heal.")
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.path)


class UsageError(FinragError):
    """A request that names something that does not exist (system, filing, slice, …)."""
