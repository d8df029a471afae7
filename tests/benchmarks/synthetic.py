"""Raw lines of the study with known answers: drawn, not measured."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.verdicts.calibration import Checked, Price, Size
from benchmarks.verdicts.conditions import WORKLOADS, all_conditions, plan_round
from benchmarks.verdicts.evidence import Evidence
from benchmarks.verdicts.peers.visit import TOOLS
from benchmarks.verdicts.results import (
    OURS,
    Condition,
    Launches,
    Line,
    Load,
    Measured,
    Ours,
    Session,
    Side,
    Surroundings,
    Visit,
)
from stepmark.analysis.verdict import decide_bounds
from stepmark.records.environment import LoadFacts
from stepmark.stats.ratio import ratio_of_centres

MOST = 200
AROUND = Surroundings(
    session="20261115-000000",
    round=0,
    started=1.0e9,
    seconds=12.0,
    before=LoadFacts(time=1.0e9),
    after=LoadFacts(time=1.0e9 + 12.0),
    cores=(0, 1),
)
SESSION = Session(
    id="20261115-000000",
    started=1.0e9,
    cpu="A processor",
    cores=2,
    memory_bytes=2**34,
    os="linux",
    versions={"stepmark": "0.1.0", "torch": "2.13.0"},
    seconds=10.0,
    jobs=1,
    seed=0,
)


def condition(
    tool: str = OURS,
    *,
    workload: str = "linear",
    threads: int = 1,
    load: Load = Load.QUIET,
    effect: float = 0.0,
) -> Condition:
    return Condition(tool=tool, workload=workload, threads=threads, load=load, effect=effect)


def ours(at: Condition, centres: list[float]) -> Ours:
    """As if every launch had taken 0.3 s; identical sides ran to the end, slowed ones stopped here."""
    interval = ratio_of_centres(np.array(centres), confidence=0.95)
    point, low, high = (float(edge) for edge in interval)
    return Ours(
        condition=at,
        surroundings=AROUND,
        measured=Measured(
            turns=round(at.effect * 1000),
            stopping=at.effect > 0,
            most=MOST,
            margin=0.01,
            confidence=0.95,
            verdict=decide_bounds(low, high, margin=0.01),
            point=point,
            low=low,
            high=high,
            measuring=0.5 + 0.3 * len(centres),
            set_apart=False,
            launches=Launches(
                centres=tuple(centres),
                rounds=(40,) * len(centres),
                spreads=(0.02,) * len(centres),
                levels=tuple(0.001 * math.exp(centre) for centre in centres),
                seconds=(0.3,) * len(centres),
            ),
        ),
    )


def side(level: float, *, effect: float = 0.0, spread: float = 0.001) -> Side:
    """A hundred values evenly around a level."""
    values = tuple(level * (1.0 + spread * (place / 49.5 - 1.0)) for place in range(100))
    return Side(
        effect=effect,
        turns=round(effect * 1000),
        minimum=values[0],
        median=level,
        mean=level,
        num=100,
        measuring=5.0,
        values=values,
    )


def visit(at: Condition, levels: tuple[float, float, float]) -> Visit:
    """Base, base, slowed, at these levels."""
    first, second, third = levels
    sides = (side(first), side(second), side(third, effect=at.effect))
    return Visit(condition=at, surroundings=AROUND, sides=sides)


def prices() -> list[Price]:
    turn = Size(point=0.0001, low=0.000099, high=0.000101)
    checks = tuple(
        Checked(
            effect=effect,
            turns=round(effect / turn.point),
            measured=Size(point=effect, low=effect - 0.0005, high=effect + 0.0005),
        )
        for effect in (0.02, 0.05, 0.1)
    )
    return [
        Price(workload=workload, threads=threads, base_seconds=5e-5, turn=turn, checks=checks)
        for workload in WORKLOADS
        for threads in (1, 2)
    ]


def whole_study(rounds: int, *, seed: int = 0) -> Evidence:
    """Every condition; launches spread by 0.4 %, processes by 3 %, AdamW three times as much."""
    generator = np.random.default_rng(seed)
    lines: list[Line] = [SESSION]
    for number in range(rounds):
        for at in plan_round(all_conditions(), number, seed=seed):
            noise = 3.0 if at.workload == "adamw" else 1.0
            noise *= 2.0 if at.load is Load.BURSTS else 1.0
            true = math.log1p(at.effect)
            if at.tool in TOOLS:
                drawn = np.exp(generator.normal(0.0, 0.03 * noise, size=3)) * [1.0, 1.0, 1.0 + at.effect]
                lines.append(visit(at, (float(drawn[0]), float(drawn[1]), float(drawn[2]))))
            else:
                spread = 0.004 * noise * (6.0 if at.tool != OURS else 1.0)
                lines.append(ours(at, generator.normal(true, spread, size=28).tolist()))
    return Evidence(lines, prices())
