"""Missing cases: those that are asked for and that other runs have not measured.

Measured means coverage, not verdicts: a single launch that came to its end is enough here, and gives none. It
serves grids that are measured in parts, on a machine that is lent for minutes at a time: were a verdict's
launches asked for, most of what is there would be measured again before the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stepmark.analysis.trials import CaseTrials, gather
from stepmark.errors import UsageError
from stepmark.records.case import Case
from stepmark.records.outcome import Outcome
from stepmark.records.outline import SuiteOutline
from stepmark.records.run import Recording, Run
from stepmark.records.source import BuiltinSource, FileSource, Source


def missing_cases(
    asked: Run, elsewhere: Iterable[Recording], suites: Sequence[SuiteOutline]
) -> tuple[Case, ...]:
    """The cases of cells in which something is missing: a cell is measured whole, since its variants are
    compared in company. `suites` are as they are now, with the variants that no preset asks for.

    A UsageError where nothing is missing, or where what has been measured is of another machine than this or
    of something else: the two could not be taken together.
    """
    known: set[str] = set()
    for recording in elsewhere:
        measured = measured_cases(recording)
        shared = {case.cell.suite for case in asked.cases if case.id in measured}
        if shared:
            _refuse_unlike(recording.run, asked, [suite for suite in suites if suite.name in shared])
        known |= measured
    incomplete = {case.cell for case in asked.cases if case.id not in known}
    if not incomplete:
        raise UsageError(
            "nothing is missing: all that is asked for has a whole launch there, or is not supported",
            remedy="leave out --missing-from to measure it again: one launch alone gives no verdict",
        )
    return tuple(case for case in asked.cases if case.cell in incomplete)


def measured_cases(recording: Recording) -> frozenset[str]:
    """By id: those that ran to the end of a launch in company, and those that are not supported. What failed
    in another way is tried again."""
    return frozenset(id for id, trials in gather(recording).items() if _is_covered(trials))


def _is_covered(trials: CaseTrials) -> bool:
    """Blocks of a launch that was cut short do not count, even where the cell has a whole one without the
    case."""
    if trials.outcome is Outcome.MEASURED:
        return not trials.cell.completed.isdisjoint(trials.measured)
    return trials.outcome is Outcome.UNSUPPORTED


def _refuse_unlike(there: Run, asked: Run, suites: Iterable[SuiteOutline]) -> None:
    remedy = "leave out --missing-from; what is measured here cannot be taken together with it"
    device = asked.cases[0].cell.device
    machines = [run.environment.surroundings(device) for run in (there, asked)]
    if machines[0] != machines[1]:
        raise UsageError(
            f"run {there.id} is of another machine than this: {machines[0]}; here: {machines[1]}",
            remedy=remedy,
        )
    differences = [*_differences(there, asked, suites)]
    if differences:
        raise UsageError(
            f"run {there.id} measured something else than is asked for: {'; '.join(differences)}",
            remedy=remedy,
        )


def _differences(there: Run, asked: Run, suites: Iterable[SuiteOutline]) -> Iterator[str]:
    """As far as it is recorded what was measured. What a bench file holds is not; axes and their values are
    part of a case's id."""
    if _threads(there) != _threads(asked):
        yield f"with {_threads(there)} as number of threads, here {_threads(asked)}"
    for now in suites:
        then = next(suite for suite in there.suites if suite.name == now.name)
        sources = _origin(there.sources[then.source_index]), _origin(asked.sources[now.source_index])
        if sources[0] != sources[1]:
            yield f"{now.name} of {sources[0]}, here of {sources[1]}"
        if then.baseline != now.baseline:
            yield f"{now.name} with {then.baseline} as its baseline, here {now.baseline}"
        gone = {variant.name for variant in then.variants} - {variant.name for variant in now.variants}
        if gone:
            yield f"{now.name} with variants that it no longer has: {', '.join(sorted(gone))}"


def _threads(run: Run) -> int:
    return run.settings.threads or run.environment.torch.threads


def _origin(source: Source) -> str:
    """A file by its name: on another machine it lies in another place."""
    if isinstance(source, FileSource):
        return Path(source.path).name
    return "stepmark itself" if isinstance(source, BuiltinSource) else "a program"
