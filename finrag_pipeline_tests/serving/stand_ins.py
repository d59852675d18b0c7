"""Searchers whose behaviour a test decides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from finrag_pipeline.services.search import SearchAnswer


@dataclass
class ScriptedSearcher:
    """Answers with nothing, after doing what it was told to do with a question."""

    does: Callable[[str], object]
    asked: list[str] = field(default_factory=list)

    def search(self, question: str, system: str | None, k: int, filings: Sequence[str] = ()) -> SearchAnswer:
        """No results."""
        self.asked.append(question)
        self.does(question)
        return SearchAnswer(question, system or "dense", [], 0.0)


@dataclass
class Held:
    """Lets searches for ``slow`` begin, and end only when `release` is set."""

    begun: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)

    def __call__(self, question: str) -> None:
        """Wait, if the question is ``slow``."""
        if question == "slow":
            self.begun.set()
            assert self.release.wait(60)
