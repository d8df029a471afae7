"""A scripted instrument: time passes only when a script says so. Public, for tests without a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stepmark.measure.program import Call, Program
from stepmark.records.sample import Layout


class FakeInstrument:
    """A clock that stands still until it is advanced, and flags that are a dictionary."""

    def __init__(self, *, reading: int = 0) -> None:
        self.time = 0
        """Nanoseconds."""
        self.reading = reading
        """What one reading of the clock costs."""
        self.settings: dict[str, str] = {"grad": "True"}

    def advance(self, nanoseconds: int) -> None:
        self.time += nanoseconds

    def now(self) -> float:
        """Seconds, for code that asks how long it has been."""
        return self.time * 1e-9

    def mark(self) -> int:
        self.time += self.reading
        return self.time

    def nanoseconds(self, marks: Sequence[int]) -> Sequence[int]:
        return marks

    def flags(self) -> Mapping[str, str]:
        return dict(self.settings)

    def restore(self, flags: Mapping[str, str]) -> None:
        self.settings = dict(flags)

    def step(self, phases: Mapping[str, int | Callable[[], int]], *, prepare: int = 0) -> Program:
        """A training step whose phases take scripted nanoseconds."""
        return Program(
            layout=Layout(phases=("step", *phases), primary="step", whole="step"),
            calls=tuple(self._call(duration) for duration in phases.values()),
            prepare=self._call(prepare),
        )

    def operations(self, operations: Mapping[str, int | Callable[[], int]]) -> Program:
        """Named operations that take scripted nanoseconds."""
        return Program(
            layout=Layout(phases=tuple(operations), primary=next(iter(operations))),
            calls=tuple(self._call(duration) for duration in operations.values()),
        )

    def _call(self, duration: int | Callable[[], int]) -> Call:
        if callable(duration):
            return lambda: self.advance(duration())
        return lambda: self.advance(duration)
