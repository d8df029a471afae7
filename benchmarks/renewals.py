"""What building the lanes anew inside a launch buys: identical code, with and without renewals, in turn.

Every launch gives one log-ratio of two instances; the table shows its standard deviation over launches. The
figures in measure/launch.py and docs/method.md come from here: python -m benchmarks.renewals [--runs 4]
"""

from __future__ import annotations

import argparse

import numpy as np
from msgspec.structs import replace

from benchmarks.machine import machine_line
from benchmarks.verdicts.ours import Engines, lanes_of, read_launches, record, settings_for
from benchmarks.verdicts.workloads import WORKLOADS

NEVER = 1e9
"""Seconds of an instance that no launch lasts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4, help="each way")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--round-seconds", type=float, default=0.2, help="of each lane in every launch")
    told = parser.parse_args()
    print(machine_line())
    print("\n| workload | renewals a launch | SD over launches | without renewals |\n|---|---:|---:|---:|")
    with Engines() as engines:
        for workload in WORKLOADS:
            found: dict[bool, list[float]] = {True: [], False: []}
            renewals: list[int] = []
            for seed in range(told.runs):
                for renewed in (True, False):
                    plain = settings_for(1, seconds=told.seconds, seed=seed, stop=False)
                    settings = replace(plain, pilot=0, round_seconds=told.round_seconds)
                    if not renewed:
                        settings = replace(settings, instance_seconds=NEVER)
                    recording = record(lanes_of(workload, {"twin": 0}), settings, engines)
                    found[renewed] += read_launches(recording, "twin").centres
                    if renewed:
                        renewals += [len(launch.renewals) for launch in recording.launches]
            deviations = [100.0 * float(np.std(found[renewed], ddof=1)) for renewed in (True, False)]
            print(
                f"| {workload} | {np.mean(renewals):.1f} | {deviations[0]:.2f} % | {deviations[1]:.2f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
