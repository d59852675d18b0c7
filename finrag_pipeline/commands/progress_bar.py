"""The progress bar of the command line."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console


class ProgressBar:
    """A Rich progress bar fed by (stage, item, done, total); silent in JSON mode."""

    def __init__(self, silent: bool) -> None:
        from rich.progress import (  # not for commands without a bar
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[item]}", markup=False),
            console=Console(stderr=True),
            disable=silent,
        )
        self._tasks: dict[str, Any] = {}
        self._begun: dict[str, float] = {}
        self._done: dict[str, int] = {}

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._tasks:
            self._progress.stop()

    def __call__(self, stage: str, item: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items of ``stage`` are done and that ``item`` is next."""
        if not self._tasks:  # not before: a bar without stages would leave an empty line
            self._progress.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total, item=item, rate="")
            self._begun[stage] = time.monotonic()
        elif done < self._done[stage]:
            # The stage began anew, for instance the embedding of the next filing.
            self._progress.reset(self._tasks[stage], total=total)
            self._begun[stage] = time.monotonic()
        self._done[stage] = done
        seconds = time.monotonic() - self._begun[stage]
        rate = f"{done / seconds:.2f}/s" if done and seconds > 0.5 else ""
        self._progress.update(self._tasks[stage], completed=done, total=total, item=item, rate=rate)
