"""How often intervals and the stopping rule are wrong under made noise: the tables in docs/simulations.md.

Run from the root of the repository: python -m benchmarks.simulations
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.machine import machine_line
from stepmark.stats.arrays import BoolArray, FloatArray, Interval
from stepmark.stats.bootstrap import bca, percentile
from stepmark.stats.fdr import beyond_margin, discoveries
from stepmark.stats.level import level
from stepmark.stats.quantile import median
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.resample import Statistic
from stepmark.stats.student import exponentiate, t_interval
from tests.support.grown_runs import MARGIN, Grown, grow, grow_naively, grow_prolonged, grow_watched
from tests.support.noise import NOISES, Noise, Shape, baseline_times, rare_state, ratios, wandering_ratio
from tests.support.promised_rates import covers

NUM_RUNS = 10_000
CHUNK = 1000
LAUNCHES = (5, 12, 30)
MOST = 40
SHORT = 10
ROUNDS = 31
EDGE = 1.0 + MARGIN
NUM_SAMPLES = 4000
NUM_SWEEPS, NUM_HONEST = 2000, 50
WATCHED = ("normal", "instance offsets", "separate processes")
PROLONGED = (14, 22, 30, 40)
"""Launches at which a budget ends the run, and somebody goes on because it is open."""

BEYOND: dict[str, Noise] = {
    "a state of 10 % in one launch of ten": rare_state,
    "launches like their neighbours": wandering_ratio,
}
TRUTHS = {"a state of 10 % in one launch of ten": 1.1**0.1}


def per_cent(happened: BoolArray) -> str:
    return f"{100.0 * float(happened.mean()):.1f}"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """In Markdown."""
    for row in (heads, ["---", *["--:"] * (len(heads) - 1)], *rows):
        print(f"| {' | '.join(row)} |")


def logs_of(noise: Noise, *, launches: int) -> Iterator[FloatArray]:
    """Log-ratios of two lanes, some runs at a time: run by launch by round."""
    generator = np.random.default_rng(20261115)
    for _ in range(0, NUM_RUNS, CHUNK):
        yield ratios(noise, generator, Shape(2, CHUNK, launches, ROUNDS))[0]


def print_coverage() -> None:
    print(f"\nCoverage of intervals of 95 %, in per cent of {NUM_RUNS} runs; {ROUNDS} rounds a launch\n")
    rows = []
    for name, noise in (NOISES | BEYOND).items():
        centres, pooled = [], []
        for logs in logs_of(noise, launches=max(LAUNCHES)):
            centres.append(median(logs))
            rounds = logs[:, :12].reshape(CHUNK, -1)
            pooled.append(covers(exponentiate(t_interval(rounds, confidence=0.95)), TRUTHS.get(name, 1.0)))
        every = np.concatenate(centres)
        covered = [
            covers(ratio_of_centres(every[:, :num], confidence=0.95), TRUTHS.get(name, 1.0))
            for num in LAUNCHES
        ]
        rows.append([name, *map(per_cent, covered), per_cent(np.concatenate(pooled)), _level(name, noise)])
    heads = [f"ratio, {num} launches" for num in LAUNCHES]
    print_table(["noise", *heads, "rounds pooled, 12 launches", "level, 12 launches"], rows)


def _level(name: str, noise: Noise) -> str:
    """Against the geometric mean over the launches of all runs; empty where the noise is of ratios only."""
    if name in BEYOND:
        return ""
    generator = np.random.default_rng(20261115)
    shape = Shape(1, CHUNK, 12, ROUNDS)
    centres = np.concatenate(
        [median(baseline_times(noise, generator, shape)) for _ in range(0, NUM_RUNS, CHUNK)]
    )
    return per_cent(covers(level(centres, confidence=0.95), float(np.exp(np.log(centres).mean()))))


def print_stopping() -> None:
    print(f"\nRuns of at most {MOST} launches that end when decided, in per cent of {NUM_RUNS} runs\n")
    rows = []
    for name, noise in NOISES.items():
        centres = np.concatenate([median(logs) for logs in logs_of(noise, launches=MOST)])[None]
        same, edge, slow = (grow(centres + np.log(truth)) for truth in (1.0, EDGE, 1.03))
        naive_same, naive_edge = (grow_naively(centres + np.log(truth)) for truth in (1.0, EDGE))
        rows.append(
            [
                name,
                *(
                    per_cent(ended.misses(truth))
                    for ended, truth in ((same, 1.0), (edge, EDGE), (slow, 1.03))
                ),
                per_cent(same.different),
                per_cent(grow(centres[:, :, :SHORT]).different),
                per_cent(slow.slower),
                f"{same.launches.mean():.1f}",
                f"{slow.launches.mean():.1f}",
                per_cent(naive_edge.misses(EDGE)),
                per_cent(naive_same.different),
            ]
        )
    heads = [
        "misses at 1",
        "at 1.01",
        "at 1.03",
        "false alarms",
        f"at most {SHORT} launches",
        "3 % found",
        "launches at 1",
        "at 1.03",
    ]
    print_table(["noise", *heads, "naive: misses at 1.01", "naive: false alarms"], rows)


def print_watching() -> None:
    print(
        f"\nWrong decisions on the edge of the margin, runs of at most {MOST} launches that somebody watches "
        f"or prolongs, in per cent of {NUM_RUNS} runs\n"
    )
    rows = []
    for name in WATCHED:
        centres = np.concatenate([median(logs) for logs in logs_of(NOISES[name], launches=MOST)])[None]
        centres += np.log(EDGE)
        alone, watched = grow(centres), grow_watched(centres)
        before = grow_watched(centres, to_the_end=False)
        prolonged = [_wrong(grow_prolonged(centres, ends=ends)) for ends in (PROLONGED, PROLONGED[:2])]
        rows.append([name, *(per_cent(_wrong(each)) for each in (alone, before, watched))])
        rows[-1] += [per_cent(each) for each in reversed(prolonged)]
    heads = ["nobody", "watched: before the end", "with the end"]
    print_table(["noise", *heads, "two ends", f"{len(PROLONGED)} ends"], rows)


def _wrong(ended: Grown) -> BoolArray:
    return ended.slower | ended.equivalent


def print_cheats() -> None:
    """Cells of ten launches that scatter by 0.5 %, all on the edge of the margin, beside cells that cheat."""
    print(f"\nSweeps that call one of {NUM_HONEST} cells SLOWER, in per cent of {NUM_SWEEPS} sweeps\n")
    generator = np.random.default_rng(20261115)
    num, edge = 10, float(np.log(EDGE))
    runs = generator.normal(edge, 0.005, (NUM_SWEEPS, NUM_HONEST, num))
    slower = ratio_of_centres(runs, confidence=0.95).low > EDGE
    errors = runs.std(axis=-1, ddof=1) / np.sqrt(num)
    p_values = np.array(
        [
            [beyond_margin(m, e, num, margin=edge) for m, e in zip(means, own, strict=True)]
            for means, own in zip(runs.mean(axis=-1).tolist(), errors.tolist(), strict=True)
        ]
    )
    fresh = generator.normal(edge, 0.005, (NUM_SWEEPS, NUM_HONEST, 5))
    confirmed = t_interval(fresh, confidence=0.9).low > 0.0
    rows = []
    for cheats in (0, NUM_HONEST):
        family = np.concatenate([p_values, np.zeros((NUM_SWEEPS, cheats))], axis=1)
        stand = np.array([discoveries(row, rate=0.05) for row in family])[:, :NUM_HONEST]
        rows.append([f"{cheats}", per_cent(np.any(slower & stand & confirmed, axis=1))])
    print_table(["cheating cells among the comparisons", "called SLOWER"], rows)


def print_blind_spot() -> None:
    for name, noise in BEYOND.items():
        centres = np.concatenate([median(logs) for logs in logs_of(noise, launches=MOST)])[None]
        ended, truth = grow(centres), TRUTHS.get(name, 1.0)
        print(
            f"\n{name}: {per_cent(ended.misses(truth))} % of {NUM_RUNS} runs miss, "
            f"{per_cent(ended.misses(truth) & ended.equivalent)} % by an EQUIVALENT; "
            f"{ended.launches.mean():.1f} launches"
        )


def print_bootstraps() -> None:
    print(
        f"\nCoverage of bootstrap intervals of 95 %, 1000 resamples, in per cent of {NUM_SAMPLES} samples\n"
    )
    sources: dict[str, tuple[Callable[[np.random.Generator, int], FloatArray], float, float]] = {
        "normal": (lambda generator, num: generator.normal(1.0, 0.05, num), 1.0, 1.0),
        "log-normal, 10 %": (lambda generator, num: generator.lognormal(0.0, 0.1, num), np.exp(0.005), 1.0),
        "log-normal, 50 %": (lambda generator, num: generator.lognormal(0.0, 0.5, num), np.exp(0.125), 1.0),
        "Student's t, 2.5": (lambda generator, num: generator.standard_t(2.5, num), 0.0, 0.0),
    }
    rows = []
    for name, (draw, mean, middle) in sources.items():
        for num in (30, 100):
            generator = np.random.default_rng(20261115)
            samples = [draw(generator, num) for _ in range(NUM_SAMPLES)]
            of_mean = _bootstraps(samples, "mean", mean, generator)
            rows.append([f"{num} {name}", *of_mean, *_bootstraps(samples, "median", middle, generator)])
    print_table(["values", "mean, percentile", "mean, BCa", "median, percentile", "median, BCa"], rows)


def _bootstraps(
    samples: Sequence[FloatArray], statistic: Statistic, truth: float, generator: np.random.Generator
) -> list[str]:
    shares = []
    for method in (percentile, bca):
        intervals = [
            method(sample, statistic, confidence=0.95, num_resamples=1000, generator=generator)
            for sample in samples
        ]
        edges = Interval(*(np.array(each) for each in zip(*intervals, strict=True)))
        shares.append(per_cent(covers(edges, truth)))
    return shares


def main() -> None:
    print(machine_line())
    print_coverage()
    print_stopping()
    print_watching()
    print_cheats()
    print_blind_spot()
    print_bootstraps()


if __name__ == "__main__":
    main()
