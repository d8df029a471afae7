"""Operators of a case as lines of its evidence: of each phase the largest, with shares of time and work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from stepmark.records.inspection import OTHERS, Inspection, OperatorUse, PhaseInspection
from stepmark.report.html.page_view import OperatorLine, PhaseOperators

MOST_SHOWN = 10
"""Of a phase. In the quick steps of the transformer suite what comes behind them took 3 to 6 % of a phase's
time; the records have more of them."""


def phase_operators(inspection: Inspection | None) -> Iterator[PhaseOperators]:
    """Every inspected phase that called any."""
    for phase in inspection.phases if inspection else ():
        if phase.operators:
            seconds = _sum_known([one.seconds for one in phase.operators])
            yield PhaseOperators(
                phase=phase.phase,
                calls=sum(one.calls for one in phase.operators),
                seconds=seconds,
                lines=tuple(_line(one, phase, seconds) for one in _shortened(phase.operators)),
            )


def _shortened(uses: Sequence[OperatorUse]) -> Sequence[OperatorUse]:
    if len(uses) <= MOST_SHOWN + 1:
        return uses
    rest = uses[MOST_SHOWN:]
    others = OperatorUse(
        name=OTHERS,
        calls=sum(one.calls for one in rest),
        flops=sum(one.flops for one in rest),
        traffic=sum(one.traffic for one in rest),
        seconds=_sum_known([one.seconds for one in rest]),
    )
    return (*uses[:MOST_SHOWN], others)


def _line(use: OperatorUse, phase: PhaseInspection, seconds: float | None) -> OperatorLine:
    line = OperatorLine(
        name=use.name.removesuffix(".default"),
        others=use.name == OTHERS,
        calls=use.calls,
        time_share=_share(use.seconds, seconds),
        work_share=_share(use.flops, phase.flops),
        traffic_share=_share(use.traffic, phase.traffic),
    )
    return replace(line, counted=False, work_share=None) if use.name in phase.uncounted else line


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _sum_known(seconds: Sequence[float | None]) -> float | None:
    known = [one for one in seconds if one is not None]
    return sum(known) if known else None
