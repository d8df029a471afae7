"""What a sweep shows: cells of a suite along one numeric axis, in panels that differ in everything else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stepmark.records.case import numeric_axes
from stepmark.records.crossover import Crossover
from stepmark.records.verdict import VerdictKind
from stepmark.report import format as show
from stepmark.report.figures.lettering import one_line, shortened
from stepmark.report.figures.lines import ending
from stepmark.report.figures.pieces import Rows, rounded
from stepmark.report.figures.theme import VERDICT_LETTERS
from stepmark.report.view import CellView, PhaseView, RowView, SuiteView, merge_orders
from stepmark.stats.spacing import is_geometric

MOST_PANELS = 24
"""Beyond it the primary phase alone is drawn, for every combination of the other axes."""
SIGN_WIDTH = 80
UNSURE = (VerdictKind.INCONCLUSIVE, VerdictKind.INVALID)
Point = tuple[tuple[str, str], ...]


class Panel(NamedTuple):
    """One phase at one combination of everything but the axis."""

    place: int
    phase: str
    fixed: Point
    cells: Mapping[float, CellView]


class Sweep(NamedTuple):
    """One axis of one suite."""

    suite: SuiteView
    axis: str
    variants: tuple[str, ...]
    phases: tuple[str, ...]
    rows: Mapping[Point, Mapping[float, CellView]]
    """By everything but the axis, then by the axis's value."""
    varying: tuple[str, ...]
    """Names of what is not the same in all cells."""

    @property
    def panels(self) -> list[Panel]:
        """Phase by phase; the primary alone where there would be too many."""
        phases = self.phases if len(self.phases) * len(self.rows) <= MOST_PANELS else self.phases[:1]
        pairs = [(phase, fixed) for phase in phases for fixed in self.rows]
        return [Panel(place, phase, fixed, self.rows[fixed]) for place, (phase, fixed) in enumerate(pairs)]

    @property
    def values(self) -> tuple[float, ...]:
        """Of the axis, in ascending order."""
        return tuple(sorted({value for row in self.rows.values() for value in row}))


def sweeps_of(suite: SuiteView) -> list[Sweep]:
    """One for each axis of numbers."""
    return [_sweep(suite, axis) for axis in numeric_axes(cell.cell for cell in suite.cells)]


def _sweep(suite: SuiteView, axis: str) -> Sweep:
    rows: dict[Point, dict[float, CellView]] = {}
    for cell in suite.cells:
        value = dict(cell.cell.axes).get(axis)
        if isinstance(value, int | float):
            rows.setdefault(cell.cell.apart_from(axis), {})[float(value)] = cell
    named = [row for cell in suite.cells for row in cell.rows]
    primary = suite.primary or next((row.primary.name for row in named if row.primary), "step")
    others = merge_orders([phase.name for phase in row.phases] for row in named)
    return Sweep(
        suite=suite,
        axis=axis,
        variants=tuple(dict.fromkeys(row.variant for row in named)),
        phases=(primary, *(name for name in others if name not in (primary, "remainder"))),
        rows=rows,
        varying=suite.varying,
    )


def found(row: RowView, phase: str) -> PhaseView | None:
    """What is known of a phase of a case."""
    views = (row.primary, *row.phases)
    return next((view for view in views if view and view.name == phase), None)


def times(panels: Iterable[Panel]) -> list[float]:
    """Every time that is drawn, with the ends of its interval; what is not positive has no logarithm."""
    views = [
        found(row, panel.phase) for panel in panels for cell in panel.cells.values() for row in cell.rows
    ]
    ends = [end for view in views if view for end in (view.time.low, view.time.point, view.time.high)]
    return [end for end in ends if end > 0.0]


def time_rows(panels: Sequence[Panel], sweep: Sweep) -> Rows:
    """One row a case and phase; one without a time where the case failed."""
    rows: Rows = []
    for panel in panels:
        point = point_at(panel.fixed, sweep)
        for value, cell in panel.cells.items():
            for row in cell.rows:
                here = {
                    "panel": panel.place,
                    "cell": point,
                    "value": rounded(value),
                    "variant": one_line(row.variant),
                }
                view = found(row, panel.phase)
                if view and view.time.point > 0.0:
                    rows.append(here | _measured(view))
                elif row.failure or not row.outcome:
                    rows.append(here | {"failed": ending(row)})
    return rows


def _measured(view: PhaseView) -> dict[str, Any]:
    time, ratio = view.time, view.ratio
    return {
        "seconds": rounded(time.point),
        "low": rounded(max(time.low, time.point / 1e3)),
        "high": rounded(time.high),
        "time": f"{show.seconds(time)} {show.plus_minus(time)}",
        **({"letter": VERDICT_LETTERS[view.kind]} if view.kind in UNSURE else {}),
        **({"verdict": view.kind.value} if view.kind else {"verdict": "baseline"}),
        **({"ratio": f"{show.ratio(ratio)} {show.interval(ratio)}"} if ratio else {}),
    }


def crossing_rows(panels: Sequence[Panel], crossovers: Iterable[Crossover], sweep: Sweep) -> Rows:
    """One row a crossover: where it is marked, in which panel, and what is said of it."""
    places = {(panel.phase, panel.fixed): panel for panel in panels}
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for each in crossovers:
        panel = places.get((each.phase, each.fixed))
        if (each.suite, each.axis) != (sweep.suite.name, sweep.axis) or panel is None:
            continue
        sign = f"{shortened(each.after, SIGN_WIDTH)} {where(each)}"
        same = rows.get((panel.place, sign))
        if same:
            same["told"] += f"; {crossing_text(each)}"
            continue
        rows[panel.place, sign] = {
            **({"at": rounded(each.at)} if each.at is not None else {}),
            "low": rounded(each.low if each.at_low is None else each.at_low),
            "high": rounded(each.high if each.at_high is None else each.at_high),
            "label_at": rounded(_middle(each, sweep)),
            "panel": panel.place,
            "cell": point_at(panel.fixed, sweep),
            "nth": sum(place == panel.place for place, _ in rows),
            "sign": sign,
            "told": crossing_text(each),
        }
    return list(rows.values())


def point_at(fixed: Point, sweep: Sweep) -> str:
    """What sets a panel apart from the others of its phase: `tokens=64, bfloat16`."""
    axes, varying = {name for name, _ in sweep.suite.cells[0].cell.axes}, sweep.varying
    return one_line(
        ", ".join(f"{name}={value}" if name in axes else value for name, value in fixed if name in varying)
    )


def _middle(each: Crossover, sweep: Sweep) -> float:
    """Of its mark."""
    if each.at is not None:
        return each.at
    return math.sqrt(each.low * each.high) if is_geometric(sweep.values) else (each.low + each.high) / 2.0


def where(each: Crossover) -> str:
    """`≈180` or `128 to 512`."""
    if each.at is None:
        return f"{_number(each.low)} to {_number(each.high)}"
    return f"≈{_number(float(f'{each.at:.2g}'))}"


def crossing_text(each: Crossover) -> str:
    """`low_rank overtakes dense at features ≈180, between the measured 128 and 256`."""
    between = f"between the measured {_number(each.low)} and {_number(each.high)}"
    who = f"{one_line(each.after)} overtakes {one_line(each.before)} in {one_line(each.phase)}"
    axis = one_line(each.axis)
    return (
        f"{who} at {axis} {where(each)}, {between}" if each.at is not None else f"{who} at {axis} {between}"
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.6g}"
