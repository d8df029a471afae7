# mypy: ignore-errors
"""Triton kernels of FragmentedLinear for few rows and few fragments: all are multiplied, then one is chosen.

Features of every fragment are cut into PIECES for the narrow features, which are added up later, and PARTS
for the products. Scratch, float32, R rows, P = F PIECES, c narrow features, o outputs: sums (R, P, c), scores
(R, P) and, from the next multiple of four on, products (F PARTS, R, o).
"""

import triton
import triton.language as tl

from stepmark.zoo.kernels.fragmented_rows_kernels import after_previous_kernel, let_next_kernel_start


@triton.jit
def _narrow_piece(
    x, selector, compressor, scratch, rows, x_stride, split, tile, SIZE: tl.constexpr,
    NARROW: tl.constexpr, PIECES: tl.constexpr, LENGTH: tl.constexpr, SPLITS: tl.constexpr,
    ROWS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """A piece's part of ROWS rows' scores and, TILE of them, of their narrow features, in one product."""
    row = tl.arange(0, ROWS)
    there = row < rows
    column = tl.cast(tile, tl.int32) * TILE + tl.arange(0, TILE)
    within = split % PIECES * LENGTH + tl.arange(0, LENGTH)
    inside = within < SIZE
    feature = split // PIECES * SIZE + within
    weights = tl.load(
        compressor + feature[:, None] * NARROW + column[None, :],
        inside[:, None] & (column < NARROW)[None, :],
        other=0.0,
    )
    source = x + row.to(tl.int64)[:, None] * x_stride + feature[None, :]
    values = tl.load(source, there[:, None] & inside[None, :], other=0.0)
    s = tl.load(selector + feature, inside, other=0.0).to(tl.float32)
    sums = scratch + (row * SPLITS + split)[:, None] * NARROW + column[None, :]
    product = tl.dot(values, weights, input_precision="ieee")
    tl.store(sums, product, there[:, None] & (column < NARROW)[None, :])
    if tile == 0:
        score = tl.sum(values.to(tl.float32) * s[None, :], 1)
        tl.store(_scores(scratch, rows, NARROW, SPLITS) + row * SPLITS + split, score, there)


@triton.jit
def _scores(scratch, rows, NARROW: tl.constexpr, SPLITS: tl.constexpr):
    return scratch + rows * SPLITS * NARROW


@triton.jit
def _products(scratch, rows, NARROW: tl.constexpr, SPLITS: tl.constexpr):
    return scratch + (rows * SPLITS * (NARROW + 1) + 3) // 4 * 4


@triton.jit
def narrow_and_products(
    x, selector, weight, compressor, scratch, rows, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr,
    NARROW: tl.constexpr, OUTPUTS: tl.constexpr, PIECES: tl.constexpr, LENGTH: tl.constexpr,
    PARTS: tl.constexpr, PART: tl.constexpr, ROWS: tl.constexpr, TILE_NARROW: tl.constexpr,
    TILE: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """The first programs take a piece's narrow features; each of the others multiplies ROWS rows with TILE
    outputs of one part of one fragment's weights, chosen or not."""
    after_previous_kernel(PDL)
    let_next_kernel_start(PDL)
    SPLITS: tl.constexpr = FRAGMENTS * PIECES
    NARROW_PROGRAMS: tl.constexpr = SPLITS * ((NARROW + TILE_NARROW - 1) // TILE_NARROW)
    program = tl.program_id(0)
    if program < NARROW_PROGRAMS:
        _narrow_piece(
            x, selector, compressor, scratch, rows, x_stride, program % SPLITS, program // SPLITS, SIZE,
            NARROW, PIECES, LENGTH, SPLITS, ROWS, TILE_NARROW,
        )  # fmt: skip
    else:
        program -= NARROW_PROGRAMS
        part = program % (FRAGMENTS * PARTS)
        output = program // (FRAGMENTS * PARTS) * TILE + tl.arange(0, TILE)
        row = tl.arange(0, ROWS)
        there = row < rows
        source = x + row.to(tl.int64)[:, None] * x_stride + part // PARTS * SIZE
        weights = weight + tl.cast(part // PARTS, tl.int64) * SIZE * OUTPUTS + output[None, :]
        acc = tl.zeros((ROWS, TILE), tl.float32)
        for first in tl.range(0, PART, STEP, num_stages=STAGES):
            within = part % PARTS * PART + first + tl.arange(0, STEP)
            inside = within < SIZE
            values = tl.load(source + within[None, :], there[:, None] & inside[None, :], other=0.0)
            w = tl.load(
                weights + within[:, None] * OUTPUTS,
                inside[:, None] & (output < OUTPUTS)[None, :],
                other=0.0,
            )
            acc = tl.dot(values, w, acc, input_precision="ieee")
        place = _products(scratch, rows, NARROW, SPLITS) + (part * rows + row)[:, None] * OUTPUTS
        tl.store(place + output[None, :], acc, there[:, None] & (output < OUTPUTS)[None, :])


@triton.jit
def _choice(
    scratch, row, there, rows, FRAGMENTS: tl.constexpr, ALL_FRAGMENTS: tl.constexpr, NARROW: tl.constexpr,
    PIECES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The first of each row's best fragments."""
    split = tl.arange(0, ALL_FRAGMENTS * PIECES)
    scores = _scores(scratch, rows, NARROW, FRAGMENTS * PIECES)
    known = there[:, None] & (split < FRAGMENTS * PIECES)[None, :]
    score = tl.load(scores + row[:, None] * FRAGMENTS * PIECES + split[None, :], known, other=float("-inf"))
    if PIECES > 1:
        score = tl.sum(tl.reshape(score, (ROWS, ALL_FRAGMENTS, PIECES)), 2)
    score = tl.where(score == score, score, float("inf"))
    _, fragment = tl.max(score, 1, return_indices=True, return_indices_tie_break_left=True)
    return fragment


@triton.jit
def _hidden(
    scratch, row, there, fragment, column, FRAGMENTS: tl.constexpr, ALL_FRAGMENTS: tl.constexpr,
    NARROW: tl.constexpr, PIECES: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """The rows' narrow features without their chosen fragments. Pieces lie in the middle, so that a thread
    adds up what it loads; added tile by tile, each tile would be laid out for the product that comes, by way
    of shared memory: 35 waits for all warps instead of 5, and 7.6 µs instead of 5.4 in all."""
    SPLITS: tl.constexpr = FRAGMENTS * PIECES
    sums = scratch + row[:, None, None] * SPLITS * NARROW + column[None, None, :]
    hidden = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in tl.static_range(0, ALL_FRAGMENTS * PIECES, AT_ONCE):
        split = first + tl.arange(0, AT_ONCE)
        others = (split < SPLITS)[None, :] & (fragment[:, None] != (split // PIECES)[None, :])
        known = (there[:, None] & others)[:, :, None] & (column < NARROW)[None, None, :]
        hidden += tl.sum(tl.load(sums + split[None, :, None] * NARROW, known, other=0.0), 1)
    return hidden


@triton.jit
def products_chosen(
    decompressor, bias, scratch, hidden, chosen, y, rows, FRAGMENTS: tl.constexpr,
    ALL_FRAGMENTS: tl.constexpr, NARROW: tl.constexpr, OUTPUTS: tl.constexpr, PIECES: tl.constexpr,
    PARTS: tl.constexpr, ALL_PARTS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr,
    ROWS: tl.constexpr, TILE: tl.constexpr, HAS_BIAS: tl.constexpr, KEEP: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of ROWS rows: of each row's products those of its chosen fragment, and the narrow part."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    there = row < rows
    known = there[:, None] & (output < OUTPUTS)[None, :]
    narrow = tl.load(
        decompressor + output.to(tl.int64)[None, :] * NARROW + column[:, None],
        (column < NARROW)[:, None] & (output < OUTPUTS)[None, :],
        other=0.0,
    )
    acc = tl.zeros((ROWS, TILE), tl.float32)
    if HAS_BIAS:
        acc += tl.load(bias + output, output < OUTPUTS, other=0.0).to(tl.float32)[None, :]
    after_previous_kernel(PDL)
    fragment = _choice(scratch, row, there, rows, FRAGMENTS, ALL_FRAGMENTS, NARROW, PIECES, ROWS)
    part = tl.arange(0, ALL_PARTS)
    line = (fragment[:, None] * PARTS + part[None, :]) * rows + row[:, None]
    products = _products(scratch, rows, NARROW, FRAGMENTS * PIECES) + line[:, :, None] * OUTPUTS
    wanted = known[:, None, :] & (part < PARTS)[None, :, None]
    acc += tl.sum(tl.load(products + output[None, None, :], wanted, other=0.0), 1)
    h = _hidden(
        scratch, row, there, fragment, column, FRAGMENTS, ALL_FRAGMENTS, NARROW, PIECES, COLUMNS, AT_ONCE,
        ROWS,
    )  # fmt: skip
    if KEEP:  # noqa: SIM102
        if tl.program_id(0) == 0:
            place = hidden + row[:, None] * NARROW + column[None, :]
            narrow_known = there[:, None] & (column < NARROW)[None, :]
            tl.store(place, h.to(hidden.dtype.element_ty), narrow_known)
            tl.store(chosen + row, fragment, there)
    acc = tl.dot(h.to(narrow.dtype), narrow, acc, input_precision="ieee")
    tl.store(y + row.to(tl.int64)[:, None] * OUTPUTS + output[None, :], acc.to(y.dtype.element_ty), known)
    let_next_kernel_start(PDL)
