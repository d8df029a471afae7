"""Segments: the stretches over which a series of levels stayed the same, and how far it moved between them.

Method.       Logarithms of levels, one a run, are cut into the segments that leave least scatter, each cut
              costing a penalty in units of the noise: PELT, exact, by the library ruptures. Noise is read
              from differences of neighbours, which a step changes in one place only; its correlation from run
              to run (a mood that lasts) raises the penalty as much as it lowers what points tell. One bad run
              is no level: for the search, and nowhere else, values are drawn to within 2 standard deviations
              of the median of the 9 runs around them.
Formula.      d[t] = x[t+1] - x[t],  drawn to within 2 deviations;  v its variance, r its correlation with the
              difference after it;  rho = 1 + 2 r, between 0 and 0.7;  s^2 = v / (2 (1 - rho))
              minimise  sum over segments of the squared distances to their mean
                        + 3 log(n) s^2 (1 + rho) / (1 - rho)  per cut,  no segment below 5 points
              mean of a segment: Student's interval, change: Welch's, both on logarithms, both widened by
              sqrt((1 + rho) / (1 - rho)).
Constant.     3 log n keeps false alarms in unchanged series below 2 % for independent noise of every kind
              tried, 10 to 500 runs (`python -m benchmarks.segments`; docs/history.md has the table).
Long series.  PELT takes n^2 steps where nothing changes. Beyond 1000 points cuts are proposed by PELT in
              overlapping windows of 300 points, and in means of neighbours over all of it; the same criterion
              then chooses among the proposals, exactly. A segment shorter than a window, or a step visible in
              the means, is found as before; only its place may differ by a point or two.
Assumptions.  Inside a segment the noise is stationary, and remembers the run before it at most.
Source.       Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational
              cost", JASA 107 (2012); Truong, Oudre and Vayatis, "Selective review of offline change point
              detection methods", Signal Processing 167 (2020), with ruptures; rho from differences as by
              Chakar et al., "A robust approach for estimating change-points in the mean of an AR(1) process",
              Bernoulli 23 (2017), with Huber's scale ("proposal 2", Annals of Mathematical Statistics 35,
              1964) for medians, of which 40 runs tell too little; the filter of spikes is Hampel's, JASA 69
              (1974).
Fails.        A slow drift comes out as a staircase. Noise with a long memory raises false alarms: up to 8 %
              where each run shares 0.6 of the mood before it. Intervals do not know that the cut was chosen
              to make the change large: near the limit of what is found, the size is overstated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from stepmark.stats.arrays import FloatArray, Interval, deviation, mean
from stepmark.stats.student import t_interval

MIN_LENGTH = 5
"""Of a segment: fewer points are a bad day."""
LONG = 1000
"""Points from which on cuts are proposed piece by piece."""
_WINDOW = 300
_AROUND = 4
"""Neighbours on either side whose median a value is held against."""
_BOUND = 2.0
_BOUNDED = 0.9205
"""Mean of min(z^2, 4) for a standard normal z: erf(sqrt 2) - 4 phi(2) + 4 (1 - erf(sqrt 2))."""
_STEPS = 6
"""Towards the fixed point of the scale: then within half a per cent for 99 of 100 series of 40 runs."""
_MOST_CORRELATION = 0.7
"""Of few runs it cannot be told from a step: a higher one would hide every step there."""
_FLOOR = 1e-4
"""Standard deviation below which no series is believed: a ten-thousandth."""


class Noise(NamedTuple):
    """Of one series of logarithms."""

    variance: float
    correlation: float
    """Of a value with the one before it."""

    @property
    def inflation(self) -> float:
        """How much more the mean of many varies than that of independent values."""
        return (1.0 + self.correlation) / (1.0 - self.correlation)


def noise_of(logs: FloatArray) -> Noise:
    """From differences, so that the steps to be found do not count as noise."""
    if logs.size < 3:
        return Noise(_FLOOR**2, 0.0)
    differences = np.diff(logs)
    variance = _bounded_variance(differences)
    if variance <= _FLOOR**2:
        return Noise(_FLOOR**2, 0.0)
    bounded = np.clip(differences, -_BOUND * math.sqrt(variance), _BOUND * math.sqrt(variance))
    neighbours = float(np.mean(bounded[1:] * bounded[:-1])) / float(np.mean(bounded**2))
    correlation = min(max(1.0 + 2.0 * neighbours, 0.0), _MOST_CORRELATION)
    return Noise(variance / (2.0 * (1.0 - correlation)), correlation)


def cuts_of(logs: FloatArray, noise: Noise) -> tuple[int, ...]:
    """Where new segments begin: indices of their first values, ascending."""
    num = logs.size
    if num < 2 * MIN_LENGTH:
        return ()
    bounded = _without_spikes(logs, math.sqrt(noise.variance))
    scaled = (bounded - bounded.mean()) / math.sqrt(noise.variance * noise.inflation)
    penalty = 3.0 * math.log(num)
    if num <= LONG:
        return _pelt(scaled, penalty)
    proposed = {*_from_windows(scaled, penalty), *_from_means(scaled, penalty)}
    return _best_of(scaled, sorted(proposed), penalty)


def segment_mean(logs: FloatArray, noise: Noise, *, confidence: float) -> Interval:
    """Of the logarithms of one segment, at least two."""
    point, low, high = t_interval(logs, confidence=confidence)
    wider = math.sqrt(noise.inflation)
    return Interval(point, point - (point - low) * wider, point + (high - point) * wider)


def segment_change(before: FloatArray, after: FloatArray, noise: Noise, *, confidence: float) -> Interval:
    """Of the mean, from one segment to the next: the difference of logarithms."""
    errors = [float(deviation(logs)) ** 2 / logs.size for logs in (before, after)]
    variance = sum(errors)
    degrees = np.inf
    if variance > 0.0:
        parts = zip(errors, (before, after), strict=True)
        degrees = variance**2 / sum(error**2 / (logs.size - 1) for error, logs in parts)
    half = stdtrit(degrees, 0.5 + confidence / 2.0) * math.sqrt(variance * noise.inflation)
    point = mean(after) - mean(before)
    return Interval(point, point - half, point + half)


def _bounded_variance(differences: FloatArray) -> float:
    """Huber's: consistent for normal differences; those beyond 2 deviations count as 2. Begun at the mean
    square where most neighbours are equal: the median is 0 then, from which no step leads away."""
    squares = differences**2
    variance = 1.4826**2 * float(np.median(squares)) or float(np.mean(squares))
    for _ in range(_STEPS):
        variance = float(np.minimum(squares, _BOUND**2 * variance).mean()) / _BOUNDED
    return variance


def _without_spikes(logs: FloatArray, spread: float) -> FloatArray:
    """Values drawn to within some deviations of the median of their neighbours."""
    padded = np.pad(logs, _AROUND, mode="symmetric")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _AROUND + 1), axis=1)
    return np.asarray(around + np.clip(logs - around, -_BOUND * spread, _BOUND * spread))


def _pelt(scaled: FloatArray, penalty: float, *, min_length: int = MIN_LENGTH) -> tuple[int, ...]:
    """By ruptures, whose linear kernel is the squared distance to the mean, and whose C code is PELT's."""
    if scaled.size < 2 * min_length:
        return ()
    from ruptures import KernelCPD  # a second to import, for histories alone

    found = KernelCPD(kernel="linear", min_size=min_length).fit(scaled[:, None]).predict(pen=penalty)
    return tuple(int(cut) for cut in found[:-1])


