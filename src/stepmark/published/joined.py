"""Runs joined to one: what several sessions on machines of one kind measured of the same suites.

A cell is taken whole from one run, as its variants were measured in company: the newest that launched it. The
whole is told to be of one machine, so runs are not joined across accelerators, drivers or versions of torch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from stepmark.errors import UsageError
from stepmark.records.outline import SuiteOutline
from stepmark.records.run import Recording, Run, RunStatus
from stepmark.records.source import Source


def joined(recordings: Sequence[Recording]) -> Recording:
    """One recording under the name and in the surroundings of the newest; a UsageError where those of the
    others differ. At least one is given."""
    by_age = sorted(recordings, key=lambda each: each.run.started)
    newest = by_age[-1].run
    if len(by_age) == 1:
        return by_age[0]
    _refuse_unlike([each.run for each in by_age])
    owners = _owners(by_age)
    sources, outlines = _told([each.run for each in by_age])
    cases = dict.fromkeys(
        case for each in by_age for case in each.run.cases if owners[case.cell.id] == each.run.id
    )
    return Recording(
        run=replace(
            newest,
            sources=sources,
            suites=outlines,
            cases=tuple(cases),
            status=_status({*owners.values()}, by_age),
        ),
        solos=tuple(
            solo for each in by_age for solo in each.solos if owners[solo.case.cell.id] == each.run.id
        ),
        launches=tuple(
            launch for each in by_age for launch in each.launches if owners[launch.cell.id] == each.run.id
        ),
    )


def _refuse_unlike(runs: Iterable[Run]) -> None:
    told = sorted({run.environment.surroundings(run.cases[0].cell.device) for run in runs})
    if len(told) > 1:
        raise UsageError(
            f"runs of other machines are not joined: {'; '.join(told)}",
            remedy="measure and compare one suite at a time",
        )


def _owners(by_age: Iterable[Recording]) -> dict[str, str]:
    """By cell the run that it is taken from."""
    owners: dict[str, str] = {}
    for each in by_age:
        launched = {launch.cell.id for launch in each.launches}
        for case in each.run.cases:
            if case.cell.id in launched or case.cell.id not in owners:
                owners[case.cell.id] = each.run.id
    return owners


def _told(runs: Sequence[Run]) -> tuple[tuple[Source, ...], tuple[SuiteOutline, ...]]:
    """All sources, and of each suite the newest outline, which finds its own source among them."""
    sources: list[Source] = []
    outlines: dict[str, SuiteOutline] = {}
    for run in runs:
        for outline in run.suites:
            outlines[outline.name] = replace(outline, source_index=outline.source_index + len(sources))
        sources += run.sources
    return tuple(sources), tuple(outlines.values())


def _status(taken: Collection[str], by_age: Iterable[Recording]) -> RunStatus:
    """Complete where every run that something is taken from is, else what the newest of the others is."""
    others = [each.run.status for each in by_age if each.run.id in taken]
    return next((each for each in reversed(others) if each is not RunStatus.COMPLETE), RunStatus.COMPLETE)
