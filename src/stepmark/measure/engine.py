"""An engine: where assignments run, in four verbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepmark.measure.assignment import Assignment
from stepmark.measure.protocol import Described
from stepmark.records.ceilings import Ceilings
from stepmark.records.source import Source
from stepmark.records.trial import Trial


class CutOff(KeyboardInterrupt):
    """The user stopped the run in the middle of an assignment; what was measured comes along."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.trial = trial


class Engine(Protocol):
    """Runs what the schedule assigns."""

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        """What the sources define; raises BenchFileError where they cannot be used."""

    def perform(self, assignment: Assignment) -> Trial:
        """Run one assignment to its end, whatever that is; failures are in the trial.
        Raises CutOff, with the unfinished launch, when the user stops it."""

    def ceilings(self, device: str) -> Ceilings | None:
        """The best rates of the device, measured now; None where nobody can."""

    def close(self) -> None:
        """End whatever still runs."""