def _from_windows(scaled: FloatArray, penalty: float) -> Iterable[int]:
    """Cuts of windows of which each shares one half with the one before and the other with the next."""
    for begin in range(0, max(scaled.size - _WINDOW // 2, 1), _WINDOW // 2):
        for cut in _pelt(scaled[begin : begin + _WINDOW], penalty):
            yield begin + cut


def _from_means(scaled: FloatArray, penalty: float) -> Iterable[int]:
    """Cuts between groups of neighbours, put where the points themselves have them."""
    size = math.ceil(scaled.size / (LONG // 2))
    num = scaled.size // size
    first = scaled.size - num * size  # the oldest points are left out of the groups: the newest matter most
    grouped = scaled[first:].reshape(num, size).mean(axis=1) * math.sqrt(size)
    for cut in _pelt(grouped, penalty, min_length=2):
        begin, end = first + (cut - 2) * size, first + (cut + 2) * size
        yield begin + _best_single(scaled[max(begin, 0) : end]) + max(-begin, 0)


def _best_single(piece: FloatArray) -> int:
    """Where one cut leaves least scatter."""
    sums = np.cumsum(piece)[:-1]
    sizes = np.arange(1, piece.size)
    return int(np.argmax(sums**2 / sizes + (piece.sum() - sums) ** 2 / (piece.size - sizes))) + 1


def _best_of(scaled: FloatArray, proposed: list[int], penalty: float) -> tuple[int, ...]:
    """The proposals that minimise the criterion, by trying all that could come before each."""
    edges = np.array([0, *proposed, scaled.size])
    sums = np.concatenate(([0.0], np.cumsum(scaled)))[edges]
    best, previous = np.zeros(edges.size), np.zeros(edges.size, dtype=np.intp)
    best[0] = penalty  # the first segment needs no cut
    for end in range(1, edges.size):
        lengths = edges[end] - edges[:end]
        gains = best[:end] + (sums[end] - sums[:end]) ** 2 / lengths - penalty
        gains[lengths < MIN_LENGTH] = -np.inf
        previous[end] = np.argmax(gains)
        best[end] = gains[previous[end]]
    kept: list[int] = []
    place = int(previous[-1])
    while place > 0:
        kept.append(int(edges[place]))
        place = int(previous[place])
    return tuple(reversed(kept))
