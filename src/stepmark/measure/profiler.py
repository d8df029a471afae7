"""A profiler: the three verbs by which measuring reaches one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from stepmark.measure.program import Call, Program
from stepmark.records.profile import Trace
from stepmark.records.sample import Layout


class Profiler(Protocol):
    """Watches a program from inside its process, at a price."""

    def annotate(self, program: Program, *, wait: bool) -> Program:
        """The same program with a named range around every phase. With `wait` a range ends when the device
        has done the phase's work, without it when the call returns."""

    def recording(self) -> AbstractContextManager[object]:
        """Profile what is done inside."""

    def trace(self, layout: Layout, *, file: str | None) -> Trace:
        """What the last recording saw of the layout's phases; written to the file too, if there is one."""


def called_phases(layout: Layout) -> tuple[str, ...]:
    """In the order of a program's calls: without the whole that spans them."""
    return tuple(phase for phase in layout.phases if phase != layout.whole)


def around_phases(program: Program, wrap: Callable[[str, Call], Call]) -> Program:
    """The same program with every call wrapped, given its phase's name."""
    named = zip(called_phases(program.layout), program.calls, strict=True)
    return replace(program, calls=tuple(_wrapped(call, wrap(name, call)) for name, call in named))


def _wrapped(call: Call, wrapped: Call) -> Call:
    return _Times(call, wrapped) if hasattr(call, "times") else wrapped


class _Times:
    """A wrapped call that is still known to do several times what it does."""

    def __init__(self, call: Call, wrapped: Call) -> None:
        self._call, self._wrapped = call, wrapped

    def __call__(self) -> object:
        return self._wrapped()

    @property
    def times(self) -> int:
        times: int = self._call.times  # type: ignore[attr-defined]
        return times
