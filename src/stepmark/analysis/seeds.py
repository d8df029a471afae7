"""Generators for resampling: the same run and case always draw the same numbers."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np


def generator_for(*names: str | int) -> np.random.Generator:
    """A generator that depends on the names alone, not on the order in which cases are judged."""
    digest = blake2b("\0".join(str(name) for name in names).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
