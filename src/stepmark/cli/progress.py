"""The progress display: one line on standard error while a run goes on.

It is redrawn between trials and at most once a second while one runs, never by a thread of its own: a display
that wakes up ten times a second is a neighbour nobody invited.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from stepmark.records.run import Run
from stepmark.records.trial import SoloTrial, Trial

_PLAIN_INTERVAL = 5.0
"""Seconds between lines where standard error is not a terminal."""


class ProgressDisplay:
    """Follows a run. Also the engine's tick."""

    run_id: str | None = None

    def tick(self) -> None: ...

    def begins(self, run: Run, resumed: int) -> None:  # noqa: ARG002
        self.run_id = run.id

    def advances(self, trial: Trial, done: int, total: int) -> None: ...

    def close(self) -> None: ...


class BarDisplay(ProgressDisplay):
    """A bar on a terminal."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._progress.add_task("starting workers", total=None)
        self._progress.start()
        self._progress.refresh()

    def tick(self) -> None:
        self._progress.refresh()

    def begins(self, run: Run, resumed: int) -> None:
        super().begins(run, resumed)
        self._progress.update(self._task, description="solo passes", completed=resumed, refresh=True)

    def advances(self, trial: Trial, done: int, total: int) -> None:
        if isinstance(trial, SoloTrial) and trial.failure is not None:
            self._progress.console.print(f"{trial.case.id}: {trial.failure.message}", markup=False)
        self._progress.update(
            self._task, description=_doing(trial), completed=done, total=total, refresh=True
        )

    def close(self) -> None:
        self._progress.stop()


class LineDisplay(ProgressDisplay):
    """A line now and then where there is no terminal."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def advances(self, trial: Trial, done: int, total: int) -> None:
        if time.monotonic() - self._said >= _PLAIN_INTERVAL:
            self._said = time.monotonic()
            click.echo(f"stepmark: {_doing(trial)}, {done} of {total} done", err=True)


def _doing(trial: Trial) -> str:
    return "solo passes" if isinstance(trial, SoloTrial) else "launches"


@contextmanager
def progress_display(quiet: bool) -> Iterator[ProgressDisplay]:
    """The display that fits where standard error goes."""
    kind = ProgressDisplay if quiet else BarDisplay if sys.stderr.isatty() else LineDisplay
    display = kind()
    try:
        yield display
    finally:
        display.close()
