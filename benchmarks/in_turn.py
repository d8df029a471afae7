"""A step and its phases, timed in turn: who comes first in a block, and how much longer it takes for that.

The figure in docs/protocol.md comes from here: python -m benchmarks.in_turn, half a minute. One variant
without company, of 0.1 ms, and with two others; the whole always first, and in turn as it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import nn

import stepmark as sm
from benchmarks.machine import machine_line
from stepmark.measure import sampler
from stepmark.records.run import Recording
from stepmark.records.trial import counting
from stepmark.stats.blocks import seconds_per_iteration

_IN_TURN = sampler._stepped_in_turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=8)
    told = parser.parse_args()
    print(machine_line())
    for company in (1, 3):
        for always_first in (True, False):
            result = sm.run(
                _suite(company, always_first=always_first),
                launches=told.launches,
                stop=False,
                audit=False,
            )
            step, phases = _step_and_phases(result.recording)
            way = f"{company} variant(s), {'whole first' if always_first else 'in turn'}"
            times = f"step {step * 1e6:6.1f} us, its phases {phases * 1e6:6.1f} us"
            print(f"{way:26} {times}, remainder {(step - phases) / step:+.1%}", flush=True)


def _suite(company: int, *, always_first: bool) -> sm.Suite:
    suite = sm.Suite(f"in_turn_{company}_{always_first}")
    for number in range(company):

        def build(c: sm.Point) -> sm.Step:  # noqa: ARG001
            force(always_first=always_first)
            layers = nn.Linear(512, 16, bias=False), nn.SiLU(), nn.Linear(16, 512)
            return sm.Step(nn.Sequential(*layers), inputs=sm.randn(64, 512))

        suite.variant(name=f"variant_{number}", baseline=number == 0)(build)
    return suite


def force(*, always_first: bool) -> None:
    """In the process of the lanes."""

    def first(program: Any, prepare: Any, clock: Any, _: tuple[bool, bool], iterations: int) -> Any:
        return _IN_TURN(program, prepare, clock, (True, True), iterations)

    sampler._stepped_in_turn = first if always_first else _IN_TURN  # type: ignore[assignment]


def _step_and_phases(recording: Recording) -> tuple[float, float]:
    """Seconds of the first variant: the mean over launches of the medians of blocks."""
    found: list[Sequence[float]] = []
    for launch in counting(recording.launches):
        lane = next(lane for lane in launch.lanes if lane.variant == "variant_0")
        times = {
            sample.phase: float(np.median(seconds_per_iteration(sample.nanoseconds, sample.iterations)))
            for sample in lane.samples
        }
        step = times.pop("step")
        found.append((step, sum(times.values())))
    step, phases = np.mean(found, axis=0)
    return float(step), float(phases)


if __name__ == "__main__":
    main()
