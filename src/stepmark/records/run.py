"""A run: everything one command measured, and the judgement computed from it."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from msgspec.structs import replace

from stepmark.records.case import Case
from stepmark.records.ceilings import Ceilings
from stepmark.records.environment import Environment, LoadFacts
from stepmark.records.estimate import Summary
from stepmark.records.finding import Finding
from stepmark.records.limit import Limit
from stepmark.records.memory import MemoryUse
from stepmark.records.outcome import Failure, Outcome
from stepmark.records.outline import SuiteOutline
from stepmark.records.record import Record
from stepmark.records.settings import Policy, Settings
from stepmark.records.source import Source
from stepmark.records.spread import Spread
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial
from stepmark.records.verdict import Verdict

FORMAT = 5
"""Version of the records as they are stored and exported.

1   2026-11   first: runs, solo trials, launch trials, packed samples
2   2026-11   cells have an execution and a cache regime; samples of a device have host times and lags; cards
              are read around blocks; older records read as eager, warm, and without any of these
3   2026-11   a repository has a branch; older ones read as without
4   2026-11   an inspected phase lists its operators: calls, work, traffic, time; settings have a cell's
              budget; older ones read as without
5   2026-11   an optimizer's facts name weights that get gradients and no update; older ones read as without
"""


class RunStatus(StrEnum):
    RUNNING = "running"
    """Being measured, or cut off without a chance to say so."""
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    """Stopped by the user, or by what went wrong."""


class Run(Record, frozen=True, kw_only=True):
    """The head of a run: written first, before anything is measured."""

    id: str
    started: float
    sources: tuple[Source, ...]
    suites: tuple[SuiteOutline, ...]
    cases: tuple[Case, ...]
    settings: Settings
    policy: Policy
    environment: Environment
    load_start: LoadFacts
    ceilings: Ceilings | None = None
    """None where nobody measured them."""
    load_end: LoadFacts | None = None
    finished: float | None = None
    status: RunStatus = RunStatus.RUNNING
    format: int = FORMAT

    def baseline(self, suite: str) -> str:
        """Name of the baseline variant of a suite."""
        return next(outline.baseline for outline in self.suites if outline.name == suite)


class Recording(Record, frozen=True, kw_only=True):
    """A run with all its trials, as the store returns it."""

    run: Run
    solos: tuple[SoloTrial, ...] = ()
    launches: tuple[LaunchTrial, ...] = ()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Solo passes, then launches."""
        return (*self.solos, *self.launches)

    def of_suites(self, names: Collection[str]) -> Recording:
        """With the cases and trials of these suites alone."""
        run = self.run
        return Recording(
            run=replace(
                run,
                suites=tuple(outline for outline in run.suites if outline.name in names),
                cases=tuple(case for case in run.cases if case.cell.suite in names),
            ),
            solos=tuple(solo for solo in self.solos if solo.case.cell.suite in names),
            launches=tuple(launch for launch in self.launches if launch.cell.suite in names),
        )


class CaseJudgement(Record, frozen=True, kw_only=True):
    """What is known about one case."""

    case: Case
    baseline: bool
    outcome: Outcome | None
    """None while the case has not been reached."""
    failure: Failure | None
    primary: str | None
    """The phase a verdict is about; None where nothing was measured."""
    phases: tuple[str, ...]
    """Totals, phases and remainder with a summary, in display order."""
    summaries: tuple[Summary, ...]
    verdicts: tuple[Verdict, ...]
    """One per phase shared with the baseline, the primary first; empty for the baseline itself."""
    num_launches: int
    """For the verdict."""
    num_confirming: int = 0
    """Launches that measured a flagged cell again; times rest on these too."""
    num_rounds: int = 0
    """Of the launches' rounds, the median."""
    spread: Spread | None = None
    """Where the variance of the primary ratio lives; None for the baseline and where it is not known."""
    parameters: int | None = None
    memory: MemoryUse | None = None
    """None where nothing was inspected."""
    limit: Limit | None = None
    """How near it comes to the best rates of the device; None where that is not known."""

    def summary(self, phase: str) -> Summary | None:
        return next((summary for summary in self.summaries if summary.phase == phase), None)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the primary phase."""
        return self.verdicts[0] if self.verdicts else None


class Judgement(Record, frozen=True, kw_only=True):
    """A run, judged: computed from stored values, never stored itself."""

    run: Run
    cases: tuple[CaseJudgement, ...]
    findings: tuple[Finding, ...]
    seconds: float = 0.0
    """Spent on its trials: from start to end it may be a day more, where a run was stopped and resumed."""
