# mypy: ignore-errors
"""Triton kernels of FragmentedLinear for many rows in 16 bits: x is read and never copied, rows are sorted.

Rows that chose the same fragment follow one another, so that a tile of them has few fragments and is full
whatever the fragments' shares are: lists of their own would end in a tile that is mostly empty each.
"""

import triton
import triton.language as tl

from stepmark.zoo.kernels.fragmented_rows_kernels import after_previous_kernel, let_next_kernel_start


@triton.jit
def choose_fragments(
    x, selector, chosen, counts, rows, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr,
    ALL_FRAGMENTS: tl.constexpr, ALL_SIZE: tl.constexpr, ROWS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """The first of the best fragments of ROWS rows, and noughts to count them from."""
    fragment = tl.arange(0, ALL_FRAGMENTS)
    within = tl.arange(0, ALL_SIZE)
    feature = fragment[:, None] * SIZE + within[None, :]
    inside = (fragment < FRAGMENTS)[:, None] & (within < SIZE)[None, :]
    if tl.program_id(0) == 0:
        tl.store(counts + fragment, 0, fragment < FRAGMENTS)
    begin = tl.program_id(0) * ROWS
    end = tl.minimum(begin + ROWS, rows)
    following = tl.load(x + tl.cast(begin, tl.int64) * x_stride + feature, inside, other=0.0)
    s = tl.load(selector + feature, inside, other=0.0)
    for row in range(begin, end):
        values = following.to(tl.float32)
        source = x + tl.cast(row + 1, tl.int64) * x_stride
        following = tl.load(source + feature, inside & (row + 1 < end), other=0.0)
        score = tl.sum(values * s.to(tl.float32), 1)
        score = tl.where(score == score, score, float("inf"))
        score = tl.where(fragment < FRAGMENTS, score, float("-inf"))
        _, best = tl.max(score, 0, return_indices=True, return_indices_tie_break_left=True)
        tl.store(chosen + row, best)
    let_next_kernel_start(PDL)


@triton.jit
def narrow_others(
    x, compressor, chosen, counts, slots, hidden, parts, rows, x_stride, FEATURES: tl.constexpr,
    SIZE: tl.constexpr, NARROW: tl.constexpr, SPLITS: tl.constexpr, TURNS: tl.constexpr, ROWS: tl.constexpr,
    TILE: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """A split's part of TILE narrow features of ROWS rows: loads of the chosen fragments are masked, so the
    sums are a plain product's. One split: the narrow features themselves. Rows are also numbered among those
    that chose the same, in any order."""
    split = tl.program_id(1)
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    there = row < rows
    after_previous_kernel(PDL)
    own = tl.load(chosen + row, there, other=-1)
    if (tl.program_id(0) == 0) & (split == 0):
        slot = tl.atomic_add(counts + own, 1, there, sem="relaxed")
        tl.store(slots + row, slot, there)
    source = x + row.to(tl.int64)[:, None] * x_stride
    acc = tl.zeros((ROWS, TILE), tl.float32)
    last = tl.minimum((split + 1) * TURNS, tl.cdiv(FEATURES, STEP))
    for turn in tl.range(split * TURNS, last, num_stages=STAGES):
        feature = turn * STEP + tl.arange(0, STEP)
        if SIZE % STEP == 0:  # one fragment a step
            wanted = (there & (turn * STEP // SIZE != own))[:, None]
            known = (column < NARROW)[None, :]
        else:
            inside = feature < FEATURES
            wanted = there[:, None] & inside[None, :] & ((feature // SIZE)[None, :] != own[:, None])
            known = inside[:, None] & (column < NARROW)[None, :]
        values = tl.load(source + feature[None, :], wanted, other=0.0)
        weights = tl.load(compressor + feature[:, None] * NARROW + column[None, :], known, other=0.0)
        acc = tl.dot(values, weights, acc, input_precision="ieee")
    known = there[:, None] & (column < NARROW)[None, :]
    place = row.to(tl.int64)[:, None] * NARROW + column[None, :]
    if SPLITS == 1:
        tl.store(hidden + place, acc.to(hidden.dtype.element_ty), known)
    else:
        tl.store(parts + tl.cast(split, tl.int64) * rows * NARROW + place, acc, known)
    let_next_kernel_start(PDL)


@triton.jit
def sort_rows(
    chosen, counts, slots, hidden, parts, order, turns, experts, rows, FRAGMENTS: tl.constexpr,
    ALL_FRAGMENTS: tl.constexpr, NARROW: tl.constexpr, SPLITS: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Where ROWS rows come in the order of their fragments; of each place the row and its fragment's turn
    among those that were chosen, of each turn the fragment. The splits' parts are added up."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    there = row < rows
    each = tl.arange(0, ALL_FRAGMENTS)
    after_previous_kernel(PDL)
    count = tl.load(counts + each, each < FRAGMENTS, other=0)
    own = tl.load(chosen + row, there, other=0)
    slot = tl.load(slots + row, there, other=0)
    if SPLITS > 1:
        for first in range(0, NARROW, COLUMNS):
            column = first + tl.arange(0, COLUMNS)
            known = there[:, None] & (column < NARROW)[None, :]
            place = row.to(tl.int64)[:, None] * NARROW + column[None, :]
            total = tl.zeros((ROWS, COLUMNS), tl.float32)
            for split in tl.static_range(SPLITS):
                total += tl.load(parts + tl.cast(rows, tl.int64) * (split * NARROW) + place, known, other=0.0)
            tl.store(hidden + place, total.to(hidden.dtype.element_ty), known)
    begin = tl.cumsum(count, 0) - count
    turn = tl.cumsum((count > 0).to(tl.int32), 0) - 1
    mine = each[None, :] == own[:, None]
    at = tl.sum(tl.where(mine, begin[None, :], 0), 1) + slot
    tl.store(order + at, row, there)
    tl.store(turns + at, tl.sum(tl.where(mine, turn[None, :], 0), 1), there)
    if tl.program_id(0) == 0:
        tl.store(experts + turn, each, count > 0)
    let_next_kernel_start(PDL)


@triton.jit
def expert_sorted(
    x, weight, decompressor, bias, hidden, order, turns, experts, y, rows, x_stride, SIZE: tl.constexpr,
    OUTPUTS: tl.constexpr, NARROW: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
    NARROW_STEP: tl.constexpr, STAGES: tl.constexpr, HAS_BIAS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of ROWS rows: their narrow features' part, then one fragment after another that some of
    them chose, noughts for those that chose another."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column_of_y = output.to(tl.int64)
    is_output = output < OUTPUTS
    begin = tl.program_id(1) * ROWS
    place = begin + tl.arange(0, ROWS)
    there = place < rows
    after_previous_kernel(PDL)
    row = tl.load(order + place, there, other=0).to(tl.int64)
    own = tl.load(turns + place, there, other=-1)
    first = tl.load(turns + begin)
    last = tl.load(turns + tl.minimum(begin + ROWS, rows) - 1)
    acc = tl.zeros((ROWS, TILE), tl.float32)
    for start in tl.range(0, NARROW, NARROW_STEP, num_stages=STAGES):
        column = start + tl.arange(0, NARROW_STEP)
        if NARROW % NARROW_STEP == 0:
            of_h, of_d = there[:, None], is_output[None, :]
        else:
            of_h = there[:, None] & (column < NARROW)[None, :]
            of_d = is_output[None, :] & (column < NARROW)[:, None]
        h = tl.load(hidden + row[:, None] * NARROW + column[None, :], of_h, other=0.0)
        d = tl.load(decompressor + column_of_y[None, :] * NARROW + column[:, None], of_d, other=0.0)
        acc = tl.dot(h, d, acc, input_precision="ieee")
    steps: tl.constexpr = (SIZE + STEP - 1) // STEP
    source = x + row[:, None] * x_stride
    # Loaded a turn before it is needed: else Triton takes stages from x and the weights for it.
    fragment = tl.load(experts + first)
    for turn in tl.range(first * steps, (last + 1) * steps, num_stages=STAGES):
        within = (turn % steps) * STEP + tl.arange(0, STEP)
        feature = fragment * SIZE + within
        fragment = tl.load(experts + tl.minimum((turn + 1) // steps, last))
        if SIZE % STEP == 0:
            of_x, of_w = (own == turn // steps)[:, None], is_output[None, :]
        else:
            of_x = (own == turn // steps)[:, None] & (within < SIZE)[None, :]
            of_w = is_output[None, :] & (within < SIZE)[:, None]
        values = tl.load(source + feature[None, :], of_x, other=0.0)
        w = tl.load(weight + feature.to(tl.int64)[:, None] * OUTPUTS + output[None, :], of_w, other=0.0)
        acc = tl.dot(values, w, acc, input_precision="ieee")
    if HAS_BIAS:
        acc += tl.load(bias + output, is_output, other=0.0).to(tl.float32)[None, :]
    target = y + row[:, None] * OUTPUTS + output[None, :]
    tl.store(target, acc.to(y.dtype.element_ty), there[:, None] & is_output[None, :])
