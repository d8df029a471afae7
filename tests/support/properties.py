"""What property tests share: how many examples they take, and strategies for samples of times."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from stepmark.stats.arrays import FloatArray

steady = settings(max_examples=60)
"""Of properties that cost little."""

times = st.floats(min_value=1e-7, max_value=1e2)
numbers = st.floats(min_value=-1e6, max_value=1e6)


def samples(
    elements: st.SearchStrategy[float] = numbers, *, min_size: int = 1, max_size: int = 30
) -> st.SearchStrategy[FloatArray]:
    """One row of values."""
    return st.lists(elements, min_size=min_size, max_size=max_size).map(np.array)


def launches(
    *, min_launches: int = 2, max_launches: int = 6, min_rounds: int = 1, max_rounds: int = 12
) -> st.SearchStrategy[list[FloatArray]]:
    """Times of one lane, launch by launch, of different lengths."""
    launch = samples(times, min_size=min_rounds, max_size=max_rounds)
    return st.lists(launch, min_size=min_launches, max_size=max_launches)
