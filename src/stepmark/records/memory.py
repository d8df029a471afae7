"""Memory of a case: what its iteration takes above the start, what it keeps, and what the device has."""

from __future__ import annotations

from stepmark.records.record import Record


class DeviceMemory(Record, frozen=True, kw_only=True):
    """An accelerator's memory as the solo pass left it, in bytes."""

    available: int
    """To the process: what the device had free, and what the process held of it."""
    held: int
    """Allocated after the plain steps: what the case keeps while it is another's turn."""
    peak: int
    """Allocated at most since the process began: building, first step and plain steps."""
    peak_reserved: int
    """Taken from the device at most, unused rests of blocks included."""
    graph_pools: int = 0
    """Reserved by the private pools of captured graphs."""


class PhaseMemory(Record, frozen=True, kw_only=True):
    """One phase of the instrumented iteration, in bytes."""

    phase: str
    peak: int
    """Above the level at the iteration's start."""
    reserved: int
    """Taken from the device above that level; 0 on a CPU."""
    saved: int
    """Kept for the backward pass."""


class MemoryUse(Record, frozen=True, kw_only=True):
    """What a report says of a case's memory, in bytes."""

    own: int
    """Parameters, buffers, inputs and optimizer state."""
    optimizer_state: int
    phases: tuple[PhaseMemory, ...]
    device: DeviceMemory | None = None
    """None on a CPU."""
    parameter_bytes: int = 0
    """Of the parameters alone, which `own` contains."""

    @property
    def above_start(self) -> int:
        """The highest peak of any phase."""
        return max((phase.peak for phase in self.phases), default=0)

    @property
    def peak(self) -> int:
        """The step's own tensors and what an iteration adds at most."""
        return self.own + self.above_start

    @property
    def saved(self) -> int:
        """For the backward pass, by all phases."""
        return sum(phase.saved for phase in self.phases)
