"""A program: a case bound to an instrument, ready to be sampled: phases as plain calls."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from stepmark.records.evidence import Evidence
from stepmark.records.inspection import Inspection, NumberCheck
from stepmark.records.sample import Layout

Call = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Program:
    """What one iteration of a lane does."""

    layout: Layout
    calls: tuple[Call, ...]
    """One per phase of the layout, the whole excepted: calling them in order is the iteration."""
    prepare: Call | None = None
    """Runs before each iteration, outside the clock: clears gradients, drops the last graph.
    None lets iterations follow each other directly."""
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered around a block, outside the clock: gradients off, for instance."""
    inspect: Callable[[], Evidence] | None = None
    """What the solo pass reads off after its plain steps."""
    examine: Callable[[], Inspection] | None = None
    """Two iterations under instruments, after the plain steps: nothing is timed in its process afterwards."""
    verify: Callable[[], tuple[NumberCheck, ...]] | None = None
    """The numbers against the reference; None where the case declares none."""

    def __post_init__(self) -> None:
        inner = [phase for phase in self.layout.phases if phase != self.layout.whole]
        if len(inner) != len(self.calls):
            raise ValueError(f"{len(self.calls)} calls for phases {inner}")
        if (self.layout.whole is None) != (self.prepare is None):
            raise ValueError("a program with a whole has a prepare, one without has none")

    def iterate(self) -> None:
        """One iteration without any clock."""
        with self.context():
            if self.prepare is not None:
                self.prepare()
            for call in self.calls:
                call()
