"""Missing cases: those that are asked for and that other runs have not measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepmark.analysis.trials import gather
from stepmark.errors import UsageError
from stepmark.records.case import Case
from stepmark.records.environment import Environment
from stepmark.records.outcome import Outcome
from stepmark.records.run import Recording


def missing_cases(
    asked: Sequence[Case], elsewhere: Iterable[Recording], environment: Environment
) -> tuple[Case, ...]:
    """The cases of cells in which something is missing: a cell is measured whole, since its variants are
    compared in company. A UsageError where nothing is missing, or where what has been measured is of another
    machine than this: the two could not be taken together."""
    known: set[str] = set()
    for recording in elsewhere:
        measured = measured_cases(recording)
        if any(case.id in measured for case in asked):
            _refuse_unlike(recording, environment, device=asked[0].cell.device)
        known |= measured
    incomplete = {case.cell for case in asked if case.id not in known}
    if not incomplete:
        raise UsageError(
            "nothing is missing: all that is asked for has been measured there, or is not supported",
            remedy="leave out --missing-from to measure it again",
        )
    return tuple(case for case in asked if case.cell in incomplete)


def measured_cases(recording: Recording) -> frozenset[str]:
    """By id: those that ran to the end of a launch in company, and those that are not supported. What failed
    in another way is tried again."""
    return frozenset(
        id
        for id, trials in gather(recording).items()
        if trials.outcome is Outcome.UNSUPPORTED
        or (trials.outcome is Outcome.MEASURED and trials.cell.counted)
    )


def _refuse_unlike(recording: Recording, environment: Environment, *, device: str) -> None:
    there, here = recording.run.environment.surroundings(device), environment.surroundings(device)
    if there != here:
        raise UsageError(
            f"run {recording.run.id} is of another machine than this: {there}; here: {here}",
            remedy="leave out --missing-from; what is measured here cannot be taken together with it",
        )
