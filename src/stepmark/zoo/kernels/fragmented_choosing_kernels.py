# mypy: ignore-errors
"""Triton kernels of FragmentedLinear for few rows that choose for themselves: no launch is for the choice.

Scratch is that of fragmented_rows_kernels, with few splits, because every program of the second launch adds
them up for all rows. Behind it, where all fragments are multiplied before it is known which one is chosen,
their products: float32, (F parts, R, o), a fragment's features in so many parts.
"""

import triton
import triton.language as tl

from stepmark.zoo.kernels.fragmented_rows_kernels import (
    after_previous_kernel,
    let_next_kernel_start,
    split_features,
)
from stepmark.zoo.kernels.fragmented_tiles_kernels import each_once


@triton.jit
def _narrow_shot(
    x, selector, compressor, scratch, rows, x_stride, split, tile, SIZE: tl.constexpr,
    FRAGMENTS: tl.constexpr, NARROW: tl.constexpr, SPLITS: tl.constexpr, SPLIT: tl.constexpr,
    OWN: tl.constexpr, PIECES: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """A split's part of ROWS rows' scores and, TILE of them, of their narrow features, in one product."""
    row = tl.arange(0, ROWS)
    there = row < rows
    column = tile * TILE + tl.arange(0, TILE)
    feature, inside = split_features(split, SIZE, FRAGMENTS, SPLIT, OWN, PIECES)
    weights = tl.load(
        compressor + feature[:, None] * NARROW + column[None, :],
        inside[:, None] & (column < NARROW)[None, :],
        other=0.0,
    )
    source = x + row.to(tl.int64)[:, None] * x_stride + feature[None, :]
    values = tl.load(source, there[:, None] & inside[None, :], other=0.0)
    s = tl.load(selector + feature, inside, other=0.0).to(tl.float32)
    known = there[:, None] & (column < NARROW)[None, :]
    sums = scratch + (row.to(tl.int64) * 2 * SPLITS + split)[:, None] * NARROW + column[None, :]
    tl.store(sums, tl.dot(values, weights, input_precision="ieee"), known)
    each = values.to(tl.float32) * s[None, :]
    if OWN > 1:
        each = tl.sum(tl.reshape(each, (ROWS, SPLIT // SIZE, SIZE)), 2)
        number = tl.arange(0, SPLIT // SIZE)
        each = tl.where(each == each, each, float("inf"))
        each = tl.where((split * OWN + number < FRAGMENTS)[None, :], each, float("-inf"))
        score, place = tl.max(each, 1, return_indices=True, return_indices_tie_break_left=True)
        is_best = (tl.arange(0, SPLIT) // SIZE)[None, :] == place[:, None]
        others = tl.where(is_best, 0.0, values).to(values.dtype)
        tl.store(sums + SPLITS * NARROW, tl.dot(others, weights, input_precision="ieee"), known)
    else:
        score = tl.sum(each, 1)
        place = tl.zeros((ROWS,), tl.int32)
    if tile == 0:
        scores = scratch + tl.cast(rows, tl.int64) * 2 * SPLITS * NARROW + row * SPLITS + split
        tl.store(scores, score, there)
        tl.store(scores + rows * SPLITS, place.to(tl.float32), there)


@triton.jit
def narrow_shots(
    x, selector, compressor, scratch, rows, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr,
    NARROW: tl.constexpr, SPLITS: tl.constexpr, SPLIT: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """One split and one tile of narrow features a program."""
    after_previous_kernel(PDL)
    let_next_kernel_start(PDL)
    split, tile = tl.program_id(0), tl.program_id(1)
    _narrow_shot(
        x, selector, compressor, scratch, rows, x_stride, split, tile, SIZE, FRAGMENTS, NARROW, SPLITS,
        SPLIT, OWN, PIECES, ROWS, TILE,
    )  # fmt: skip


@triton.jit
def choice_of_tile(
    scratch, row, there, rows, NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The first of each row's best fragments, and the group of splits (of PIECES each) that it lies in."""
    split = tl.arange(0, ALL_SPLITS)
    scores = scratch + tl.cast(rows, tl.int64) * 2 * SPLITS * NARROW
    scores += row[:, None] * SPLITS + split[None, :]
    known = there[:, None] & (split < SPLITS)[None, :]
    score = tl.load(scores, known, other=float("-inf"))
    if OWN > 1:  # all of them, beside the scores: one that is loaded when the group is known comes later
        places = tl.load(scores + rows * SPLITS, known, other=0.0)
    if PIECES > 1:
        score = tl.sum(tl.reshape(score, (ROWS, ALL_SPLITS // PIECES, PIECES)), 2)
    score = tl.where(score == score, score, float("inf"))
    _, group = tl.max(score, 1, return_indices=True, return_indices_tie_break_left=True)
    if OWN > 1:
        place = tl.sum(tl.where(split[None, :] == group[:, None], places, 0.0), 1)
        fragment = group * OWN + place.to(tl.int32)
    else:
        fragment = group
    return fragment, group


@triton.jit
def hidden_of_tile(
    scratch, row, there, group, column, NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """The rows' narrow features without their chosen fragments. Threads hold all splits of what they add up,
    which lie in the middle for that; tiles that are loaded one by one would each be laid out for the product
    that comes, by way of shared memory."""
    sums = scratch + row.to(tl.int64)[:, None, None] * 2 * SPLITS * NARROW + column[None, None, :]
    hidden = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in tl.static_range(0, ALL_SPLITS, AT_ONCE):
        split = first + tl.arange(0, AT_ONCE)
        in_group = group[:, None] == (split // PIECES)[None, :]
        wanted = there[:, None] & (split < SPLITS)[None, :]
        if OWN > 1:
            plane = split[None, :] + tl.where(in_group, SPLITS, 0)
        else:
            plane = split[None, :] + tl.zeros((ROWS, AT_ONCE), tl.int32)
            wanted = wanted & ~in_group
        known = wanted[:, :, None] & (column < NARROW)[None, None, :]
        hidden += tl.sum(tl.load(sums + plane[:, :, None] * NARROW, known, other=0.0), 1)
    return hidden


@triton.jit
def _decompressor_tile(
    decompressor, output, column, NARROW: tl.constexpr, OUTPUTS: tl.constexpr
):  # fmt: skip
    """Turned: columns by outputs."""
    return tl.load(
        decompressor + output.to(tl.int64)[None, :] * NARROW + column[:, None],
        (column < NARROW)[:, None] & (output < OUTPUTS)[None, :],
        other=0.0,
    )


@triton.jit
def _keep(hidden, chosen, h, fragment, row, there, column, NARROW: tl.constexpr):
    """By the first program, for all."""
    if tl.program_id(0) == 0:
        known = there[:, None] & (column < NARROW)[None, :]
        place = hidden + row.to(tl.int64)[:, None] * NARROW + column[None, :]
        tl.store(place, h.to(hidden.dtype.element_ty), known)
        tl.store(chosen + row, fragment, there)


@triton.jit
def _every_row(
    acc, x, weight, fragment, row, there, x_stride, output, SIZE: tl.constexpr, OUTPUTS: tl.constexpr,
    STEP: tl.constexpr,
):  # fmt: skip
    """Plus every row's fragment, all rows at once: no row waits for another's."""
    within = tl.arange(0, STEP)
    inside = there[:, None] & (within < SIZE)[None, :]
    feature = fragment[:, None] * SIZE + within[None, :]
    values = tl.load(x + row.to(tl.int64)[:, None] * x_stride + feature, inside, other=0.0).to(tl.float32)
    weights = tl.load(
        weight + feature[:, :, None] * OUTPUTS + output[None, None, :],
        inside[:, :, None] & (output < OUTPUTS)[None, None, :],
        other=0.0,
    )
    return acc + tl.sum(weights.to(tl.float32) * values[:, :, None], 1)


@triton.jit
def expert_tiles_choosing(
    x, weight, decompressor, bias, scratch, hidden, chosen, y, rows, x_stride, SIZE: tl.constexpr,
    OUTPUTS: tl.constexpr, NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr,
    ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr, WHOLE: tl.constexpr,
    HAS_BIAS: tl.constexpr, KEEP: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of ROWS rows: every fragment that one of them chose is read once and multiplied with all
    of them, noughts for those that chose another. WHOLE: each row's fragment is read for it alone, those of
    all rows at once."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = tl.arange(0, ROWS)
    there = row < rows
    column = tl.arange(0, COLUMNS)
    narrow = _decompressor_tile(decompressor, output, column, NARROW, OUTPUTS)
    after_previous_kernel(PDL)
    fragment, group = choice_of_tile(scratch, row, there, rows, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS, ROWS)
    fragment = tl.where(there, fragment, -1)
    h = hidden_of_tile(
        scratch, row, there, group, column, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS, COLUMNS, AT_ONCE, ROWS
    )
    if KEEP:
        _keep(hidden, chosen, h, fragment, row, there, column, NARROW)
    acc = tl.zeros((ROWS, TILE), tl.float32)
    if HAS_BIAS:
        acc += tl.load(bias + output, output < OUTPUTS, other=0.0).to(tl.float32)[None, :]
    acc = tl.dot(h.to(narrow.dtype), narrow, acc, input_precision="ieee")
    if WHOLE:
        acc = _every_row(acc, x, weight, fragment, row, there, x_stride, output, SIZE, OUTPUTS, STEP)
    else:
        acc = each_once(
            acc, x, weight, fragment, fragment, 0, rows, x_stride, output, SIZE, OUTPUTS, ROWS, STEP, STAGES
        )
    known = there[:, None] & (output < OUTPUTS)[None, :]
    tl.store(y + row.to(tl.int64)[:, None] * OUTPUTS + output[None, :], acc.to(y.dtype.element_ty), known)
    let_next_kernel_start(PDL)


@triton.jit
def _products(scratch, rows, NARROW: tl.constexpr, SPLITS: tl.constexpr):
    """Where they begin, on an address as round as scratch's own."""
    return scratch + (tl.cast(rows, tl.int64) * 2 * SPLITS * (NARROW + 1) + 3) // 4 * 4


@triton.jit
def narrow_and_products(
    x, selector, weight, compressor, scratch, rows, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr,
    NARROW: tl.constexpr, SPLITS: tl.constexpr, SPLIT: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, OUTPUTS: tl.constexpr, ROWS: tl.constexpr, TILE_NARROW: tl.constexpr,
    NARROW_PROGRAMS: tl.constexpr, TILE: tl.constexpr, PARTS: tl.constexpr, PART: tl.constexpr,
    STEP: tl.constexpr, STAGES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """The first programs are those of narrow_shots; each of the others multiplies ROWS rows with TILE outputs
    of one part of one fragment's weights, chosen or not."""
    after_previous_kernel(PDL)
    let_next_kernel_start(PDL)
    program = tl.program_id(0)
    if program < NARROW_PROGRAMS:
        split, tile = program % SPLITS, program // SPLITS
        _narrow_shot(
            x, selector, compressor, scratch, rows, x_stride, split, tile, SIZE, FRAGMENTS, NARROW, SPLITS,
            SPLIT, OWN, PIECES, ROWS, TILE_NARROW,
        )  # fmt: skip
    else:
        program -= NARROW_PROGRAMS
        part = program % (FRAGMENTS * PARTS)
        output = program // (FRAGMENTS * PARTS) * TILE + tl.arange(0, TILE)
        row = tl.arange(0, ROWS)
        there = row < rows
        begin = part % PARTS * PART
        source = x + row.to(tl.int64)[:, None] * x_stride + part // PARTS * SIZE
        weights = weight + tl.cast(part // PARTS, tl.int64) * SIZE * OUTPUTS + output[None, :]
        acc = tl.zeros((ROWS, TILE), tl.float32)
        for first in tl.range(0, PART, STEP, num_stages=STAGES):
            within = begin + first + tl.arange(0, STEP)
            inside = within < SIZE
            values = tl.load(source + within[None, :], there[:, None] & inside[None, :], other=0.0)
            w = tl.load(
                weights + within[:, None] * OUTPUTS,
                inside[:, None] & (output < OUTPUTS)[None, :],
                other=0.0,
            )
            acc = tl.dot(values, w, acc, input_precision="ieee")
        place = _products(scratch, rows, NARROW, SPLITS) + tl.cast(part * rows, tl.int64) * OUTPUTS
        place += row.to(tl.int64)[:, None] * OUTPUTS + output[None, :]
        tl.store(place, acc, there[:, None] & (output < OUTPUTS)[None, :])


@triton.jit
def products_chosen(
    decompressor, bias, scratch, hidden, chosen, y, rows, OUTPUTS: tl.constexpr, NARROW: tl.constexpr,
    SPLITS: tl.constexpr, OWN: tl.constexpr, PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr,
    COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr,
    PARTS: tl.constexpr, ALL_PARTS: tl.constexpr, HAS_BIAS: tl.constexpr, KEEP: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of ROWS rows: of each row's products those of its chosen fragment, and the narrow part."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = tl.arange(0, ROWS)
    there = row < rows
    known = there[:, None] & (output < OUTPUTS)[None, :]
    column = tl.arange(0, COLUMNS)
    narrow = _decompressor_tile(decompressor, output, column, NARROW, OUTPUTS)
    acc = tl.zeros((ROWS, TILE), tl.float32)
    if HAS_BIAS:
        acc += tl.load(bias + output, output < OUTPUTS, other=0.0).to(tl.float32)[None, :]
    after_previous_kernel(PDL)
    fragment, group = choice_of_tile(scratch, row, there, rows, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS, ROWS)
    part = tl.arange(0, ALL_PARTS)
    line = (fragment[:, None] * PARTS + part[None, :]) * rows + row[:, None]
    products = _products(scratch, rows, NARROW, SPLITS) + output[None, None, :]
    wanted = known[:, None, :] & (part < PARTS)[None, :, None]
    acc += tl.sum(tl.load(products + line.to(tl.int64)[:, :, None] * OUTPUTS, wanted, other=0.0), 1)
    h = hidden_of_tile(
        scratch, row, there, group, column, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS, COLUMNS, AT_ONCE, ROWS
    )
    if KEEP:
        _keep(hidden, chosen, h, fragment, row, there, column, NARROW)
    acc = tl.dot(h.to(narrow.dtype), narrow, acc, input_precision="ieee")
    tl.store(y + row.to(tl.int64)[:, None] * OUTPUTS + output[None, :], acc.to(y.dtype.element_ty), known)
    let_next_kernel_start(PDL)
