"""Every error stepmark raises for a user's mistake, with the exit code of the command line.

StepmarkError                2   what is wrong, and what to do about it
├── UsageError               2   an option, axis, filter or name that does not fit
│   └── BenchFileError       2   the bench file itself failed; carries its own traceback
├── StoreError               2   the store cannot be opened, read or written
│   ├── RunExists            2   another run with the same id is there
│   └── Unjudgeable          2   a run from elsewhere that no verdict can be computed from
├── EngineError              2   workers cannot be started at all
└── Interrupted            130   Ctrl-C; what was measured is in the store
"""

from __future__ import annotations


class StepmarkError(Exception):
    """One line on what is wrong, one on what to do."""

    exit_code = 2

    def __init__(self, problem: str, *, remedy: str = "", detail: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.detail = detail
        """Longer text shown before the two lines, such as the bench file's own traceback."""


class UsageError(StepmarkError):
    """The user asked for something that does not fit."""


class BenchFileError(UsageError):
    """The bench file could not be imported or does not define what it must."""


class StoreError(StepmarkError):
    """The store cannot be opened, read or written."""


class RunExists(StoreError):
    """Another run with the same id is in the store."""


class Unjudgeable(StoreError):
    """A run from elsewhere is inconsistent: no verdict can be computed from it."""


class EngineError(StepmarkError):
    """Workers cannot be started on this machine."""


class Interrupted(StepmarkError):
    """The user stopped the run."""

    exit_code = 130


class TooLarge(Exception):
    """Raised before a variant is built that says it needs more memory than there is."""


class TooLong(Exception):
    """Raised before a variant is built whose step would take too long here."""


class Unsupported(Exception):
    """Raised by a variant that does not exist at this point of the axes; the case ends as unsupported."""


class Uncapturable(Exception):
    """Raised for a step that cannot be captured into a CUDA graph; the case ends as unsupported."""
