"""A scripted instrument: time passes only when a script says so. Public, for tests without a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stepmark.measure.program import Call, Program
from stepmark.records.sample import Layout

Spent = int | tuple[int, int]
"""Nanoseconds, or those of the host and of the device."""
Duration = Spent | Callable[[], Spent]


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

    queues = False

    def begin(self) -> None:
        """Nothing is under way."""

    def mark(self) -> Any:
        self.time += self.reading
        return self.time

    def nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return marks

    def host_nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return marks

    def flags(self) -> Mapping[str, str]:
        return dict(self.settings)

    def restore(self, flags: Mapping[str, str]) -> None:
        self.settings = dict(flags)

    def step(self, phases: Mapping[str, Duration], *, prepare: Spent = 0) -> Program:
        """A training step whose phases take scripted nanoseconds."""
        return Program(
            layout=Layout(phases=("step", *phases), primary="step", whole="step"),
            calls=tuple(self._call(duration) for duration in phases.values()),
            prepare=self._call(prepare),
        )

    def operations(self, operations: Mapping[str, Duration]) -> Program:
        """Named operations that take scripted nanoseconds."""
        return Program(
            layout=Layout(phases=tuple(operations), primary=next(iter(operations))),
            calls=tuple(self._call(duration) for duration in operations.values()),
        )

    def _call(self, duration: Duration) -> Call:
        if callable(duration):
            return lambda: self._spend(duration())
        return lambda: self._spend(duration)

    def _spend(self, spent: Spent) -> None:
        self.advance(spent if isinstance(spent, int) else sum(spent))


class FakeDevice(FakeInstrument):
    """A scripted device with a queue: a call takes the host `(asking, working)` nanoseconds, the second of
    which the device does, in line, one `latency` after it was asked at the earliest. A plain number takes
    the host alone."""

    queues = True

    def __init__(self, *, reading: int = 0, latency: int = 0) -> None:
        super().__init__(reading=reading)
        self.latency = latency
        self.free = 0
        """When the device will have done all it was asked for."""
        self._origin = (0, 0)

    def begin(self) -> None:
        self.wait()
        self._origin = self.mark()

    def wait(self) -> None:
        """The host waits for the device."""
        self.time = max(self.time, self.free)

    def mark(self) -> Any:
        self.time += self.reading
        self.free = max(self.free, self.time + self.latency)
        return self.free, self.time

    def nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        self.wait()
        return [device - self._origin[0] for device, _ in marks]

    def host_nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        return [host - self._origin[1] for _, host in marks]

    def _spend(self, spent: Spent) -> None:
        asking, working = (spent, 0) if isinstance(spent, int) else spent
        self.advance(asking)
        if working:
            self.free = max(self.free, self.time + self.latency) + working
