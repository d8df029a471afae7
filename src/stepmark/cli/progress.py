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
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stepmark.records.run import Run
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial
from stepmark.report.page import Page

DOING = "measuring"
"""Solo passes and launches take turns: which of them is going on tells nobody how far a run is."""
_PLAIN_INTERVAL = 5.0
"""Seconds between lines where standard error is not a terminal."""


class ProgressDisplay:
    """Follows a run. Also the engine's tick."""

    run_id: str | None = None

    def tick(self) -> None: ...

    def prepares(self, what: str) -> None: ...

    def leaves_out(self, cells: int, asked: int) -> None: ...

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
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._progress.add_task("starting workers", total=None, count="", left="")
        self._forecast = Forecast(budget=None)
        self._progress.start()
        self._progress.refresh()

    def tick(self) -> None:
        self._progress.refresh()

    def prepares(self, what: str) -> None:
        self._progress.update(self._task, description=what, refresh=True)

    def leaves_out(self, cells: int, asked: int) -> None:
        self._progress.console.print(_left_out(cells, asked), highlight=False)

    def begins(self, run: Run, resumed: int) -> None:
        super().begins(run, resumed)
        self._forecast = Forecast(budget=run.settings.budget)
        self._progress.update(self._task, description=DOING, refresh=True)

    def advances(self, trial: Trial, done: int, total: int) -> None:
        if isinstance(trial, SoloTrial) and trial.failure is not None:
            said = Page().show(f"{trial.case.id}: {trial.failure.message}")
            self._progress.console.print(said, markup=False)
        forecast = self._forecast
        forecast.note(trial)
        left = forecast.left(total - done)
        self._progress.update(
            self._task,
            description=DOING,
            count=forecast.count(done, total),
            left=forecast.over if left is None else f"about {_short(left)} left",
            completed=forecast.elapsed,
            total=None if left is None else forecast.elapsed + left,
            refresh=True,
        )

    def close(self) -> None:
        self._progress.stop()


class Forecast:
    """How long a run will still take, from the launches seen so far, or from its budget."""

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self._begin = time.monotonic()
        self._launches: list[float] = []

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    @property
    def over(self) -> str:
        """Why a run still goes on when its budget does not."""
        ended = self.budget is not None and self.elapsed >= self.budget
        return "the budget is over: ending what has begun" if ended else ""

    def note(self, trial: Trial) -> None:
        if isinstance(trial, LaunchTrial):
            self._launches.append(trial.seconds)

    def count(self, done: int, total: int) -> str:
        """`12 of 60`; under a budget nobody gets to the end of all that could be measured."""
        if self.budget is None:
            return f"{done} of {total}"
        return "1 trial" if done == 1 else f"{done} trials"

    def left(self, trials: int) -> float | None:
        """Seconds, or None before the first launch has shown how long one takes, and where the budget is
        over: what has begun then goes on for as long as it takes."""
        if self.budget is not None:
            return self.budget - self.elapsed if self.elapsed < self.budget else None
        if not self._launches:
            return None
        return trials * sum(self._launches) / len(self._launches)


def _short(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _left_out(cells: int, asked: int) -> str:
    return f"{cells} of {asked} cells are left out: they have a launch elsewhere (coverage, not verdicts)"


class LineDisplay(ProgressDisplay):
    """A line now and then where there is no terminal."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._forecast = Forecast(budget=None)

    def prepares(self, what: str) -> None:
        click.echo(f"stepmark: {what}", err=True)

    def leaves_out(self, cells: int, asked: int) -> None:
        click.echo(f"stepmark: {_left_out(cells, asked)}", err=True)

    def begins(self, run: Run, resumed: int) -> None:
        super().begins(run, resumed)
        self._forecast = Forecast(budget=run.settings.budget)

    def advances(self, trial: Trial, done: int, total: int) -> None:
        self._forecast.note(trial)
        if time.monotonic() - self._said >= _PLAIN_INTERVAL:
            self._said = time.monotonic()
            left = self._forecast.left(total - done)
            ahead = self._forecast.over if left is None else f"about {_short(left)} left"
            parts = [DOING, f"{self._forecast.count(done, total)} done", *([ahead] if ahead else [])]
            click.echo(f"stepmark: {', '.join(parts)}", err=True)


@contextmanager
def progress_display(quiet: bool) -> Iterator[ProgressDisplay]:
    """The display that fits where standard error goes."""
    kind = ProgressDisplay if quiet else BarDisplay if sys.stderr.isatty() else LineDisplay
    display = kind()
    try:
        yield display
    finally:
        display.close()
