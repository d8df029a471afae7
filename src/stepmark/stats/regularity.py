"""Regularity of far blocks: do they come in the same places of every turn of so many blocks?

Method.       Blocks are far that make the mean differ from the median: beyond the middle between the median
              and the blocks that hold the upper half of that difference, and by FAR of the median at least.
              A stretch is folded into turns of P blocks. What is done in every n-th step falls into the
              same places of every turn, from the first to the last; what comes at even times slips through
              the places, as lanes take random turns and no two blocks are equally long. So all far blocks of
              a place are held against each other, not only neighbouring turns.
Formula.      e[k] = max(0, t[k] - m), or max(0, m - t[k]) where the mean is below the median m,
              h the largest with  sum of the e[k] >= h  at least half of the sum of all e,
              far: e[k] > max(h / 2, FAR m);  of the n blocks of a place f are far
              share(P) = sum of f (f - 1) / sum of f (n - 1), over places and stretches
              chance(P) = (LONGEST - 1) P(Bin(N, q) >= H), of N far blocks with a block P later H far again,
              q the share of far ones among the other blocks of their stretches
              regular at the shortest P of 2 ... LONGEST with share(P) >= SHARE and chance(P) < CHANCE
Assumptions.  Under chance all places of a stretch are equally likely, and another far block after P blocks
              is as good as a throw of its own. A stretch counts from TURNS turns on.
Constants.    FAR: fewer than half of the blocks are far, so that a mean 5 % from the median, the least that
              is told of, has blocks 10 % from it. SHARE: a fifth of the far blocks may be the machine's.
              LONGEST: work in every twelfth step, twice over where steps and their parts are timed in turn
              and change places (measure/sampler.py). CHANCE: false regularity in under 1e-3 of all cases,
              by simulation (tests/stats/test_regularity.py) never in 4000.
Source.       Folding at trial periods: Leahy et al., "On searches for pulsed emission", Astrophysical
              Journal 266 (1983). The factor before P is Bonferroni's.
Fails.        Turns of more than a third of a stretch are not seen. Where a block holds a whole turn of the
              work, all blocks of a stretch are alike and none is far. Of two lanes of which one takes nearly
              all the time, what strikes at even times strikes that one in nearly even numbers of blocks:
              regularity alone does not say whose work it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from stepmark.stats.arrays import BoolArray, FloatArray

FAR = 0.1
SHARE = 0.8
CHANCE = 1e-4
LONGEST = 24
TURNS = 3


class Regularity(NamedTuple):
    """Of far blocks in turns."""

    turn: int
    """Blocks."""
    share: float
    """Of the pairs of blocks in the same place, one of which is far: those in which the other is far too."""
    chance: float
    """How likely as many would be in random places, at most."""


def regularity(stretches: Sequence[FloatArray]) -> Regularity | None:
    """From the positive times of successive blocks, a row for each stretch in which nothing came between;
    None where they are not regular."""
    marked = [far_blocks(times) for times in stretches if times.size]
    turns = (_in_turns(marked, turn) for turn in range(2, LONGEST + 1))
    return next((one for one in turns if one.share >= SHARE and one.chance < CHANCE), None)


def far_blocks(times: FloatArray) -> BoolArray:
    """Those that make the mean of a stretch differ from its median."""
    middle = float(np.median(times))
    excess = times - middle
    excess = np.maximum(excess if excess.sum() >= 0.0 else -excess, 0.0)
    falling = np.sort(excess)[::-1]
    held = np.cumsum(falling)
    upper = float(falling[np.searchsorted(held, held[-1] / 2.0)])
    far: BoolArray = excess > max(upper / 2.0, FAR * middle)
    return far


def _in_turns(marked: Sequence[BoolArray], turn: int) -> Regularity:
    same = pairs = expected = 0.0
    hits = trials = 0
    for far in marked:
        if far.size < TURNS * turn:
            continue
        places = np.arange(far.size) % turn
        num, num_far = np.bincount(places), np.bincount(places, weights=far)
        same += float(np.sum(num_far * (num_far - 1.0)))
        pairs += float(np.sum(num_far * (num - 1.0)))
        tried = int(far[:-turn].sum())
        hits += int((far[:-turn] & far[turn:]).sum())
        trials += tried
        expected += tried * (float(far.sum()) - 1.0) / (far.size - 1.0)
    if not trials:
        return Regularity(turn, 0.0, 1.0)
    above = float(bdtrc(hits - 1, trials, expected / trials)) if hits else 1.0
    return Regularity(turn, same / pairs, min(1.0, (LONGEST - 1) * above))
