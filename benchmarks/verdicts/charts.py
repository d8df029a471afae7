"""The two figures of the page: estimates of identical code, and detection of injected slowdowns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.verdicts.conditions import EFFECTS, PEER_EFFECTS, WORKLOADS
from benchmarks.verdicts.drawing import COLOURS, Drawing
from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.rates import Rate, rate
from benchmarks.verdicts.results import SEPARATE, Load
from benchmarks.verdicts.rules import RULES, Answer, Rule
from benchmarks.verdicts.section import NAMES
from benchmarks.verdicts.tables.detection import found_slower
from benchmarks.verdicts.tables.smallest import our_logs, peer_logs
from stepmark.records.settings import Policy

WIDTH = 860.0
LABELS = 204.0
MARGIN = Policy().margin
_ROW = 18.0
_TICKS = (-0.3, -0.1, -0.03, -0.01, 0.0, 0.01, 0.03, 0.1, 0.3)
"""Of the ratio less one; they are written in per cent."""


@dataclass(frozen=True)
class Panel:
    """A rectangle with its two scales."""

    left: float
    top: float
    width: float
    height: float
    across: Callable[[float], float]
    """From a value to 0..1."""
    upwards: Callable[[float], float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        return (
            self.left + self.width * self.across(x),
            self.top + self.height * (1.0 - self.upwards(y)),
        )


def estimates(evidence: Evidence) -> str:
    """Every estimate of identical code as a dot, one row a tool, one panel a workload."""
    rows = list(_estimate_rows(evidence, WORKLOADS[0]))
    height = _ROW * len(rows)
    drawing = Drawing(WIDTH, 2 * (height + 62.0) + 26.0, "Estimates of identical code by every tool")
    drawing.text(
        (LABELS, 14), "identical code: change of time in %, one dot a comparison; 1 thread, quiet; band: ±1 %"
    )
    for number, workload in enumerate(WORKLOADS):
        panel = Panel(
            left=LABELS + (number % 2) * 332.0,
            top=50.0 + (number // 2) * (height + 62.0),
            width=310.0,
            height=height,
            across=_squeezed,
            upwards=lambda row: 1.0 - (row + 0.5) / len(rows),
        )
        _estimate_panel(drawing, panel, evidence, workload, labelled=number % 2 == 0)
    return drawing.svg()


def _squeezed(log_ratio: float) -> float:
    """Linear around 0, logarithmic beyond about 0.5 %; 40 % and more sit at the edge."""
    scale = math.asinh(0.4 / 0.005)
    clipped = max(-0.4, min(0.4, log_ratio))
    return 0.5 + 0.5 * math.asinh(clipped / 0.005) / scale


def _estimate_rows(evidence: Evidence, workload: str) -> dict[str, list[float]]:
    rows = {
        "stepmark": our_logs(evidence, workload),
        "stepmark, separate": our_logs(evidence, workload, tool=SEPARATE),
    }
    for rule in RULES:
        rows[f"{rule.tool}, {rule.statistic}"] = peer_logs(evidence, rule.tool, workload, rule.statistic)
    return rows


def _estimate_panel(
    drawing: Drawing, panel: Panel, evidence: Evidence, workload: str, *, labelled: bool
) -> None:
    drawing.text((panel.left, panel.top - 8), NAMES[workload], kind="title")
    left, right = (panel.at(math.log1p(edge), 0)[0] for edge in (-MARGIN, MARGIN))
    drawing.box((left, panel.top), (right - left, panel.height), "band")
    for tick in _TICKS:
        x = panel.at(math.log1p(tick), 0)[0]
        drawing.line((x, panel.top), (x, panel.top + panel.height), "grid")
        words = f"{100 * tick:+g}" if tick else "0"
        drawing.text((x, panel.top + panel.height + 14), words, anchor="middle", kind="quiet")
    jitter = Random(0)
    for number, (name, logs) in enumerate(_estimate_rows(evidence, workload).items()):
        if labelled:
            drawing.text((panel.left - 10, panel.at(0, number)[1] + 4), name, anchor="end")
        colour = COLOURS[0] if name.startswith("stepmark") else COLOURS[1]
        for log in logs:
            x, y = panel.at(log, number)
            drawing.dot((x, y + jitter.uniform(-5, 5)), 2.2, colour, opacity=0.55)


def detection(evidence: Evidence) -> str:
    """How often each tool says slower, by the size of the slowdown, one panel a workload."""
    drawing = Drawing(WIDTH, 560.0, "Detection of injected slowdowns by every tool")
    drawing.text(
        (46, 14), "comparisons called slower, by injected slowdown in %; 1 thread, quiet; 0: identical code"
    )
    for number, workload in enumerate(WORKLOADS):
        panel = Panel(
            left=46.0 + (number % 2) * 425.0,
            top=50.0 + (number // 2) * 225.0,
            width=370.0,
            height=160.0,
            across=lambda effect: math.sqrt(effect / EFFECTS[-1]),
            upwards=lambda share: share,
        )
        _detection_panel(drawing, panel, evidence, workload)
    _legend(drawing, ["stepmark", *(f"{rule.tool}, {rule.name.replace('`', '')}" for rule in RULES)])
    return drawing.svg()


def _detection_panel(drawing: Drawing, panel: Panel, evidence: Evidence, workload: str) -> None:
    drawing.text((panel.left, panel.top - 8), NAMES[workload], kind="title")
    for share in (0.0, 0.5, 1.0):
        y = panel.at(0, share)[1]
        drawing.line((panel.left, y), (panel.left + panel.width, y), "grid")
        drawing.text((panel.left - 6, y + 4), f"{100 * share:.0f} %", anchor="end", kind="quiet")
    for effect in (0.0, *EFFECTS):
        x, y = panel.at(effect, 0)
        drawing.line((x, y), (x, y + 4), "axis")
        drawing.text((x, y + 17), f"{100 * effect:g}", anchor="middle", kind="quiet")
    for colour, rule in zip(COLOURS[1:], RULES, strict=True):
        theirs = {effect: _called_slower(evidence, rule, workload, effect) for effect in (0.0, *PEER_EFFECTS)}
        _curve(drawing, panel, theirs, colour, ours=False)
    ours = {
        effect: found_slower(evidence.ours(workload=workload, threads=1, load=Load.QUIET, effect=effect))
        for effect in (0.0, *EFFECTS)
    }
    _curve(drawing, panel, ours, COLOURS[0], ours=True)


def _called_slower(evidence: Evidence, rule: Rule, workload: str, effect: float) -> Rate:
    pairs = evidence.peers(rule.tool, workload=workload, effect=effect)
    return rate([rule.decide(pair.old, pair.new) is Answer.SLOWER for pair in pairs])


def _curve(drawing: Drawing, panel: Panel, rates: dict[float, Rate], colour: str, *, ours: bool) -> None:
    known = {effect: found for effect, found in rates.items() if found.of}
    points = [panel.at(effect, found.value) for effect, found in known.items()]
    drawing.path(points, colour, width=2.5 if ours else 1.2, dash="" if ours else "4 3")
    for point, (effect, found) in zip(points, known.items(), strict=True):
        drawing.dot(point, 4.0 if ours else 3.0, colour)
        if ours:
            bar = [panel.at(effect, found.low), panel.at(effect, found.high)]
            drawing.path(bar, colour, width=1.2)


def _legend(drawing: Drawing, names: Sequence[str]) -> None:
    for number, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        x, y = 46.0 + (number % 3) * 275.0, 500.0 + (number // 3) * 20.0
        drawing.path([(x, y), (x + 22, y)], colour, width=2.5 if number == 0 else 1.2)
        drawing.dot((x + 11, y), 4.0 if number == 0 else 3.0, colour)
        drawing.text((x + 30, y + 4), name)
