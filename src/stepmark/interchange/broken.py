"""A file that is not what its format says: which file, which line, and what was expected there."""

from __future__ import annotations

from stepmark.errors import UsageError

_SHOWN = 60


class BrokenFile(UsageError):
    """Nothing of the file was taken over."""

    def __init__(self, name: str, line: int, problem: str, *, remedy: str = "") -> None:
        super().__init__(
            f"{name}, line {line}: {problem}", remedy=remedy or "nothing was imported; mend the file first"
        )
        self.line = line
        """Counted from 1."""


def quoted(line: str) -> str:
    """A line of the file, short and fit for a terminal."""
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
    return repr(shown.encode("utf-8", "backslashreplace").decode())
