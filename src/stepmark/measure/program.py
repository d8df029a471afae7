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
    """One per phase of the layout, the whole excepted: calling them in order is the iteration. A call with an
    attribute `times` does what it does so many times (graph_capture.py): its time is divided by that."""
    prepare: Call | None = None
    """Runs before each iteration, outside the clock: clears gradients, drops the last graph.
    None lets iterations follow each other directly."""
    cycle: int = 1
    """Iterations after which all is as before: a graph of whole iterations holds so many."""
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered around a block, outside the clock: gradients off, for instance."""
    flush: Call | None = None
    """Empties the device's caches before each iteration of a whole and each call of an operation, outside the
    clock; None leaves them as they are."""
    flush_seconds: float = 0.0
    """What that takes."""
    inspect: Callable[[], Evidence] | None = None
    """What the solo pass reads off after its plain steps."""
    examine: Callable[[], Inspection] | None = None
    """Two iterations under instruments, after the plain steps: nothing is timed in its process afterwards."""
    not_finite: Callable[[], tuple[str, ...]] | None = None
    """Names of weights with NaN or infinite numbers in them now; None where no weight changes."""
    verify: Callable[[], tuple[NumberCheck, ...]] | None = None
    """The numbers against the reference; None where the case declares none."""

    def __post_init__(self) -> None:
        inner = [phase for phase in self.layout.phases if phase != self.layout.whole]
        if len(inner) != len(self.calls):
            raise ValueError(f"{len(self.calls)} calls for phases {inner}")
        if (self.layout.whole is None) != (self.prepare is None):
            raise ValueError("a program with a whole has a prepare, one without has none")

    @property
    def times(self) -> tuple[int, ...]:
        """Of each phase of the layout: how often one call does it, as far as is known before the first."""
        each = iter([getattr(call, "times", 1) for call in self.calls])
        return tuple(1 if phase == self.layout.whole else next(each) for phase in self.layout.phases)

    def iterate(self) -> None:
        """One iteration without any clock."""
        with self.context():
            self.iterate_inside()

    def iterate_inside(self) -> None:
        """The same for who has entered the context."""
        if self.prepare is not None:
            self.prepare()
        for call in self.calls:
            call()
