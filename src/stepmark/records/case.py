"""A case: which variant at which point of the axes, on which device, in which dtype, mode and regime."""

from __future__ import annotations

from collections.abc import Iterable
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


class Execution(StrEnum):
    """How the calls of an iteration reach the device."""

    EAGER = "eager"
    """As the variant wrote them, one after the other."""
    GRAPH = "graph"
    """Captured once into a CUDA graph, then replayed: the whole step, or each operation."""
    COMPILED = "compiled"
    """By torch.compile: the step's module, or each operation."""


class Cache(StrEnum):
    """What the device's last-level cache holds when an iteration begins."""

    WARM = "warm"
    """What the iteration before left there."""
    COLD = "cold"
    """Nothing of the step's: it is flushed before every iteration of a step and every call of an operation,
    outside the clock."""


def mode_named(name: str) -> Mode:
    """The mode a user names."""
    try:
        return Mode(name)
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        raise UsageError(f"there is no mode '{name}'", remedy=f"the modes are: {known}") from None


def modes_and_executions(names: Iterable[str]) -> tuple[tuple[Mode, ...], tuple[Execution, ...]]:
    """`train,graph` as modes and executions: every mode named runs in every execution named. Without a mode
    the suite's own are meant, without an execution `eager`."""
    names = tuple(dict.fromkeys(names))
    executions = tuple(Execution(name) for name in names if name in [*Execution])
    unknown = [name for name in names if name not in [*Mode, *Execution]]
    if unknown:
        known = ", ".join((*Mode, *Execution))
        raise UsageError(f"there is no mode '{unknown[0]}'", remedy=f"the modes are: {known}")
    return tuple(Mode(name) for name in names if name in [*Mode]), executions


def caches_named(name: str | None) -> tuple[Cache, ...]:
    """The cache regimes that a user names, `both` included; none where nothing is named."""
    if name is None:
        return ()
    if name == "both":
        return tuple(Cache)
    if name not in [*Cache]:
        raise UsageError(f"there is no cache regime '{name}'", remedy="use: warm, cold or both")
    return (Cache(name),)


class Cell(Record, frozen=True, kw_only=True):
    """One point of the axes; within a cell variants are compared."""

    suite: str
    axes: tuple[tuple[str, AxisValue], ...] = ()
    """Axis names with their values, in the suite's order."""
    device: str = "cpu"
    dtype: str = "float32"
    mode: Mode = Mode.TRAIN
    execution: Execution = Execution.EAGER
    cache: Cache = Cache.WARM

    @property
    def point(self) -> str:
        """The axis values as text: `features=512,tokens=64`."""
        return ",".join(f"{name}={value}" for name, value in self.axes)

    @property
    def regime(self) -> tuple[str, ...]:
        """Execution and cache where they are not the usual ones, `eager` and `warm`."""
        execution = () if self.execution is Execution.EAGER else (self.execution.value,)
        return execution if self.cache is Cache.WARM else (*execution, self.cache.value)

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        """Everything that can set it apart from other cells of its suite, by name."""
        return (
            *((name, str(value)) for name, value in self.axes),
            ("device", self.device),
            ("dtype", self.dtype),
            ("mode", self.mode.value),
            ("execution", self.execution.value),
            ("cache", self.cache.value),
        )

    def apart_from(self, axis: str) -> tuple[tuple[str, str], ...]:
        """The coordinates without an axis; device, dtype and the like stay, whatever axes are called."""
        return tuple(
            (name, value)
            for place, (name, value) in enumerate(self.coordinates)
            if place >= len(self.axes) or name != axis
        )

    @property
    def place(self) -> str:
        """Where and how: `cpu/float32/train`, `cuda/float16/ops/graph/cold`."""
        return "/".join((self.device, self.dtype, self.mode.value, *self.regime))

    @property
    def id(self) -> str:
        """Stable and readable: `mylayer[features=512,tokens=64]/cpu/float32/train`."""
        return f"{self.suite}[{self.point}]/{self.place}"


def numeric_axes(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Axes with numbers alone, two different ones at least; truth values are no numbers."""
    values: dict[str, set[object]] = {}
    for cell in cells:
        for name, value in cell.axes:
            values.setdefault(name, set()).add(value)
    return tuple(
        name
        for name, seen in values.items()
        if len(seen) > 1
        and all(isinstance(each, int | float) and not isinstance(each, bool) for each in seen)
    )


class Case(Record, frozen=True, kw_only=True):
    """A variant in a cell: pure data, hashable, fit to be stored and sent to another machine."""

    variant: str
    cell: Cell

    @property
    def id(self) -> str:
        """Stable and readable: `mylayer/dense[features=512,tokens=64]/cpu/float32/train`."""
        return f"{self.cell.suite}/{self.variant}[{self.cell.point}]/{self.cell.place}"
