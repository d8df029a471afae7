"""Which centre of a launch varies least: two instances of one workload, and nine ways to say their ratio.

Every launch gives one centre by each way; the table shows its standard deviation over launches, in per cent.
The figure in docs/method.md comes from here: python -m benchmarks.centres [--seconds 20]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.machine import machine_line
from benchmarks.verdicts.ours import BASE, Engines, lanes_of, record, settings_for
from benchmarks.verdicts.workloads import WORKLOADS
from stepmark.analysis.times import read_times
from stepmark.analysis.trials import gather
from stepmark.stats.arrays import deviation

Array = npt.NDArray[np.float64]
Centre = Callable[[Array, Array], float]
"""From the log times of two lanes, round by round."""


def _hodges_lehmann(case: Array, base: Array) -> float:
    ratios = case - base
    return float(np.median((ratios[:, None] + ratios[None, :]) / 2.0))


def _in_fast_rounds(share: float) -> Centre:
    """The median ratio of the rounds in which both lanes together were fastest."""

    def centre(case: Array, base: Array) -> float:
        fastest = np.argsort(case + base)[: max(3, int(share * case.size))]
        return float(np.median((case - base)[fastest]))

    return centre


def _of_quantiles(level: float) -> Centre:
    return lambda case, base: float(np.quantile(case, level) - np.quantile(base, level))


CENTRES: dict[str, Centre] = {
    "median of paired ratios": lambda case, base: float(np.median(case - base)),
    "mean of paired ratios": lambda case, base: float(np.mean(case - base)),
    "Hodges-Lehmann of paired ratios": _hodges_lehmann,
    "median of the faster half of rounds": _in_fast_rounds(0.5),
    "median of the fastest 15 % of rounds": _in_fast_rounds(0.15),
    "ratio of medians": _of_quantiles(0.5),
    "ratio of first quartiles": _of_quantiles(0.25),
    "ratio of 5 % quantiles": _of_quantiles(0.05),
    "ratio of minima": _of_quantiles(0.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each workload")
    seconds = parser.parse_args().seconds
    with Engines() as engines:
        found = {workload: _deviations(workload, seconds, engines) for workload in WORKLOADS}
    print(machine_line())
    launches = ", ".join(f"{name} {num}" for name, (num, _) in found.items())
    print(f"Launches: {launches}; {seconds:g} s each.\n")
    print(f"| centre of a launch | {' | '.join(found)} | geometric mean |")
    print("|---|" + "---:|" * (len(found) + 1))
    for name in CENTRES:
        row = [deviations[name] for _, deviations in found.values()]
        cells = [f"{100.0 * each:.2f} %" for each in (*row, float(np.exp(np.mean(np.log(row)))))]
        print(f"| {name} | {' | '.join(cells)} |")


def _deviations(workload: str, seconds: float, engines: Engines) -> tuple[int, dict[str, float]]:
    settings = settings_for(1, seconds=seconds, seed=1, stop=False)
    recording = record(lanes_of(workload, {"twin": 0}), settings, engines)
    sides = {trials.case.variant: trials for trials in gather(recording).values()}
    times = []
    for name in ("twin", BASE):
        layout = sides[name].layout
        assert layout is not None
        times.append(np.log(read_times(sides[name].measured, layout).seconds[0]))
    launches = [
        (case[there], base[there])
        for case, base in zip(*times, strict=True)
        if (there := ~np.isnan(case + base)).sum() >= 5
    ]
    return len(launches), {
        name: float(deviation(np.array([centre(case, base) for case, base in launches])))
        for name, centre in CENTRES.items()
    }


if __name__ == "__main__":
    main()
