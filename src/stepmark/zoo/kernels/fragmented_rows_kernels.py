# mypy: ignore-errors
"""Triton kernels of FragmentedLinear for few rows: weights are held in registers while rows pass by.

Features are cut into splits: OWN whole fragments each, or each fragment into PIECES. What a split adds to a
row's narrow features is kept twice, with all its fragments and without its best one: the chosen fragment is
the best one of its split, so leaving it out later needs no second look at the compressor and no subtraction.

Scratch, float32, R rows, P splits, c narrow features: sums (R, 2, P, c), scores (R, P), places (R, P).
"""

import triton
import triton.language as tl


@triton.jit
def after_previous_kernel(PDL: tl.constexpr):
    if PDL:
        tl.extra.cuda.gdc_wait()


@triton.jit
def let_next_kernel_start(PDL: tl.constexpr):
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def split_features(
    split,
    SIZE: tl.constexpr,
    FRAGMENTS: tl.constexpr,
    SPLIT: tl.constexpr,
    OWN: tl.constexpr,
    PIECES: tl.constexpr,
):
    """The features of a split, and which of them exist."""
    if PIECES > 1:
        fragment = split // PIECES
        first = fragment * SIZE + (split % PIECES) * SPLIT
        end = (fragment + 1) * SIZE
    else:
        first = split * OWN * SIZE
        end = tl.minimum(first + OWN * SIZE, FRAGMENTS * SIZE)
    feature = first + tl.arange(0, SPLIT)
    return feature, feature < end


