"""A case: which variant at which point of the axes, on which device, in which dtype and mode."""

from __future__ import annotations

from enum import StrEnum

from stepmark.errors import UsageError
from stepmark.records.record import Record

AxisValue = bool | int | float | str


class Mode(StrEnum):
    """What one iteration does."""

    TRAIN = "train"
    """forward, loss, backward and optimizer, as far as the step has them."""
    FORWARD = "forward"
    """Inference: evaluation mode, no gradients, forward alone."""
    OPS = "ops"
    """Named operations, each on its own."""


def mode_named(name: str) -> Mode:
    """The mode a user names."""
    try:
        return Mode(name)
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        raise UsageError(f"there is no mode '{name}'", remedy=f"the modes are: {known}") from None


class Cell(Record, frozen=True, kw_only=True):
    """One point of the axes; within a cell variants are compared."""

    suite: str
    axes: tuple[tuple[str, AxisValue], ...] = ()
    """Axis names with their values, in the suite's order."""
    device: str = "cpu"
    dtype: str = "float32"
    mode: Mode = Mode.TRAIN

    @property
    def point(self) -> str:
        """The axis values as text: `features=512,tokens=64`."""
        return ",".join(f"{name}={value}" for name, value in self.axes)

    @property
    def id(self) -> str:
        """Stable and readable: `mylayer[features=512,tokens=64]/cpu/float32/train`."""
        return f"{self.suite}[{self.point}]/{self.device}/{self.dtype}/{self.mode}"


class Case(Record, frozen=True, kw_only=True):
    """A variant in a cell: pure data, hashable, fit to be stored and sent to another machine."""

    variant: str
    cell: Cell

    @property
    def id(self) -> str:
        """Stable and readable: `mylayer/dense[features=512,tokens=64]/cpu/float32/train`."""
        cell = self.cell
        return f"{cell.suite}/{self.variant}[{cell.point}]/{cell.device}/{cell.dtype}/{cell.mode}"
