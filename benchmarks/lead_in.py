"""What an unclocked iteration before each block costs: identical code, with and without it, in turn.

The figures on renewals and lead-ins in docs/method.md come from here:
python -m benchmarks.lead_in --workload lora
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.machine import machine_line
from benchmarks.verdicts.ours import BASE, Engines, read_launches, record, settings_for
from benchmarks.verdicts.workloads import WORKLOADS
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops
from stepmark.measure.lane import HostedLane
from stepmark.measure.protocol import Event
from stepmark.stats.student import t_interval

_BLOCK = HostedLane.block


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=[*WORKLOADS], default="lora")
    parser.add_argument("--runs", type=int, default=5, help="each way")
    parser.add_argument("--seconds", type=float, default=10.0)
    told = parser.parse_args()
    print(machine_line())
    widths: dict[bool, list[float]] = {True: [], False: []}
    with Engines() as engines:
        for seed in range(told.runs):
            for lead_in in (True, False):
                settings = settings_for(1, seconds=told.seconds, seed=seed, stop=False)
                launches = read_launches(
                    record(_twins(told.workload, lead_in=lead_in), settings, engines), "twin"
                )
                interval = t_interval(np.array(launches.centres), confidence=0.95)
                half = float(interval.high - interval.point)
                widths[lead_in].append(half)
                way = "with" if lead_in else "without"
                level = float(np.median(launches.levels))
                print(f"{way:7} lead-in: ±{half:.2%}, a call {level * 1e3:.2f} ms", flush=True)
    wider = np.mean(widths[True]) / np.mean(widths[False])
    print(f"with the lead-in the interval is {wider:.1f} times as wide")


def force(*, lead_in: bool) -> None:
    """In the process of the lanes: from now on every block has a lead-in, or none has."""
    forced = lead_in

    def block(lane: HostedLane, number: int, *, lead_in: bool = False) -> Sequence[Event]:  # noqa: ARG001
        return _BLOCK(lane, number, lead_in=forced)

    HostedLane.block = block  # type: ignore[method-assign, assignment]


def _twins(workload: str, *, lead_in: bool) -> Suite:
    """Two lanes of one workload; the lead-in is forced in the worker, where the lanes live."""
    suite = Suite(f"lead_in_{workload}", modes=["ops"])
    for name in (BASE, "twin"):

        def build(_point: Point) -> Ops:
            from benchmarks.lead_in import force
            from benchmarks.verdicts.workloads import WORKLOADS

            force(lead_in=lead_in)
            return Ops({"call": WORKLOADS[workload]()})

        build.__name__ = name
        suite.variant(baseline=name == BASE)(build)
    return suite


if __name__ == "__main__":
    main()