@triton.jit
def narrow_rows(
    x, selector, compressor, scratch, rows, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr,
    NARROW: tl.constexpr, SPLITS: tl.constexpr, SPLIT: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, TILE: tl.constexpr, LATE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """A split's part of the scores and, TILE of them, of the narrow features. LATE: programs of the next
    kernel begin when these end; beside these they may be placed unevenly."""
    split = tl.program_id(0)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    feature, inside = split_features(split, SIZE, FRAGMENTS, SPLIT, OWN, PIECES)
    known = inside[:, None] & (column < NARROW)[None, :]
    after_previous_kernel(PDL)
    if not LATE:
        let_next_kernel_start(PDL)
    weights = tl.load(compressor + feature[:, None] * NARROW + column[None, :], known, other=0.0).to(
        tl.float32
    )
    s = tl.load(selector + feature, inside, other=0.0).to(tl.float32)
    following = tl.load(x + feature, inside, other=0.0)
    scores = scratch + tl.cast(rows, tl.int64) * 2 * SPLITS * NARROW
    for row in range(rows):
        values = following.to(tl.float32)
        more = row + 1 < rows
        following = tl.load(x + (row + 1) * x_stride + feature, inside & more, other=0.0)
        products = weights * values[:, None]
        sums = scratch + (row * 2 * SPLITS + split) * NARROW + column
        tl.store(sums, tl.sum(products, 0), column < NARROW)
        if OWN > 1:
            each = tl.sum(tl.reshape(values * s, (SPLIT // SIZE, SIZE)), 1)
            number = tl.arange(0, SPLIT // SIZE)
            each = tl.where(each == each, each, float("inf"))
            each = tl.where(split * OWN + number < FRAGMENTS, each, float("-inf"))
            score, place = tl.max(each, 0, return_indices=True, return_indices_tie_break_left=True)
            others = tl.where((tl.arange(0, SPLIT) // SIZE != place)[:, None], products, 0.0)
            tl.store(sums + SPLITS * NARROW, tl.sum(others, 0), column < NARROW)
        else:
            score = tl.sum(values * s, 0)
            place = 0
        if tl.program_id(1) == 0:
            tl.store(scores + row * SPLITS + split, score)
            tl.store(scores + (rows + row) * SPLITS + split, place.to(tl.float32) if OWN > 1 else 0.0)
    if LATE:
        let_next_kernel_start(PDL)


@triton.jit
def chosen_of(
    scratch,
    row,
    rows,
    NARROW: tl.constexpr,
    SPLITS: tl.constexpr,
    OWN: tl.constexpr,
    PIECES: tl.constexpr,
    ALL_SPLITS: tl.constexpr,
):
    """The first of the row's best fragments, and the group of splits (of PIECES each) that it lies in."""
    split = tl.arange(0, ALL_SPLITS)
    scores = scratch + tl.cast(rows, tl.int64) * 2 * SPLITS * NARROW
    score = tl.load(scores + row * SPLITS + split, split < SPLITS, other=float("-inf"))
    if OWN > 1:  # all of them, beside the scores: one that is loaded when the group is known comes later
        places = tl.load(scores + (rows + row) * SPLITS + split, split < SPLITS, other=0.0)
    if PIECES > 1:
        score = tl.sum(tl.reshape(score, (ALL_SPLITS // PIECES, PIECES)), 1)
    score = tl.where(score == score, score, float("inf"))
    _, group = tl.max(score, 0, return_indices=True, return_indices_tie_break_left=True)
    if OWN > 1:
        fragment = group * OWN + tl.sum(tl.where(split == group, places, 0.0), 0).to(tl.int32)
    else:
        fragment = group
    return fragment, group


@triton.jit
def hidden_of(
    scratch,
    row,
    group,
    column,
    NARROW: tl.constexpr,
    SPLITS: tl.constexpr,
    OWN: tl.constexpr,
    PIECES: tl.constexpr,
    ALL_SPLITS: tl.constexpr,
    COLUMNS: tl.constexpr,
    AT_ONCE: tl.constexpr,
):
    """The row's narrow features without the chosen fragment."""
    sums = scratch + tl.cast(row, tl.int64) * 2 * SPLITS * NARROW + column[None, :]
    hidden = tl.zeros((COLUMNS,), tl.float32)
    for first in tl.static_range(0, ALL_SPLITS, AT_ONCE):
        split = first + tl.arange(0, AT_ONCE)
        in_group = split // PIECES == group
        if OWN > 1:
            plane = tl.where(in_group, SPLITS, 0) + split
            wanted = split < SPLITS
        else:
            plane = split
            wanted = (split < SPLITS) & ~in_group
        known = wanted[:, None] & (column < NARROW)[None, :]
        hidden += tl.sum(tl.load(sums + plane[:, None] * NARROW, known, other=0.0), 0)
    return hidden


@triton.jit
def sums_of(
    scratch, row, column, NARROW: tl.constexpr, SPLITS: tl.constexpr, ALL_SPLITS: tl.constexpr
):  # fmt: skip
    """What all splits add to the row's narrow features: loaded before the chosen fragment is known."""
    split = tl.arange(0, ALL_SPLITS)
    sums = scratch + (tl.cast(row, tl.int64) * 2 * SPLITS + split[:, None]) * NARROW + column[None, :]
    return tl.load(sums, (split < SPLITS)[:, None] & (column < NARROW)[None, :], other=0.0)


@triton.jit
def hidden_from(
    sums, scratch, row, group, column, NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr,
):  # fmt: skip
    """hidden_of, from sums that are there. What is to be loaded comes before what is to be added up, which
    waits for all warps."""
    split = tl.arange(0, ALL_SPLITS)
    others = tl.where((split // PIECES != group)[:, None], sums, 0.0)
    if OWN > 1:
        place = scratch + (tl.cast(row, tl.int64) * 2 * SPLITS + SPLITS + group) * NARROW + column
        without_best = tl.load(place, column < NARROW, other=0.0)
        hidden = tl.sum(others, 0) + without_best
    else:
        hidden = tl.sum(others, 0)
    return hidden


@triton.jit
def choose_rows(
    scratch, hidden, chosen, rows, NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """A row's fragment and COLUMNS of its narrow features."""
    row = tl.program_id(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    # The next kernel may load weights already: this one began when all programs of the one before had waited
    # for whatever came before that. What it is to read of both it waits for itself.
    let_next_kernel_start(PDL)
    after_previous_kernel(PDL)
    if AT_ONCE == ALL_SPLITS:
        sums = sums_of(scratch, row, column, NARROW, SPLITS, ALL_SPLITS)
    fragment, group = chosen_of(scratch, row, rows, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS)
    if AT_ONCE == ALL_SPLITS:
        h = hidden_from(sums, scratch, row, group, column, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS)
    else:
        h = hidden_of(scratch, row, group, column, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS, COLUMNS, AT_ONCE)
    place = hidden + tl.cast(row, tl.int64) * NARROW + column
    tl.store(place, h.to(hidden.dtype.element_ty), column < NARROW)
    if tl.program_id(1) == 0:
        tl.store(chosen + row, fragment)


@triton.jit
def features_and_weights(features, weights, at, there, SIZE: tl.constexpr, OUTPUTS: tl.constexpr):
    """Of a fragment: some of the row's features, and their weights for a tile of outputs."""
    inside = at < SIZE
    values = tl.load(features + at, inside, other=0.0).to(tl.float32)
    rows_of_weights = weights + at.to(tl.int64)[:, None] * OUTPUTS
    return values, tl.load(rows_of_weights, inside[:, None] & there[None, :], other=0.0)


@triton.jit
def expert_rows(
    x, weight, decompressor, bias, scratch, hidden, chosen, y, rows, x_stride, SIZE: tl.constexpr,
    OUTPUTS: tl.constexpr, NARROW: tl.constexpr, SPLITS: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ALL_SPLITS: tl.constexpr, COLUMNS: tl.constexpr, AT_ONCE: tl.constexpr,
    ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
    HAS_BIAS: tl.constexpr, READY: tl.constexpr, AHEAD: tl.constexpr, EARLY: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of ROWS rows. READY: choose_rows has been; else its work is done here, for one row. AHEAD:
    all sums are loaded before the choice, which takes registers and spares a load that waits for it."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, COLUMNS)
    there = output < OUTPUTS
    narrow = tl.load(
        decompressor + output.to(tl.int64)[:, None] * NARROW + column[None, :],
        there[:, None] & (column < NARROW)[None, :],
        other=0.0,
    )
    start = tl.zeros((TILE,), tl.float32)
    if HAS_BIAS:
        start = tl.load(bias + output, there, other=0.0).to(tl.float32)
    step = tl.arange(0, STEP)
    after_previous_kernel(PDL)
    if EARLY:
        let_next_kernel_start(PDL)
    first_row = tl.program_id(1) * ROWS
    for row in range(first_row, tl.minimum(first_row + ROWS, rows)):
        if READY:
            fragment = tl.load(chosen + row)
            h = tl.load(hidden + row * NARROW + column, column < NARROW, other=0.0).to(tl.float32)
        else:
            if AHEAD:
                sums = sums_of(scratch, row, column, NARROW, SPLITS, ALL_SPLITS)
            fragment, group = chosen_of(scratch, row, rows, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS)
        features = x + tl.cast(row, tl.int64) * x_stride + fragment * SIZE
        weights = weight + fragment.to(tl.int64) * SIZE * OUTPUTS + output[None, :]
        if AHEAD and not READY:  # the first weights are on their way while the sums are added up
            values, tile = features_and_weights(features, weights, step, there, SIZE, OUTPUTS)
            h = hidden_from(sums, scratch, row, group, column, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS)
            products = tile.to(tl.float32) * values[:, None]
        else:
            products = tl.zeros((STEP, TILE), tl.float32)
        BEGIN: tl.constexpr = STEP if AHEAD and not READY else 0
        for k in tl.range(BEGIN, SIZE, STEP, num_stages=STAGES):
            values, tile = features_and_weights(features, weights, k + step, there, SIZE, OUTPUTS)
            products += tile.to(tl.float32) * values[:, None]
        if not READY and not AHEAD:
            h = hidden_of(
                scratch, row, group, column, NARROW, SPLITS, OWN, PIECES, ALL_SPLITS, COLUMNS, AT_ONCE
            )
        found = tl.sum(products, 0) + start + tl.sum(narrow.to(tl.float32) * h[None, :], 1)
        tl.store(y + tl.cast(row, tl.int64) * OUTPUTS + output, found.to(y.dtype.element_ty), there)
    # Late: programs of the next kernel that wait take room from those of this one that are to come.
    if not EARLY:
        let_next_kernel_start(PDL)
