"""slow-baseline: the baseline of a cell runs far below its own rate in the cells on either side.

Evidence. The baseline's rate: work that its inspection counted in the primary phase (flops, or bytes where
          there are none) over its typical time. Along one axis of numbers, all else equal, it is below half
          of the lower of the rates at the next smaller and the next larger value; and a variant of the cell
          beats it by more than the margin. Rates that rise or fall along an axis, as they do where overhead
          fades or a cache ends, have no such dip. Cells at either end have one neighbour and are not judged,
          nor is work that was done behind torch's back.
Why.      The library chose badly for this one shape. Whatever wins against it wins against an accident.
"""

from __future__ import annotations

from dataclasses import dataclass

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import percent
from stepmark.audit.rates import typical_seconds
from stepmark.records.case import AxisValue, Cell
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import spanned_by_primary

DIP = 0.5


@dataclass(frozen=True)
class _Dip:
    axis: str
    values: tuple[AxisValue, AxisValue]
    share: float
    """Of the lower neighbour's rate."""


def slow_baseline(case: CaseLanes) -> Finding | None:
    """For the baseline's case, with the deepest dip and the variants that profit."""
    winners = _winners(case) if case.is_baseline else []
    dips = [dip for axis in _number_axes(case.case.cell) if (dip := _dip(case, axis))] if winners else []
    if not dips:
        return None
    dip = min(dips, key=lambda dip: dip.share)
    below, above = dip.values
    return Finding(
        name=FindingName.SLOW_BASELINE,
        severity=Severity.WARNING,
        case=case.id,
        message=(
            f"the baseline does its work here at {percent(dip.share)} of the slower of its rates at "
            f"{dip.axis} {below} and {above}; {', '.join(winners)} wins against that"
        ),
        remedy="compare with another implementation at this point, or with the points on either side",
        numbers=(("share", dip.share),),
    )


def _winners(case: CaseLanes) -> list[str]:
    """Variants of the cell that are faster by more than the margin."""
    own = typical_seconds(case)
    if own is None:
        return []
    limit = own * (1.0 - case.run.policy.margin)
    times = {other.case.variant: typical_seconds(other) for other in case.company if other.id != case.id}
    return [variant for variant, seconds in times.items() if seconds is not None and seconds < limit]


def _number_axes(cell: Cell) -> list[str]:
    return [
        name for name, value in cell.axes if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _dip(case: CaseLanes, axis: str) -> _Dip | None:
    """Along one axis, if there is one."""
    along = sorted(_along(case, axis), key=lambda pair: pair[0])
    for (below, smaller), (_, here), (above, larger) in zip(along, along[1:], along[2:], strict=False):
        if here.id != case.id:
            continue
        rates = _rates([smaller, here, larger])
        if rates is not None and (share := rates[1] / min(rates[0], rates[2])) < DIP:
            return _Dip(axis=axis, values=(below, above), share=share)
    return None


def _along(case: CaseLanes, axis: str) -> list[tuple[float, CaseLanes]]:
    """The same variant at every value of the axis, all else equal."""
    found, rest = [], _elsewhere(case.case.cell, axis)
    for other in case.siblings.values():
        if other.case.variant != case.case.variant or _elsewhere(other.case.cell, axis) != rest:
            continue
        value = dict(other.case.cell.axes).get(axis)
        if isinstance(value, int | float):
            found.append((value, other))
    return found


def _elsewhere(cell: Cell, axis: str) -> tuple[object, ...]:
    others = tuple(pair for pair in cell.axes if pair[0] != axis)
    return (cell.suite, cell.device, cell.dtype, cell.mode, cell.regime, others)


def _rates(cases: list[CaseLanes]) -> list[float] | None:
    """Work a second of each, in one unit; None where it is not known of all."""
    works = [_work(case) for case in cases]
    times = [typical_seconds(case) for case in cases]
    for unit in (0, 1):
        amounts = [work[unit] for work in works if work is not None]
        if len(amounts) == len(cases) and all(amounts) and all(times):
            return [amount / seconds for amount, seconds in zip(amounts, times, strict=True) if seconds]
    return None


def _work(case: CaseLanes) -> tuple[float, float] | None:
    """Flops and bytes of the primary phase; None where they are not known."""
    if case.evidence is None or case.evidence.inspection is None:
        return None
    phases = spanned_by_primary(case.evidence.inspection, case.evidence.layout)
    if not phases or any(phase.unseen for phase in phases):
        return None
    return sum(phase.flops for phase in phases), sum(phase.traffic for phase in phases)
