"""Progress of a run, as far as the store can tell: what is there, and how much there can be at most."""

from __future__ import annotations

from stepmark.records.record import Record
from stepmark.records.run import Run, RunStatus
from stepmark.store.head import RunHead


class Progress(Record, frozen=True, kw_only=True):
    """How far a run is."""

    run: str
    """Its id."""
    status: RunStatus
    started: float
    finished: float | None
    num_cases: int
    num_solos: int
    """Solo passes stored so far."""
    num_cells: int
    num_launches: int
    """Launches stored so far."""
    max_launches: int
    """Of all cells, if none ends early; confirmations and launches alone come on top."""
    stamp: str
    """Changes whenever there is something new to see."""

    @property
    def share(self) -> float:
        """Of the most there can be: a run usually ends before it reaches 1."""
        most = self.num_cases + self.max_launches
        return min(1.0, (self.num_solos + self.num_launches) / most) if most else 0.0


def stamp_of(head: RunHead) -> str:
    """Of everything that can change about a run."""
    finished = "" if head.finished is None else f"{head.finished:.6f}"
    return f"{head.status}-{head.num_solos}-{head.num_launches}-{finished}"


def progress_of(head: RunHead, run: Run) -> Progress:
    """From the run's line in the list and its settings."""
    num_cells = len({case.cell for case in run.cases})
    return Progress(
        run=run.id,
        status=head.status,
        started=head.started,
        finished=head.finished,
        num_cases=head.num_cases,
        num_solos=head.num_solos,
        num_cells=num_cells,
        num_launches=head.num_launches,
        max_launches=num_cells * run.settings.launches,
        stamp=stamp_of(head),
    )
