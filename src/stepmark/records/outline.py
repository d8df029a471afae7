"""A suite's outline: what it would measure, as data, read off the bench file inside a worker."""

from __future__ import annotations

from stepmark.records.case import AxisValue, Mode
from stepmark.records.record import Record


class Axis(Record, frozen=True, kw_only=True):
    """A named list of values."""

    name: str
    values: tuple[AxisValue, ...]


class VariantOutline(Record, frozen=True, kw_only=True):
    """One competitor of a suite."""

    name: str
    baseline: bool = False
    about: str = ""
    """First line of the variant's docstring."""
    accepts: tuple[str, ...] = ()
    """Findings its author expects, by name."""


class PresetOutline(Record, frozen=True, kw_only=True):
    """The part of the axes that a preset measures."""

    name: str
    axes: tuple[Axis, ...]
    """Those that differ from the suite's own."""
    variants: tuple[str, ...] = ()
    """Only these; empty means all."""
    dtypes: tuple[str, ...] = ()
    """Instead of the suite's; empty means those."""


class SuiteOutline(Record, frozen=True, kw_only=True):
    """A suite as data."""

    name: str
    about: str = ""
    axes: tuple[Axis, ...] = ()
    variants: tuple[VariantOutline, ...] = ()
    presets: tuple[PresetOutline, ...] = ()
    where: str = ""
    """A filter: only points that pass exist."""
    modes: tuple[Mode, ...] = (Mode.TRAIN,)
    dtypes: tuple[str, ...] = ("float32",)
    source_index: int = 0
    """Which of the run's sources defines it."""

    @property
    def baseline(self) -> str:
        """The variant the others are compared with."""
        return next(variant.name for variant in self.variants if variant.baseline)
