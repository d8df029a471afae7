"""Rows of different length as one array: NaN marks a value that is not there.

Launches do not all have the same number of rounds. Every function of this room that reduces the last axis
therefore treats NaN as absent, never as a number, so that many phases and launches go through one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


class Interval(NamedTuple):
    """A point with its bounds, or arrays of them."""

    point: FloatArray
    low: FloatArray
    high: FloatArray


def pad(rows: Sequence[npt.ArrayLike]) -> FloatArray:
    """One row per sequence, filled with NaN up to the longest."""
    arrays = [np.asarray(row, dtype=np.float64) for row in rows]
    padded = np.full((len(arrays), max((row.size for row in arrays), default=0)), np.nan)
    for target, row in zip(padded, arrays, strict=True):
        target[: row.size] = row
    return padded


def count(values: FloatArray) -> IntArray:
    """How many values are there, along the last axis."""
    num: IntArray = (~np.isnan(values)).sum(axis=-1, dtype=np.intp)
    return num


def mean(values: FloatArray) -> FloatArray:
    """Arithmetic mean of what is there, along the last axis; NaN of nothing.

    Never outside the smallest and largest value, which plain summation is by a rounding error: the mean of
    three times 0.1 is 0.1.
    """
    present = ~np.isnan(values)
    num = np.count_nonzero(present, axis=-1)
    total = np.where(present, values, 0.0).sum(axis=-1)
    low, high = np.fmin.reduce(values, axis=-1), np.fmax.reduce(values, axis=-1)
    return np.clip(np.where(num > 0, total / np.maximum(num, 1), np.nan), low, high)


def deviation(values: FloatArray) -> FloatArray:
    """Standard deviation, with n-1 below, of what is there along the last axis; 0 of less than two."""
    squares = (values - mean(values)[..., None]) ** 2
    total = np.where(np.isnan(squares), 0.0, squares).sum(axis=-1)
    spread: FloatArray = np.sqrt(total / np.maximum(count(values) - 1, 1))
    return spread
