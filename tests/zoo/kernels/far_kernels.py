# mypy: ignore-errors
"""Kernels that call a single function of the zoo's kernels, at rows and columns far from the first."""

import triton
import triton.language as tl

from stepmark.zoo.kernels.lora_gradients_kernels import _store_factor, _sum
from stepmark.zoo.kernels.lora_kernels import _q_of, _thin_and_wide, _thin_of


@triton.jit
def thin_at(thin, out, first, T, R: tl.constexpr, BR: tl.constexpr):
    rows = first + tl.arange(0, 16)
    here = out + tl.arange(0, 16)[:, None] * BR + tl.arange(0, BR)[None, :]
    tl.store(here, _thin_of(thin, rows, T, 0, R, BR))


@triton.jit
def q_at(q, out, first, N, R: tl.constexpr, FORWARD: tl.constexpr, BR: tl.constexpr):
    columns = first + tl.arange(0, 16)
    here = out + tl.arange(0, BR)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(here, _q_of(q, columns, N, 0, R, FORWARD, BR))


@triton.jit
def factor_at(out, given, first, F, R: tl.constexpr, RANK_FIRST: tl.constexpr, BR: tl.constexpr):
    features = first + tl.arange(0, 16)
    total = tl.load(given + tl.arange(0, 16)[:, None] * BR + tl.arange(0, BR)[None, :])
    _store_factor(out, total, features, F, R, RANK_FIRST, BR)


@triton.jit
def sum_at(parts, out, tile, F, R: tl.constexpr, SPLITS: tl.constexpr, BR: tl.constexpr):
    _sum(parts, out, tile, F, R, SPLITS, False, 16, BR)


@triton.jit
def wide_at(z, m, out, N, K: tl.constexpr, BK: tl.constexpr):
    """z M backwards, of the first 16 rows and columns."""
    place = tl.arange(0, 16)
    _, wide = _thin_and_wide(z, m, z, place, place, 16, K, N, 1, K, False, True, 16, 16, BK, 16, True, "ieee")
    tl.store(out + place[:, None] * 16 + place[None, :], wide)
