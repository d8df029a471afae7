"""Stopping: what a look at a cell decides, the same while measuring and when judging what was stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepmark.analysis.verdict import decide_bounds
from stepmark.records.settings import Policy, Settings
from stepmark.records.verdict import Look, VerdictKind
from stepmark.stats.arrays import FloatArray
from stepmark.stats.ratio import ratio_of_centres
from stepmark.stats.sequential import EARLY_SHARE, looks, share


def look_at(
    centres: Sequence[FloatArray],
    num_launches: int,
    *,
    settings: Settings,
    policy: Policy,
    num_comparisons: int,
    ended: bool = True,
) -> Look:
    """The look after `num_launches` of a cell: early where it settles every verdict of the cell, else the
    last.

    `centres` has the log-ratios' centres of each variant's primary phase; `policy` is the run's own, by which
    it stopped, whatever policy the verdicts are then given by. Of a run that has not `ended` more launches
    may come, whose number may depend on what is seen now: the look has no more of alpha than an early one.
    """
    is_last = ended or num_launches >= settings.launches
    if not settings.stop:
        return Look(launches=num_launches, early=False, share=1.0 if is_last else EARLY_SHARE)
    early = num_launches in looks(settings.launches) and settled(
        centres, policy=policy, num_comparisons=num_comparisons
    )
    return Look(
        launches=num_launches,
        early=early,
        share=share(num_launches, most=settings.launches, last=is_last and not early),
    )


def settled(centres: Sequence[FloatArray], *, policy: Policy, num_comparisons: int) -> bool:
    """Whether every variant is decided by an interval of an early look's confidence.

    In a run of several comparisons a difference must stand among all of them (sweep.py), so it settles a cell
    only with that many times less alpha. Stopping at the first interval that decides by itself would leave
    p-values just good enough for one comparison: of real slowdowns of 3 % in a sweep of 100 cells 17 % were
    kept in simulation.
    """
    alpha = (1.0 - policy.confidence) * EARLY_SHARE
    return bool(centres) and all(
        _is_decided(each, alpha=alpha, margin=policy.margin, num_comparisons=num_comparisons)
        for each in centres
    )


def _is_decided(centres: FloatArray, *, alpha: float, margin: float, num_comparisons: int) -> bool:
    if centres.size < 2 or np.isnan(centres).any():
        return False
    kind = _kind(centres, alpha=alpha, margin=margin)
    if kind in {VerdictKind.FASTER, VerdictKind.SLOWER}:
        kind = _kind(centres, alpha=alpha / max(1, num_comparisons), margin=margin)
    return kind is not VerdictKind.INCONCLUSIVE


def _kind(centres: FloatArray, *, alpha: float, margin: float) -> VerdictKind:
    interval = ratio_of_centres(centres, confidence=1.0 - alpha)
    return decide_bounds(float(interval.low), float(interval.high), margin=margin)
