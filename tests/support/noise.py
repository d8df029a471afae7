"""Noise: synthetic log times of lanes side by side, by launch and round, for many runs at once.

The sizes are those seen on shared virtual machines: rounds scatter by 1 %, two instances in one process
differ by 0.3 to 0.5 %, processes by 2 to 5 %, and some processes are 6 to 20 % slower for their whole life.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from stepmark.stats.arrays import BoolArray, FloatArray
from stepmark.stats.quantile import median
from stepmark.stats.ratio import log_ratios

ROUND = 0.01
INSTANCE = 0.004
PROCESS = 0.04


class Shape(NamedTuple):
    """Of an array of times; the first lane is the baseline."""

    lanes: int
    runs: int
    launches: int
    rounds: int


Noise = Callable[[np.random.Generator, Shape], FloatArray]
"""Log times of code that is the same in all lanes; a true ratio is added to them."""


def normal(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Every block by itself."""
    return generator.normal(0.0, ROUND, shape)


def heavy_tailed(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Student's t with 2.5 degrees of freedom, and one block in thirty disturbed by another process."""
    spikes = generator.lognormal(-2.0, 1.0, shape)
    return ROUND * generator.standard_t(2.5, shape) + np.where(
        _happens(generator, shape, 1 / 30), spikes, 0.0
    )


def bimodal(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Three blocks in ten take 40 % longer."""
    return normal(generator, shape) + np.where(_happens(generator, shape, 0.3), np.log(1.4), 0.0)


def drifting(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """The machine's level wanders over the launches and through each; a little of it is each lane's own."""
    once = (1, shape.runs, shape.launches, 1)
    over_launches = np.cumsum(generator.normal(0.0, 0.02, once), axis=2)
    through = np.linspace(0.0, 1.0, shape.rounds)
    slopes = generator.normal(0.0, 0.05, once) + generator.normal(0.0, 0.006, (*shape[:3], 1))
    return normal(generator, shape) + over_launches + slopes * through


def autocorrelated(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """A disturbance common to the lanes that lasts for twenty rounds, and one of each lane's own for five."""
    common = 0.05 * _remembering(generator, (1, *shape[1:]), memory=0.95)
    return common + ROUND * _remembering(generator, shape, memory=0.8)


def launch_offsets(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Lanes in one process, whose level they share."""
    return normal(generator, shape) + generator.normal(0.0, PROCESS, (1, *shape[1:3], 1))


def instance_offsets(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Each lane's memory lies elsewhere in every launch: what no number of rounds averages out."""
    return normal(generator, shape) + generator.normal(0.0, INSTANCE, (*shape[:3], 1))


def all_at_once(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """A busy shared machine: everything above in one."""
    parts = (heavy_tailed, bimodal, drifting, autocorrelated, launch_offsets, instance_offsets)
    total = np.zeros(shape)
    for part in parts:
        total += part(generator, shape)
    return total


def separate(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Each lane in a process of its own, with its own level."""
    return normal(generator, shape) + generator.normal(0.0, PROCESS, (*shape[:3], 1))


def separate_with_slow_states(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Separate processes, one in five of them 6 to 20 % slower for its whole life."""
    launches = (*shape[:3], 1)
    slow = np.where(_happens(generator, launches, 0.2), generator.uniform(0.06, 0.2, launches), 0.0)
    return normal(generator, shape) + generator.normal(0.0, 0.02, launches) + slow


SHARED: dict[str, Noise] = {
    "normal": normal,
    "heavy-tailed": heavy_tailed,
    "bimodal": bimodal,
    "drifting": drifting,
    "auto-correlated": autocorrelated,
    "launch offsets": launch_offsets,
    "instance offsets": instance_offsets,
    "all at once": all_at_once,
}
"""Lanes of one process."""
SEPARATE: dict[str, Noise] = {
    "separate processes": separate,
    "separate, slow states": separate_with_slow_states,
}
NOISES = SHARED | SEPARATE


def rare_state(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Beyond all intervals: one launch in ten finds every lane but the baseline 10 % slower."""
    slow = np.where(_happens(generator, (*shape[:3], 1), 0.1), np.log(1.1), 0.0)
    slow[0] = 0.0
    return instance_offsets(generator, shape) + slow


def wandering_ratio(generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Beyond all intervals: offsets of instances that stay alike from launch to launch (correlation 0.7)."""
    offsets = INSTANCE * _remembering(generator, shape[:3], memory=0.7)
    return normal(generator, shape) + offsets[..., None]


def baseline_times(noise: Noise, generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Seconds of one lane, run by launch by round."""
    seconds: FloatArray = 1e-3 * np.exp(noise(generator, shape._replace(lanes=1))[0])
    return seconds


def ratios(noise: Noise, generator: np.random.Generator, shape: Shape) -> FloatArray:
    """Log-ratios of each lane to the first, whose true ratio is 1; one lane less than the shape has."""
    seconds = 1e-3 * np.exp(noise(generator, shape))
    return log_ratios(seconds[1:], seconds[:1])


@cache
def centres(
    name: str, *, runs: int = 2000, launches: int = 40, rounds: int = 31, lanes: int = 2
) -> FloatArray:
    """Centres of such log-ratios, lane by run by launch; a true ratio shifts them all by its logarithm."""
    generator = np.random.default_rng([20261115, *name.encode()])
    found = median(ratios(NOISES[name], generator, Shape(lanes, runs, launches, rounds)))
    found.flags.writeable = False
    return found


def _happens(generator: np.random.Generator, shape: tuple[int, ...], probability: float) -> BoolArray:
    return generator.random(shape) < probability


def _remembering(generator: np.random.Generator, shape: tuple[int, ...], *, memory: float) -> FloatArray:
    """A first-order autoregressive process of unit variance along the last axis."""
    series = generator.normal(0.0, 1.0, shape)
    for place in range(1, shape[-1]):
        series[..., place] *= np.sqrt(1.0 - memory**2)
        series[..., place] += memory * series[..., place - 1]
    return series
