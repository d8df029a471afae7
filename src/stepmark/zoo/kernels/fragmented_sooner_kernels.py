# mypy: ignore-errors
"""Triton kernels of FragmentedLinear that multiply the chosen fragment sooner: every program of the last
launch finds the choice by itself, and is done with the fragment when the narrow features' sums arrive.

Reading x and the selector in every program is meant to cost less than waiting for a launch that reads them
once. What comes before after_previous_kernel bypasses the nearest cache, which may hold what was there
before. The first launch leaves out of its sums what it found the best fragment of a split to be. It adds up
scores in another order: of two that are nearly equal it may have left out the other one, and the sums are put
right.
Scratch is that of fragmented_rows_kernels.
"""

import triton
import triton.language as tl

from stepmark.zoo.kernels.fragmented_rows_kernels import after_previous_kernel, let_next_kernel_start


@triton.jit
def best_fragments(
    x, selector, row, there, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr, ROWS: tl.constexpr,
    LENGTH: tl.constexpr, NUMBER: tl.constexpr,
):  # fmt: skip
    """The first of the best fragments of each row. NUMBER of them are looked at together, LENGTH features of
    each at a time."""
    best = tl.full((ROWS,), float("-inf"), tl.float32)
    place = tl.zeros((ROWS,), tl.int32)
    for first in range(0, FRAGMENTS, NUMBER):
        fragment = first + tl.arange(0, NUMBER)
        score = tl.zeros((ROWS, NUMBER), tl.float32)
        for begin in range(0, SIZE, LENGTH):
            within = begin + tl.arange(0, LENGTH)
            feature = fragment[:, None] * SIZE + within[None, :]
            inside = (fragment < FRAGMENTS)[:, None] & (within < SIZE)[None, :]
            s = tl.load(selector + feature, inside, other=0.0, cache_modifier=".cg").to(tl.float32)
            at = x + row.to(tl.int64)[:, None, None] * x_stride + feature[None, :, :]
            values = tl.load(at, there[:, None, None] & inside[None, :, :], other=0.0, cache_modifier=".cg")
            score += tl.sum(values.to(tl.float32) * s[None, :, :], 2)
        score = tl.where(score == score, score, float("inf"))
        score = tl.where((fragment < FRAGMENTS)[None, :], score, float("-inf"))
        most, number = tl.max(score, 1, return_indices=True, return_indices_tie_break_left=True)
        place = tl.where(most > best, first + number, place)
        best = tl.maximum(most, best)
    return place


