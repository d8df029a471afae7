"""Gaps: time of a phase that no span covers.

Method.   Inside a window the spans of all threads or streams are laid over each other; a gap is a stretch
          that none of them reaches. The time before the first span and after the last one counts.
"""

from __future__ import annotations

import numpy as np

from stepmark.analysis.profile_spans import Stretches
from stepmark.records.profile import Idle
from stepmark.stats.arrays import FloatArray


def find_idle(begin: float, end: float, spans: Stretches) -> Idle:
    """Of one window; spans come in the order of their starts."""
    lengths = gaps_between(begin, end, spans)
    idle = float(lengths.sum())
    return Idle(
        gaps=lengths.size,
        longest_seconds=float(lengths.max(initial=0.0)),
        seconds=idle,
        share=idle / (end - begin) if end > begin else 0.0,
    )


def gaps_between(begin: float, end: float, spans: Stretches) -> FloatArray:
    """Their lengths, in order."""
    inside = (spans.ends > begin) & (spans.starts < end)
    starts, ends = spans.starts[inside], np.minimum(spans.ends[inside], end)
    reached = np.maximum.accumulate(np.concatenate(([begin], ends)))
    lengths: FloatArray = np.concatenate((starts, [end])) - reached
    return lengths[lengths > 0.0]
