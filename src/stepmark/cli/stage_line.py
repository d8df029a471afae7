"""The stage line: one line on standard error that says what is being done and for how long.

Where standard error is no terminal, a line now and then. Like the progress display it has no thread of its
own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from stepmark.records.run import Recording, Run
from stepmark.records.trial import Trial

_PLAIN_INTERVAL = 5.0
"""Seconds between lines where there is no terminal."""
_ERASE = "\r\x1b[K"
LARGE = 800
"""Trials of a run that is judged in two seconds and more: 2130 took four, and their page ten."""


class StageLine:
    """Says nothing: for --quiet. Follows a run, and is the engine's tick."""

    def say(self, stage: str) -> None: ...

    def tick(self) -> None: ...

    def prepares(self, what: str) -> None: ...

    def leaves_out(self, cells: int, asked: int) -> None: ...

    def begins(self, run: Run, resumed: int) -> None: ...

    def advances(self, trial: Trial, done: int, total: int) -> None: ...

    def close(self) -> None: ...


class TerminalStageLine(StageLine):
    """Redrawn in place, erased at the end."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._stage = ""

    def say(self, stage: str) -> None:
        self._stage = stage
        self.tick()

    def tick(self) -> None:
        spent = time.monotonic() - self._begin
        click.echo(f"{_ERASE}{spent:4.0f} s  {self._stage}", nl=False, err=True)

    def close(self) -> None:
        click.echo(_ERASE, nl=False, err=True)


class PlainStageLine(StageLine):
    """A line at the start and then every few seconds."""

    def __init__(self) -> None:
        self._said: float | None = None

    def say(self, stage: str) -> None:
        now = time.monotonic()
        if self._said is None or now - self._said >= _PLAIN_INTERVAL:
            self._said = now
            click.echo(f"stepmark: {stage}", err=True)


@contextmanager
def stage_line(*, quiet: bool) -> Iterator[StageLine]:
    """The one that fits where standard error goes."""
    kind = StageLine if quiet else TerminalStageLine if sys.stderr.isatty() else PlainStageLine
    shown = kind()
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def stages_of(recording: Recording) -> Iterator[StageLine]:
    """While something is made of a stored run: of a small one it is there at once."""
    with stage_line(quiet=len(recording.trials) < LARGE) as shown:
        yield shown


def judging(recording: Recording) -> str:
    return f"judging {len(recording.run.cases)} cases"
