"""A suite: named variants over axes, one of them the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, get_args, overload

from stepmark.authoring.given import listed, mapping, names, several, text
from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.workload import Workload
from stepmark.errors import UsageError
from stepmark.records.case import AxisValue, mode_named
from stepmark.records.finding import finding_named
from stepmark.records.outline import Axis, PresetOutline, SuiteOutline, VariantOutline

Build = Callable[[Any], Workload]
Foresee = Callable[[Any], Needs]

VARIANT, DTYPE = "variant", "dtype"
RESERVED = frozenset({"suite", "variant", "device", "dtype", "mode", "seed"})
"""Names a Point or a filter has of its own."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One competitor: how to build its workload at a point."""

    name: str
    build: Build
    baseline: bool
    needs: Foresee | None = None
    """What it will need at a point; None where nobody knows."""
    accepts: tuple[str, ...] = ()
    """Findings its author expects."""

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
        presets: Mapping[str, Mapping[str, Sequence[AxisValue]]] | None = None,
        where: str = "",
        about: str = "",
    ) -> None:
        """`presets` gives other values of some axes for `--preset NAME`, under `variant` some variants,
        under `dtype` others than `dtypes`; `where` is a filter like `tokens<=features`: points that do not
        pass do not exist."""
        _check_name(name, "suite")
        self.name = name
        self.axes = {axis: _axis_values(axis, values) for axis, values in mapping(axes or {}, "axes").items()}
        self.modes = tuple(mode_named(mode) for mode in listed(modes, "modes"))
        self.dtypes = names(dtypes, "dtypes")
        self.presets = {
            preset: self._preset_axes(preset, mapping(values, f"preset '{preset}'"))
            for preset, values in mapping(presets or {}, "presets").items()
        }
        self.where = text(where, "where", like="tokens <= features")
        self.about = text(about, "about", like="one line for the reports")
        self.variants: dict[str, Variant] = {}

    def _preset_axes(
        self, preset: str, values: Mapping[str, Sequence[AxisValue]]
    ) -> dict[str, tuple[AxisValue, ...]]:
        unknown = [axis for axis in values if axis not in {*self.axes, VARIANT, DTYPE}]
        if unknown:
            raise UsageError(
                f"preset '{preset}' of suite '{self.name}' names unknown axes: {', '.join(unknown)}",
                remedy=f"the axes are: {', '.join(self.axes) or 'none'}",
            )
        return {
            axis: _axis_values(axis, each) if axis in self.axes else names(each, f"preset '{preset}'")
            for axis, each in values.items()
        }

    @overload
    def variant(self, build: Build) -> Build: ...
    @overload
    def variant(
        self,
        *,
        baseline: bool = ...,
        name: str | None = ...,
        needs: Foresee | None = ...,
        accepts: Sequence[str] = ...,
    ) -> Callable[[Build], Build]: ...

    def variant(
        self,
        build: Build | None = None,
        *,
        baseline: bool = False,
        name: str | None = None,
        needs: Foresee | None = None,
        accepts: Sequence[str] = (),
    ) -> Build | Callable[[Build], Build]:
        """Register a function that builds a workload at a point; usable with and without arguments.

        `needs` foretells memory and work at a point: what cannot fit, or would take forever, is not tried.
        `accepts` names findings that are meant to be there, like same-work-as-baseline of a twin.
        """

        def register(function: Build) -> Build:
            called = name or _own_name(function)
            if needs is not None and not callable(needs):
                raise UsageError(
                    f"the needs of variant '{called}' cannot be called",
                    remedy="write a function of the point: needs=lambda c: stepmark.Needs(memory=...)",
                )
            expected = tuple(finding_named(each).value for each in several(accepts, "accepts"))
            self._add(Variant(name=called, build=function, baseline=baseline, needs=needs, accepts=expected))
            return function

        return register(build) if build is not None else register

    def _add(self, variant: Variant) -> None:
        _check_name(variant.name, "variant")
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
                VariantOutline(
                    name=v.name, baseline=v.baseline or lone, about=_first_line(v.build), accepts=v.accepts
                )
                for v in self.variants.values()
            ),
            presets=tuple(
                PresetOutline(
                    name=preset,
                    axes=tuple(
                        Axis(name=axis, values=values) for axis, values in axes.items() if axis in self.axes
                    ),
                    variants=tuple(str(name) for name in axes.get(VARIANT, ())),
                    dtypes=tuple(str(name) for name in axes.get(DTYPE, ())),
                )
                for preset, axes in self.presets.items()
            ),
            where=self.where,
            modes=self.modes,
            dtypes=self.dtypes,
            source_index=source_index,
        )


def _check_name(name: str, kind: str) -> None:
    """Names stand in case ids, between slashes and brackets."""
    if not isinstance(name, str) or not name or any(mark in name for mark in "[]/\n"):
        raise UsageError(f"'{name}' cannot name a {kind}", remedy="use a name without brackets and slashes")


def _own_name(function: Build) -> str:
    own = getattr(function, "__name__", None)
    if own is None:
        raise UsageError(
            f"{function!r} has no name of its own", remedy="give it one: @suite.variant(name='...')"
        )
    return str(own)


def _axis_values(axis: str, given: Sequence[AxisValue]) -> tuple[AxisValue, ...]:
    """Cases are stored and sent to other processes, so the values of an axis are plain."""
    is_name = isinstance(axis, str) and axis.isidentifier() and not iskeyword(axis)
    if not is_name or axis.startswith("_") or axis in RESERVED:
        raise UsageError(f"'{axis}' cannot name an axis", remedy="rename it")
    values = several(given, f"axis '{axis}'")
    for value in values:
        if type(value) not in get_args(AxisValue) or (isinstance(value, float) and not math.isfinite(value)):
            raise UsageError(
                f"axis '{axis}' has a value {value!r} of type {type(value).__name__}",
                remedy="use finite numbers, texts, True and False, and make objects of them in the variant",
            )
        if isinstance(value, str) and any(mark in value for mark in "[],=\n"):
            raise UsageError(
                f"axis '{axis}' has a value {value!r}", remedy="leave out commas, brackets and equal signs"
            )
    return listed(values, f"axis '{axis}'")


def _first_line(build: Build) -> str:
    return (build.__doc__ or "").strip().partition("\n")[0]
