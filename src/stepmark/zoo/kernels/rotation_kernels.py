# mypy: ignore-errors
"""Triton kernels of rotary embedding: packed projections to rotated heads, and back."""

import triton
import triton.language as tl


@triton.jit
def _turned(x, cos, sin, BLOCK: tl.constexpr):
    even, odd = tl.split(tl.reshape(x.to(tl.float32), (BLOCK, 2)))
    pairs = tl.join(even * cos - odd * sin, even * sin + odd * cos)
    return tl.reshape(pairs, (2 * BLOCK,))


@triton.jit
def unpack_kernel(packed, query, key, value, cosines, sines, length, width, pairs, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    pair = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    table = (row % length) * pairs + pair % pairs
    cos = tl.load(cosines + table, 2 * pair < width)
    sin = tl.load(sines + table, 2 * pair < width)
    column = tl.program_id(1) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    inside = column < width
    source = packed + row * 3 * width + column
    place = row * width + column
    q = _turned(tl.load(source, inside), cos, sin, BLOCK)
    tl.store(query + place, q.to(query.dtype.element_ty), inside)
    k = _turned(tl.load(source + width, inside), cos, sin, BLOCK)
    tl.store(key + place, k.to(key.dtype.element_ty), inside)
    tl.store(value + place, tl.load(source + 2 * width, inside), inside)


@triton.jit
def pack_kernel(query, key, value, packed, cosines, sines, length, width, pairs, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    pair = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    table = (row % length) * pairs + pair % pairs
    cos = tl.load(cosines + table, 2 * pair < width)
    sin = -tl.load(sines + table, 2 * pair < width)
    column = tl.program_id(1) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    inside = column < width
    place = row * width + column
    target = packed + row * 3 * width + column
    q = _turned(tl.load(query + place, inside), cos, sin, BLOCK)
    tl.store(target, q.to(packed.dtype.element_ty), inside)
    k = _turned(tl.load(key + place, inside), cos, sin, BLOCK)
    tl.store(target + width, k.to(packed.dtype.element_ty), inside)
    tl.store(target + 2 * width, tl.load(value + place, inside), inside)
