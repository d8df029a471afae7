"""Findings: named doubts about a measurement, from a closed list, with numbers and a remedy."""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum

from stepmark.errors import UsageError
from stepmark.records.record import Record


class Severity(StrEnum):
    NOTE = "note"
    """Worth knowing; the verdict stands."""
    WARNING = "warning"
    """The numbers may mislead."""
    ERROR = "error"
    """The verdict is invalid."""


class FindingName(StrEnum):
    """The closed list; `stepmark explain NAME` and docs/audit.md explain each."""

    # What was timed is not what was meant.
    NOT_SYNCHRONISED = "not-synchronised"
    PHASE_BLEED = "phase-bleed"
    BACKWARD_DOES_NOTHING = "backward-does-nothing"
    PARAMETER_WITHOUT_GRADIENT = "parameter-without-gradient"
    OPTIMIZER_DOES_NOTHING = "optimizer-does-nothing"
    GRADIENT_NOT_APPLIED = "gradient-not-applied"
    GRADIENTS_ACCUMULATE = "gradients-accumulate"
    GRAPH_RETAINED = "graph-retained"
    INPUTS_MADE_INSIDE = "inputs-made-inside"
    WRONG_NUMBERS = "wrong-numbers"
    NOT_THE_DECLARED_WORK = "not-the-declared-work"
    SAME_WORK_AS_BASELINE = "same-work-as-baseline"
    MORE_WORK_THAN_NEEDED = "more-work-than-needed"
    DEAD_WORK = "dead-work"
    FASTER_THAN_PHYSICS = "faster-than-physics"
    SLOW_BASELINE = "slow-baseline"
    DEGENERATE_DATA = "degenerate-data"
    NOT_DETERMINISTIC = "not-deterministic"
    MUTATES_INPUTS = "mutates-inputs"
    UNEVEN_ITERATIONS = "uneven-iterations"
    HOST_BOUND = "host-bound"
    SYNCHRONISES_INSIDE = "synchronises-inside"

    # The compiler, warm-up and memory.
    COMPILED_INSIDE = "compiled-inside"
    COMPILED_UNANNOUNCED = "compiled-unannounced"
    EAGER_FALLBACK = "eager-fallback"
    WARM_UP_UNFINISHED = "warm-up-unfinished"
    NEVER_SETTLED = "never-settled"
    LEFTOVER_MEMORY = "leftover-memory"
    MEMORY_GROWS = "memory-grows"

    # The arms are not compared under the same settings.
    PRECISION_DIFFERS = "precision-differs"
    THREADS_DIFFER = "threads-differ"
    GRAD_MODE_DIFFERS = "grad-mode-differs"
    PROFILER_ATTACHED = "profiler-attached"
    ANOMALY_MODE = "anomaly-mode"
    DEBUG_BUILD = "debug-build"
    CHANGES_ITS_NEIGHBOURS = "changes-its-neighbours"
    LANE_FAILED_IN_COMPANY = "lane-failed-in-company"

    # The machine and the clock.
    THROTTLED = "throttled"
    CLOCK_DRIFT = "clock-drift"
    NOISY_NEIGHBOUR = "noisy-neighbour"
    QUANTISED_CLOCK = "quantised-clock"
    CLOCK_DOMINATES = "clock-dominates"
    FEW_LAUNCHES = "few-launches"
    NOT_AUDITED = "not-audited"


def finding_named(name: str) -> FindingName:
    """The finding that a user names."""
    try:
        return FindingName(name)
    except ValueError:
        known = [each.value for each in FindingName]
        near = [each for each in known if name and name in each] or get_close_matches(name, known, n=1)
        raise UsageError(
            f"there is no finding '{name}'",
            remedy=f"did you mean {near[0]}?" if near else "`stepmark explain` lists them",
        ) from None


class Finding(Record, frozen=True, kw_only=True):
    """One rule's conclusion about one case."""

    name: FindingName
    severity: Severity
    case: str
    """Case id."""
    message: str
    """What was seen, with its numbers."""
    remedy: str
    meaning: str = ""
    """One sentence, the same for every finding of the name."""
    numbers: tuple[tuple[str, float], ...] = ()
    """What the message rests on, by name."""
    accepted: bool = False
    """The user said that this finding is expected: it stands beside the number and forbids nothing."""
