"""A suite: named variants over axes, one of them the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from stepmark.authoring.point import Point
from stepmark.authoring.workload import Workload
from stepmark.errors import UsageError
from stepmark.records.case import AxisValue, Mode
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline

Build = Callable[[Any], Workload]

RESERVED = frozenset({"device", "dtype", "mode", "seed"})
"""Names a Point has of its own."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One competitor: how to build its workload at a point."""

    name: str
    build: Build
    baseline: bool

    def at(self, point: Point) -> Workload:
        return self.build(point)


class Suite:
    """A named set of variants over axes.

    suite = Suite("mylayer", axes={"features": [512, 2048]})

    @suite.variant(baseline=True)
    def dense(c):
        return Step(nn.Linear(c.features, c.features), inputs=randn(64, c.features))
    """

    def __init__(
        self,
        name: str,
        *,
        axes: Mapping[str, Sequence[AxisValue]] | None = None,
        modes: Sequence[str] = ("train",),
        dtypes: Sequence[str] = ("float32",),
        about: str = "",
    ) -> None:
        if not name or any(mark in name for mark in "[]/\n"):
            raise UsageError(
                f"'{name}' cannot name a suite", remedy="use a name without brackets and slashes"
            )
        self.name = name
        self.axes = {axis: tuple(values) for axis, values in (axes or {}).items()}
        self.modes = tuple(_mode(mode) for mode in modes)
        self.dtypes = tuple(dtypes)
        self.about = about
        self.variants: dict[str, Variant] = {}
        for axis, values in self.axes.items():
            if axis in RESERVED or not axis.isidentifier():
                raise UsageError(f"'{axis}' cannot name an axis", remedy=f"rename it in suite '{name}'")
            if not values:
                raise UsageError(
                    f"axis '{axis}' of suite '{name}' has no values", remedy="give it at least one"
                )

    @overload
    def variant(self, build: Build) -> Build: ...
    @overload
    def variant(self, *, baseline: bool = ..., name: str | None = ...) -> Callable[[Build], Build]: ...

    def variant(
        self, build: Build | None = None, *, baseline: bool = False, name: str | None = None
    ) -> Build | Callable[[Build], Build]:
        """Register a function that builds a workload at a point; usable with and without arguments."""

        def register(function: Build) -> Build:
            self._add(Variant(name=name or function.__name__, build=function, baseline=baseline))
            return function

        return register(build) if build is not None else register

    def _add(self, variant: Variant) -> None:
        if variant.name in self.variants:
            raise UsageError(
                f"suite '{self.name}' has two variants named '{variant.name}'", remedy="rename one of them"
            )
        if variant.baseline and any(known.baseline for known in self.variants.values()):
            raise UsageError(
                f"suite '{self.name}' has two baselines", remedy="keep baseline=True on one variant"
            )
        self.variants[variant.name] = variant

    def outline(self, source_index: int = 0) -> SuiteOutline:
        """What it would measure, as data. A lone variant is its own baseline."""
        lone = len(self.variants) == 1
        return SuiteOutline(
            name=self.name,
            about=self.about,
            axes=tuple(Axis(name=name, values=values) for name, values in self.axes.items()),
            variants=tuple(
                VariantOutline(name=v.name, baseline=v.baseline or lone, about=_first_line(v.build))
                for v in self.variants.values()
            ),
            modes=self.modes,
            dtypes=self.dtypes,
            source_index=source_index,
        )


def _mode(name: str) -> Mode:
    try:
        return Mode(name)
    except ValueError:
        known = ", ".join(mode.value for mode in Mode)
        raise UsageError(f"there is no mode '{name}'", remedy=f"the modes are: {known}") from None


def _first_line(build: Build) -> str:
    return (build.__doc__ or "").strip().partition("\n")[0]
