"""How a case ended, and, where it failed, the whole story of the failure."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.record import Record


class Outcome(StrEnum):
    """A closed list: every case of a finished run ends as exactly one of these."""

    MEASURED = "measured"
    OUT_OF_MEMORY = "out-of-memory"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    WRONG_NUMBERS = "wrong-numbers"
    UNSUPPORTED = "unsupported"


class Cause(StrEnum):
    """What ended the case, a closed list."""

    EXCEPTION = "exception"
    """Python code raised."""
    EXIT = "exit"
    """The process left by itself: os._exit, sys.exit."""
    SIGNAL = "signal"
    """The process was killed: segmentation fault, abort."""
    HANG = "hang"
    """No progress within the time limit."""
    MEMORY = "memory"
    """An allocation failed: MemoryError, or torch's allocator."""
    OOM_KILLER = "oom-killer"
    """The kernel killed the process for memory."""
    DECLARED = "declared"
    """The variant said that it does not exist here."""
    PREDICTED = "predicted"
    """The variant said beforehand what it needs, and it is not there: nothing was tried."""
    MISTAKE = "mistake"
    """The bench file uses stepmark wrongly: the run stops, for its author to mend it."""


class Stage(StrEnum):
    """Where in a worker's life it happened."""

    IMPORT = "import"
    BUILD = "build"
    STEP = "step"
    """The first plain steps."""
    WARMUP = "warm-up"
    ROUNDS = "rounds"


class Failure(Record, frozen=True, kw_only=True):
    """Why a case has no more numbers."""

    outcome: Outcome
    cause: Cause
    stage: Stage
    message: str
    """One line."""
    traceback: str = ""
    """Python's traceback, or the fault handler's for crashes and hangs."""
    output: str = ""
    """The tail of what the worker printed."""
    launch: int | None = None
    """The launch it happened in; None in the solo pass."""
    round: int | None = None