@triton.jit
def narrow_features(
    scratch, x, compressor, fragment, row, there, rows, x_stride, column, SIZE: tl.constexpr,
    NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr, PIECES: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """(ROWS, COLUMNS), without the rows' chosen fragments."""
    known = there[:, None] & (column < NARROW)[None, :]
    group = fragment // OWN
    plane = row.to(tl.int64) * 2 * SPLITS
    h = tl.zeros((ROWS, COLUMNS), tl.float32)
    for split in tl.static_range(SPLITS):
        if OWN > 1:  # the sum without the split's best one, if that was chosen
            at = plane + tl.where(group == split, SPLITS, 0) + split
            h += tl.load(scratch + at[:, None] * NARROW + column[None, :], known, other=0.0)
        else:
            wanted = known & (split // PIECES != group)[:, None]
            h += tl.load(scratch + (plane + split)[:, None] * NARROW + column[None, :], wanted, other=0.0)
    if OWN > 1:
        places = scratch + tl.cast(rows, tl.int64) * SPLITS * (2 * NARROW + 1)
        left_out = tl.load(places + row * SPLITS + group, there, other=0.0).to(tl.int32) + group * OWN
        wrong = there & (left_out != fragment)
        if tl.sum(wrong.to(tl.int32), 0) > 0:
            of_row = x + row.to(tl.int64) * x_stride
            for k in range(SIZE):
                h += _part(of_row, compressor, left_out * SIZE + k, wrong, column, NARROW)
                h -= _part(of_row, compressor, fragment * SIZE + k, wrong, column, NARROW)
    return h


@triton.jit
def _part(of_row, compressor, feature, wanted, column, NARROW: tl.constexpr):
    """What a feature adds to each row's narrow ones."""
    value = tl.load(of_row + feature, wanted, other=0.0).to(tl.float32)
    at = compressor + feature.to(tl.int64)[:, None] * NARROW + column[None, :]
    weights = tl.load(at, wanted[:, None] & (column < NARROW)[None, :], other=0.0).to(tl.float32)
    return value[:, None] * weights


@triton.jit
def keep_found(hidden, chosen, h, fragment, row, there, column, NARROW: tl.constexpr):
    """For gradients: what the first program found stands for all."""
    if tl.program_id(0) == 0:
        at = hidden + row.to(tl.int64)[:, None] * NARROW + column[None, :]
        tl.store(at, h.to(hidden.dtype.element_ty), there[:, None] & (column < NARROW)[None, :])
        tl.store(chosen + row, fragment, there)


@triton.jit
def sooner_row(
    x, selector, weight, compressor, decompressor, bias, scratch, hidden, chosen, y, rows, x_stride,
    SIZE: tl.constexpr, FRAGMENTS: tl.constexpr, OUTPUTS: tl.constexpr, NARROW: tl.constexpr,
    SPLITS: tl.constexpr, OWN: tl.constexpr, PIECES: tl.constexpr, COLUMNS: tl.constexpr,
    LENGTH: tl.constexpr, NUMBER: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
    STAGES: tl.constexpr, HAS_BIAS: tl.constexpr, KEEP: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of the only row."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, COLUMNS)
    there = output < OUTPUTS
    narrow = tl.load(
        decompressor + output.to(tl.int64)[:, None] * NARROW + column[None, :],
        there[:, None] & (column < NARROW)[None, :],
        other=0.0,
        cache_modifier=".cg",
    )
    row = tl.arange(0, 1)
    first = row < rows
    fragment = best_fragments(x, selector, row, first, x_stride, SIZE, FRAGMENTS, 1, LENGTH, NUMBER)
    begin = tl.sum(fragment, 0) * SIZE
    products = tl.zeros((STEP, TILE), tl.float32)
    for k in tl.range(0, SIZE, STEP, num_stages=STAGES):
        within = k + tl.arange(0, STEP)
        inside = within < SIZE
        feature = begin + within
        values = tl.load(x + feature, inside, other=0.0, cache_modifier=".cg").to(tl.float32)
        at = weight + feature.to(tl.int64)[:, None] * OUTPUTS + output[None, :]
        w = tl.load(at, inside[:, None] & there[None, :], other=0.0, cache_modifier=".cg")
        products += w.to(tl.float32) * values[:, None]
    found = tl.sum(products, 0)
    if HAS_BIAS:
        found += tl.load(bias + output, there, other=0.0).to(tl.float32)
    after_previous_kernel(PDL)
    h = narrow_features(
        scratch, x, compressor, fragment, row, first, rows, x_stride, column, SIZE, NARROW, SPLITS, OWN,
        PIECES, 1, COLUMNS,
    )  # fmt: skip
    if KEEP:
        keep_found(hidden, chosen, h, fragment, row, first, column, NARROW)
    found += tl.sum(narrow.to(tl.float32) * h, 1)
    tl.store(y + output, found.to(y.dtype.element_ty), there)
    let_next_kernel_start(PDL)


@triton.jit
def sooner_tiles(
    x, selector, weight, compressor, decompressor, bias, scratch, hidden, chosen, y, rows, x_stride,
    SIZE: tl.constexpr, FRAGMENTS: tl.constexpr, OUTPUTS: tl.constexpr, NARROW: tl.constexpr,
    SPLITS: tl.constexpr, OWN: tl.constexpr, PIECES: tl.constexpr, COLUMNS: tl.constexpr,
    LENGTH: tl.constexpr, NUMBER: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
    STAGES: tl.constexpr, HAS_BIAS: tl.constexpr, KEEP: tl.constexpr, PRECISION: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of up to ROWS rows: every fragment that one of them chose is read once."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, COLUMNS)
    row = tl.arange(0, ROWS)
    there = row < rows
    narrow = tl.load(
        decompressor + output.to(tl.int64)[None, :] * NARROW + column[:, None],
        (column < NARROW)[:, None] & (output < OUTPUTS)[None, :],
        other=0.0,
        cache_modifier=".cg",
    )
    fragment = best_fragments(x, selector, row, there, x_stride, SIZE, FRAGMENTS, ROWS, LENGTH, NUMBER)
    fragment = tl.where(there, fragment, -1)
    same = fragment[:, None] == fragment[None, :]
    leads = there & (tl.sum((same & (row[None, :] < row[:, None])).to(tl.int32), 1) == 0)
    rank = tl.cumsum(leads.to(tl.int32), 0) - 1
    source = x + row.to(tl.int64)[:, None] * x_stride
    steps = tl.cdiv(SIZE, STEP)
    acc = tl.zeros((ROWS, TILE), tl.float32)
    for turn in tl.range(0, tl.sum(leads.to(tl.int32), 0) * steps, num_stages=STAGES):
        now = tl.sum(tl.where(leads & (rank == turn // steps), fragment, 0), 0)
        within = (turn % steps) * STEP + tl.arange(0, STEP)
        inside = within < SIZE
        feature = now * SIZE + within
        values = tl.load(
            source + feature[None, :],
            (fragment == now)[:, None] & inside[None, :],
            other=0.0,
            cache_modifier=".cg",
        )
        weights = tl.load(
            weight + feature.to(tl.int64)[:, None] * OUTPUTS + output[None, :],
            inside[:, None] & (output < OUTPUTS)[None, :],
            other=0.0,
            cache_modifier=".cg",
        )
        acc = tl.dot(values, weights, acc, input_precision=PRECISION)
    if HAS_BIAS:
        acc += tl.load(bias + output, output < OUTPUTS, other=0.0).to(tl.float32)[None, :]
    after_previous_kernel(PDL)
    h = narrow_features(
        scratch, x, compressor, fragment, row, there, rows, x_stride, column, SIZE, NARROW, SPLITS, OWN,
        PIECES, ROWS, COLUMNS,
    )  # fmt: skip
    if KEEP:
        keep_found(hidden, chosen, h, fragment, row, there, column, NARROW)
    acc = tl.dot(h.to(narrow.dtype), narrow, acc, input_precision=PRECISION)
    known = there[:, None] & (output < OUTPUTS)[None, :]
    tl.store(y + row.to(tl.int64)[:, None] * OUTPUTS + output[None, :], acc.to(y.dtype.element_ty), known)
    let_next_kernel_start(PDL)
