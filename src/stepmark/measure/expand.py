"""From outlines to cases: every variant at every point of the axes, in every dtype, mode and regime."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace

from stepmark.authoring.given import several
from stepmark.errors import UsageError
from stepmark.measure.filter import Filter
from stepmark.records.case import AxisValue, Cache, Case, Cell, Execution, Mode
from stepmark.records.outline import Axis, PresetOutline, SuiteOutline, VariantOutline

STANDARD = "standard"
EVERYWHERE = frozenset({"quick", STANDARD, "full"})
"""Presets that also say how long to measure: a suite need not have them. Others are of some suite."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What the user asked for beyond what the suites say."""

    axes: Mapping[str, str | Sequence[AxisValue]] = field(default_factory=dict)
    """Axis name to values, as typed (`512,1024`) or as they are."""
    condition: str | None = None
    """A filter."""
    dtypes: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    executions: tuple[Execution, ...] = ()
    """None means eager."""
    caches: tuple[Cache, ...] = ()
    """None means warm, and for operations on CUDA both."""
    preset: str = STANDARD
    """Which of their presets the suites measure; those that do not have it measure their own axes."""


def select(outlines: Sequence[SuiteOutline], selection: Selection) -> tuple[SuiteOutline, ...]:
    """The outlines with the user's axes, dtypes and modes put in."""
    _refuse_unknown(outlines, selection.axes)
    _refuse_unknown_preset(outlines, selection.preset)
    return tuple(
        replace(
            outline,
            axes=tuple(
                _override(axis, selection.axes.get(axis.name)) for axis in _axes(outline, selection.preset)
            ),
            variants=_variants(outline, selection.preset),
            dtypes=selection.dtypes or _dtypes(outline, selection.preset),
            modes=selection.modes if selection.modes and outline.modes != (Mode.OPS,) else outline.modes,
        )
        for outline in outlines
    )


def cases_of(outlines: Sequence[SuiteOutline], selection: Selection, *, device: str) -> tuple[Case, ...]:
    """What a selection asks of outlines that `select` has put it into."""
    return expand(
        outlines,
        condition=selection.condition,
        device=device,
        executions=selection.executions,
        caches=selection.caches,
    )


def expand(
    outlines: Sequence[SuiteOutline],
    *,
    condition: str | None,
    device: str,
    executions: Sequence[Execution] = (),
    caches: Sequence[Cache] = (),
) -> tuple[Case, ...]:
    """All cases in order: suite, mode, execution, cache, dtype, point, variant."""
    _refuse_regimes(device, executions, caches)
    regimes = _Regimes(device, tuple(executions) or (Execution.EAGER,), tuple(caches))
    cases = [case for outline in outlines for case in _existing(outline, regimes)]
    if condition is None:
        return tuple(cases)
    axes = {axis.name for outline in outlines for axis in outline.axes}
    condition_holds = Filter(condition, axes).admits
    baselines = {outline.name: outline.baseline for outline in outlines}
    admitted = {case for case in cases if condition_holds(case)}
    # A cell keeps its baseline even where the filter names other variants: without it there is no verdict.
    cells = {case.cell for case in admitted}
    chosen = tuple(
        case
        for case in cases
        if case in admitted or (case.cell in cells and case.variant == baselines[case.cell.suite])
    )
    if not chosen:
        raise UsageError(
            f"filter '{condition}' leaves nothing to measure", remedy="stepmark list --cases shows all cases"
        )
    return chosen


def _preset(outline: SuiteOutline, name: str) -> PresetOutline | None:
    return next((each for each in outline.presets if each.name == name), None)


def _axes(outline: SuiteOutline, preset: str) -> tuple[Axis, ...]:
    """The suite's axes with the preset's values put in."""
    known = _preset(outline, preset)
    values = {axis.name: axis for axis in known.axes} if known else {}
    return tuple(values.get(axis.name, axis) for axis in outline.axes)


def _variants(outline: SuiteOutline, preset: str) -> tuple[VariantOutline, ...]:
    """Those that the preset names, and the baseline; all where it names none."""
    known = _preset(outline, preset)
    if known is None or not known.variants:
        return outline.variants
    return tuple(each for each in outline.variants if each.baseline or each.name in known.variants)


