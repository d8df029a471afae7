"""A comparison: two stored runs, not interleaved, held against each other case by case."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from stepmark.errors import UsageError
from stepmark.records.case import Case
from stepmark.records.estimate import Estimate
from stepmark.records.record import Record
from stepmark.records.settings import Policy
from stepmark.records.verdict import Reason, VerdictKind


class Centre(StrEnum):
    """What stands for a launch."""

    MINIMUM = "minimum"
    """The expected minimum of as many rounds as the shortest launch has. Disturbances only ever add time."""
    MEDIAN = "median"


class Aspect(StrEnum):
    """What can differ between two runs: a closed list."""

    MACHINE = "machine"
    """Host name."""
    PROCESSOR = "processor"
    """Model and number of cores."""
    DEVICE = "device"
    """Where the case ran, and the names of the accelerators."""
    DTYPE = "dtype"
    MODE = "mode"
    EXECUTION = "execution"
    """Eager, captured in a graph, or compiled."""
    THREADS = "threads"
    FLAGS = "flags"
    """Precision and determinism flags of torch."""
    ISOLATION = "isolation"
    WORK = "work"
    """Phases, number of parameters, shapes of inputs and output."""
    COMPANY = "company"
    """The other variants of the cell: they share a process and its caches."""
    SETTINGS = "settings"
    """Of the protocol: length of blocks, launches and warm-up."""
    VARIABLES = "variables"
    """Environment variables that change what torch does."""
    SYSTEM = "system"
    """Operating system and frequency governor."""
    TORCH = "torch"
    PYTHON = "python"
    STEPMARK = "stepmark"
    CODE = "code"
    """Commit of the bench file's repository, or what the suite was made from."""


MUST_AGREE = frozenset(
    {
        Aspect.MACHINE,
        Aspect.PROCESSOR,
        Aspect.DEVICE,
        Aspect.DTYPE,
        Aspect.MODE,
        Aspect.EXECUTION,
        Aspect.THREADS,
        Aspect.FLAGS,
        Aspect.ISOLATION,
        Aspect.WORK,
    }
)
"""Where these differ the comparison is refused, unless allowed: it would not answer a question about code.
The others are named only: comparing two versions of something is what the comparison is for."""


def aspects_allowed(names: Iterable[str]) -> tuple[Aspect, ...]:
    """The differences a user allows by name; `all` stands for every one."""
    refused = [aspect for aspect in Aspect if aspect in MUST_AGREE]
    chosen = set()
    for name in names:
        if name != "all" and name not in refused:
            may = "may differ anyway" if name in [*Aspect] else "is nothing that could be allowed"
            raise UsageError(f"'{name}' {may}", remedy=f"allow some of: {', '.join(refused)}, or all")
        chosen |= set(refused) if name == "all" else {Aspect(name)}
    return tuple(aspect for aspect in refused if aspect in chosen)


def centre_named(name: str) -> Centre:
    """The centre a user names."""
    if name not in [*Centre]:
        raise UsageError(f"'{name}' is no centre of a launch", remedy=f"use: {', '.join(Centre)}")
    return Centre(name)


class Standing(StrEnum):
    """What a difference means for the comparison."""

    NAMED = "named"
    REFUSED = "refused"
    """It makes the verdict INVALID."""
    ALLOWED = "allowed"
    """It would, but the user allowed it."""


class Difference(Record, frozen=True, kw_only=True):
    """One fact that is not the same in both."""

    aspect: Aspect
    what: str
    baseline: str
    candidate: str
    standing: Standing


class RunSpread(Record, frozen=True, kw_only=True):
    """How far the level of unchanged code wanders from run to run, beyond what launches explain."""

    deviation: float
    """Standard deviation of the logarithm."""
    num_runs: int
    """Stored runs it was estimated from; 0 where it is assumed, because there were too few."""

    @property
    def known(self) -> bool:
        return self.num_runs > 0


class PhaseComparison(Record, frozen=True, kw_only=True):
    """One phase of one case in the two runs."""

    phase: str
    """Empty where the case was measured in neither run."""
    kind: VerdictKind
    ratio: Estimate | None = None
    """Time in the candidate over time in the baseline: below 1 is faster."""
    reasons: tuple[Reason, ...] = ()
    baseline_seconds: float | None = None
    """Level of one iteration: the geometric mean of the launches' centres."""
    candidate_seconds: float | None = None
    baseline_launches: int = 0
    candidate_launches: int = 0
    spread: RunSpread | None = None
    """None where no ratio was formed."""


class CaseComparison(Record, frozen=True, kw_only=True):
    """One case in the two runs."""

    case: Case
    """As the candidate names it."""
    baseline: Case
    """The same, but for device, dtype, mode or execution where only those differ."""
    phases: tuple[PhaseComparison, ...]
    """At least one; the primary first."""
    differences: tuple[Difference, ...] = ()
    """Of this case; those of the whole runs stand in the comparison."""

    @property
    def primary(self) -> PhaseComparison:
        return self.phases[0]


class ComparedRun(Record, frozen=True, kw_only=True):
    """One side of a comparison."""

    id: str
    name: str | None
    """The baseline's name, where the user gave one."""
    started: float
    commit: str | None
    dirty: bool


class Terms(Record, frozen=True, kw_only=True):
    """By which rules two runs are compared."""

    policy: Policy = Policy()
    centre: Centre = Centre.MINIMUM
    allow: tuple[Aspect, ...] = ()
    """Differences that would be refused otherwise."""


class Comparison(Record, frozen=True, kw_only=True):
    """Two runs, compared: computed from stored values, never stored itself."""

    baseline: ComparedRun
    candidate: ComparedRun
    terms: Terms
    differences: tuple[Difference, ...]
    """Between the runs as wholes."""
    cases: tuple[CaseComparison, ...]
    only_baseline: tuple[str, ...] = ()
    """Case ids."""
    only_candidate: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the runs as wholes must not be compared."""
        return any(difference.standing is Standing.REFUSED for difference in self.differences)
