"""Points of histories from plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepmark.records.estimate import Estimate, Method
from stepmark.records.history import HistoryPoint


def points_of(
    levels: Sequence[float],
    *,
    noise: float = 0.01,
    seed: int = 1,
    machine: str = "bench",
    conditions: str = "here",
    begin: float = 0.0,
) -> list[HistoryPoint]:
    """One an hour, in milliseconds, with noise from run to run."""
    generator = np.random.default_rng(seed)
    factors = np.exp(generator.normal(0.0, noise, len(levels)))
    return [
        HistoryPoint(
            run=f"{conditions}-{number:03}",
            started=begin + 3600.0 * number,
            commit=f"{number:040x}",
            branch="main",
            machine=machine,
            level=estimate(1e-3 * level * float(factor)),
            ratio=None,
            verdict=None,
            conditions=conditions,
        )
        for number, (level, factor) in enumerate(zip(levels, factors, strict=True))
    ]


def estimate(point: float) -> Estimate:
    low, high = sorted((0.99 * point, 1.01 * point))
    return Estimate(
        point=point, low=low, high=high, confidence=0.95, method=Method.T_LAUNCHES, num_launches=5
    )