def _dtypes(outline: SuiteOutline, preset: str) -> tuple[str, ...]:
    """The preset's, or the suite's own."""
    known = _preset(outline, preset)
    return known.dtypes if known and known.dtypes else outline.dtypes


def _refuse_unknown_preset(outlines: Sequence[SuiteOutline], preset: str) -> None:
    known = {each.name for outline in outlines for each in outline.presets}
    if preset not in known | EVERYWHERE:
        names = ", ".join(outline.name for outline in outlines)
        raise UsageError(
            f"no preset '{preset}' in {names}", remedy=f"there are: {', '.join(sorted(known | EVERYWHERE))}"
        )


class _Regimes(NamedTuple):
    device: str
    executions: tuple[Execution, ...]
    chosen: tuple[Cache, ...]

    def caches(self, mode: Mode) -> tuple[Cache, ...]:
        """Operations on CUDA are measured in both regimes unless the user says otherwise: nobody knows
        which of them the operation will meet in a model."""
        if self.chosen:
            return self.chosen
        return tuple(Cache) if mode is Mode.OPS and _is_cuda(self.device) else (Cache.WARM,)


def _is_cuda(device: str) -> bool:
    return device.partition(":")[0] == "cuda"


def _refuse_regimes(device: str, executions: Sequence[Execution], caches: Sequence[Cache]) -> None:
    """What a device cannot do honestly is refused before anything is measured."""
    if _is_cuda(device):
        return
    if Execution.GRAPH in executions:
        raise UsageError(
            f"there are no CUDA graphs on {device}", remedy="use --device cuda, or --mode compiled"
        )
    if Cache.COLD in caches:
        raise UsageError(
            f"caches can be made cold on CUDA only: on {device} nothing shows that a flush reached all "
            "levels, and what it leaves to be written back falls into the clock",
            remedy="use --device cuda, or --cache warm",
        )


def _existing(outline: SuiteOutline, regimes: _Regimes) -> list[Case]:
    """The cases at points that the suite's own condition admits."""
    cases = _cases(outline, regimes)
    if not outline.where:
        return cases
    exists = Filter(outline.where, {axis.name for axis in outline.axes}).admits
    return [case for case in cases if exists(case)]


def _cases(outline: SuiteOutline, regimes: _Regimes) -> list[Case]:
    names = [axis.name for axis in outline.axes]
    return [
        Case(
            variant=variant.name,
            cell=Cell(
                suite=outline.name,
                axes=tuple(zip(names, values, strict=True)),
                device=regimes.device,
                dtype=dtype,
                mode=mode,
                execution=execution,
                cache=cache,
            ),
        )
        for mode in outline.modes
        for execution in regimes.executions
        for cache in regimes.caches(mode)
        for dtype in outline.dtypes
        for values in product(*(axis.values for axis in outline.axes))
        for variant in outline.variants
    ]


def _refuse_unknown(outlines: Sequence[SuiteOutline], axes: Iterable[str]) -> None:
    known = sorted({axis.name for outline in outlines for axis in outline.axes})
    for name in axes:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(
                f"there is no axis '{name}'",
                remedy=f"did you mean {near[0]}?" if near else f"the axes are: {', '.join(known) or 'none'}",
            )


def _override(axis: Axis, given: str | Sequence[AxisValue] | None) -> Axis:
    if given is None:
        return axis
    if isinstance(given, str):
        given = [_value(axis, text.strip()) for text in given.split(",") if text.strip()]
    values = several(given, f"axis '{axis.name}'")
    if not values:
        raise UsageError(f"axis '{axis.name}' was given no values", remedy=f"write --set {axis.name}=1,2")
    return replace(axis, values=tuple(dict.fromkeys(values)))


def _value(axis: Axis, text: str) -> AxisValue:
    """Text as a value of the axis's own types: the narrowest of them that can be read from it."""
    kinds = {type(value) for value in axis.values}
    for kind, read in _READERS.items():
        if kind in kinds:
            try:
                return read(text)
            except (KeyError, ValueError):
                continue
    like = ", ".join(str(value) for value in axis.values[:3])
    raise UsageError(f"'{text}' is not a value for axis '{axis.name}'", remedy=f"its values are like: {like}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_READERS: dict[type, Callable[[str], AxisValue]] = {
    bool: lambda text: {"true": True, "false": False}[text.lower()],
    int: int,
    float: _finite,
    str: str,
}
"""From the narrowest type to the widest."""
