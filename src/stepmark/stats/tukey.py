"""Tukey's fences: values far from the middle half are labelled and counted, never dropped.

Method.       Quartiles Q1 and Q3 (quantile.py) and their distance IQR = Q3 - Q1 set four fences.
Formula.      low severe  <  Q1 - 3 IQR  <=  low mild  <  Q1 - 1.5 IQR  <=  regular
              regular  <=  Q3 + 1.5 IQR  <  high mild  <=  Q3 + 3 IQR  <  high severe

              ----+--------+----[  Q1  |  Q3  ]----+--------+---->
               severe  mild        regular       mild   severe

Assumptions.  None; for normal data 0.7 % of the values lie outside the inner fences and 0.0002 % outside the
              outer ones, and for the right-skewed times of computers many more on the high side.
Source.       Tukey, "Exploratory Data Analysis", 1977, section 2D.
Fails.        When IQR is 0 (more than half of the values equal) every other value is severe. Below five
              values hardly anything can be an outlier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepmark.stats.arrays import FloatArray
from stepmark.stats.quantile import quantiles

MILD = 1.5
SEVERE = 3.0


class Fences(NamedTuple):
    """Where labels change, one set per row."""

    low_severe: FloatArray
    low_mild: FloatArray
    high_mild: FloatArray
    high_severe: FloatArray


class Counts(NamedTuple):
    """Outliers per row."""

    low_severe: npt.NDArray[np.intp]
    low_mild: npt.NDArray[np.intp]
    high_mild: npt.NDArray[np.intp]
    high_severe: npt.NDArray[np.intp]


def fences(values: FloatArray) -> Fences:
    """Of each row along the last axis."""
    return fences_at(*quantiles(values, (0.25, 0.75)))


def fences_at(first: FloatArray, third: FloatArray) -> Fences:
    """From the quartiles."""
    iqr = third - first
    return Fences(first - SEVERE * iqr, first - MILD * iqr, third + MILD * iqr, third + SEVERE * iqr)


def labels(values: FloatArray, known: Fences | None = None) -> npt.NDArray[np.int8]:
    """-2 low severe, -1 low mild, 0 regular or absent, 1 high mild, 2 high severe; in the order given."""
    fence = Fences(*(edge[..., None] for edge in known or fences(values)))
    high = (values > fence.high_mild).astype(np.int8) + (values > fence.high_severe)
    low = (values < fence.low_mild).astype(np.int8) + (values < fence.low_severe)
    return high - low


def count_outliers(values: FloatArray, known: Fences | None = None) -> Counts:
    """How many of each label, along the last axis; beyond fences already known, if given."""
    found = labels(values, known)
    return Counts(*(np.count_nonzero(found == label, axis=-1) for label in (-2, -1, 1, 2)))
