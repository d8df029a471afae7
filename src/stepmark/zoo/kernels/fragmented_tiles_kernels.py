# mypy: ignore-errors
"""Triton kernels of FragmentedLinear for many rows: tiles of rows through the matrix units, float32 exactly.

Splits and scratch are those of fragmented_rows_kernels. A split's fragments come one after another; when a
better one comes, what was summed before it becomes the sum without the best one.
"""

import triton
import triton.language as tl

from stepmark.zoo.kernels.fragmented_rows_kernels import after_previous_kernel, let_next_kernel_start


@triton.jit
def narrow_tiles(
    x, selector, compressor, scratch, rows, x_stride, SIZE: tl.constexpr, FRAGMENTS: tl.constexpr,
    NARROW: tl.constexpr, SPLITS: tl.constexpr, SPLIT: tl.constexpr, OWN: tl.constexpr,
    PIECES: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """A split's part of ROWS rows' scores and, TILE of them, of their narrow features."""
    split = tl.program_id(0)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    row = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    after_previous_kernel(PDL)
    let_next_kernel_start(PDL)
    LENGTH: tl.constexpr = SPLIT if PIECES > 1 else SIZE
    fragment = split // PIECES * OWN
    begin = (split % PIECES) * SPLIT
    number = tl.minimum(OWN, FRAGMENTS - fragment)
    total = tl.zeros((ROWS, TILE), tl.float32)
    others = tl.zeros((ROWS, TILE), tl.float32)
    part = tl.zeros((ROWS, TILE), tl.float32)
    score = tl.zeros((ROWS,), tl.float32)
    best = tl.full((ROWS,), float("-inf"), tl.float32)
    place = tl.zeros((ROWS,), tl.int32)
    steps = tl.cdiv(LENGTH, STEP)
    there = row < rows
    source = x + row.to(tl.int64)[:, None] * x_stride
    for turn in tl.range(0, number * steps, num_stages=STAGES):
        within = begin + (turn % steps) * STEP + tl.arange(0, STEP)
        inside = within < tl.minimum(begin + LENGTH, SIZE)
        feature = (fragment + turn // steps) * SIZE + within
        values = tl.load(source + feature[None, :], there[:, None] & inside[None, :], other=0.0)
        weights = tl.load(
            compressor + feature[:, None] * NARROW + column[None, :],
            inside[:, None] & (column < NARROW)[None, :],
            other=0.0,
        )
        s = tl.load(selector + feature, inside, other=0.0).to(tl.float32)
        score += tl.sum(values.to(tl.float32) * s[None, :], 1)
        part = tl.dot(values, weights, part, input_precision="ieee")
        if OWN > 1:  # noqa: SIM102
            if turn % steps == steps - 1:
                score = tl.where(score == score, score, float("inf"))
                better = (score > best) | (turn < steps)
                others = tl.where(better[:, None], total, others + part)
                best = tl.where(better, score, best)
                place = tl.where(better, turn // steps, place)
                total += part
                part = tl.zeros((ROWS, TILE), tl.float32)
                score = tl.zeros((ROWS,), tl.float32)
    if OWN == 1:
        total = part
        best = score
    known = there[:, None] & (column < NARROW)[None, :]
    sums = scratch + (row.to(tl.int64) * 2 * SPLITS + split)[:, None] * NARROW + column[None, :]
    tl.store(sums, total, known)
    if OWN > 1:
        tl.store(sums + SPLITS * NARROW, others, known)
    if tl.program_id(1) == 0:
        scores = scratch + tl.cast(rows, tl.int64) * 2 * SPLITS * NARROW
        tl.store(scores + row * SPLITS + split, best, there)
        tl.store(scores + (rows + row) * SPLITS + split, place.to(tl.float32), there)


@triton.jit
def _narrow_part(
    acc,
    hidden,
    decompressor,
    row,
    there,
    output,
    NARROW: tl.constexpr,
    OUTPUTS: tl.constexpr,
    STEP: tl.constexpr,
):
    """Plus the rows' narrow features times TILE outputs of the decompressor."""
    for first in range(0, NARROW, STEP):
        column = first + tl.arange(0, STEP)
        h = tl.load(
            hidden + row.to(tl.int64)[:, None] * NARROW + column[None, :],
            there[:, None] & (column < NARROW)[None, :],
            other=0.0,
        )
        d = tl.load(
            decompressor + output.to(tl.int64)[None, :] * NARROW + column[:, None],
            (column < NARROW)[:, None] & (output < OUTPUTS)[None, :],
            other=0.0,
        )
        acc = tl.dot(h.to(d.dtype), d, acc, input_precision="ieee")
    return acc


@triton.jit
def _one_by_one(
    acc, x, weight, chosen, first_row, rows, x_stride, output, SIZE: tl.constexpr, OUTPUTS: tl.constexpr,
    ROWS: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Plus every row's fragment, read for it alone."""
    number = tl.arange(0, ROWS)
    steps = tl.cdiv(SIZE, STEP)
    for turn in tl.range(0, tl.minimum(rows - first_row, ROWS) * steps, num_stages=STAGES):
        one = turn // steps
        now = tl.load(chosen + first_row + one)
        within = (turn % steps) * STEP + tl.arange(0, STEP)
        inside = within < SIZE
        feature = now * SIZE + within
        values = tl.load(x + tl.cast(first_row + one, tl.int64) * x_stride + feature, inside, other=0.0)
        weights = tl.load(
            weight + feature.to(tl.int64)[:, None] * OUTPUTS + output[None, :],
            inside[:, None] & (output < OUTPUTS)[None, :],
            other=0.0,
        )
        part = tl.sum(weights.to(tl.float32) * values.to(tl.float32)[:, None], 0)
        acc += tl.where((number == one)[:, None], part[None, :], 0.0)
    return acc


@triton.jit
def _each_once(
    acc, x, weight, fragment, of_columns, first_row, rows, x_stride, output, SIZE: tl.constexpr,
    OUTPUTS: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Plus the rows' fragments, each read once for all rows that chose it; the first of them leads."""
    number = tl.arange(0, ROWS)
    row = first_row + number
    there = row < rows
    steps = tl.cdiv(SIZE, STEP)
    same = fragment[:, None] == of_columns[None, :]
    earlier = number[None, :] < number[:, None]
    leads = there & (tl.sum((same & earlier).to(tl.int32), 1) == 0)
    rank = tl.cumsum(leads.to(tl.int32), 0) - 1
    source = x + row.to(tl.int64)[:, None] * x_stride
    for turn in tl.range(0, tl.sum(leads.to(tl.int32), 0) * steps, num_stages=STAGES):
        now = tl.sum(tl.where(leads & (rank == turn // steps), fragment, 0), 0)
        within = (turn % steps) * STEP + tl.arange(0, STEP)
        inside = within < SIZE
        feature = now * SIZE + within
        mine = (fragment == now)[:, None] & inside[None, :]
        values = tl.load(source + feature[None, :], mine, other=0.0)
        weights = tl.load(
            weight + feature.to(tl.int64)[:, None] * OUTPUTS + output[None, :],
            inside[:, None] & (output < OUTPUTS)[None, :],
            other=0.0,
        )
        acc = tl.dot(values, weights, acc, input_precision="ieee")
    return acc


@triton.jit
def expert_tiles(
    x, weight, decompressor, bias, hidden, chosen, y, rows, x_stride, SIZE: tl.constexpr,
    OUTPUTS: tl.constexpr, NARROW: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
    STAGES: tl.constexpr, HAS_BIAS: tl.constexpr, ONE_BY_ONE: tl.constexpr, COLUMNS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """TILE outputs of ROWS rows: every fragment that one of them chose is read once and multiplied with all
    of them, noughts for those that chose another. ONE_BY_ONE: each row's fragment is read for it alone, which
    is less to compute and, where rows chose the same, more to read. COLUMNS: all of the decompressor's fit
    into registers; they are loaded before the choice is known, and multiplied last."""
    output = tl.program_id(0) * TILE + tl.arange(0, TILE)
    number = tl.arange(0, ROWS)
    first_row = tl.program_id(1) * ROWS
    row = first_row + number
    there = row < rows
    if COLUMNS > 0:
        column = tl.arange(0, COLUMNS)
        narrow = tl.load(
            decompressor + output.to(tl.int64)[None, :] * NARROW + column[:, None],
            (column < NARROW)[:, None] & (output < OUTPUTS)[None, :],
            other=0.0,
        )
    after_previous_kernel(PDL)
    if not ONE_BY_ONE:  # before the narrow part, which does not wait for them
        fragment = tl.load(chosen + row, there, other=-1)
        of_columns = tl.load(chosen + first_row + number, there, other=-1)
    acc = tl.zeros((ROWS, TILE), tl.float32)
    if COLUMNS > 0:
        h = tl.load(
            hidden + row.to(tl.int64)[:, None] * NARROW + column[None, :],
            there[:, None] & (column < NARROW)[None, :],
            other=0.0,
        )
    else:
        acc = _narrow_part(acc, hidden, decompressor, row, there, output, NARROW, OUTPUTS, STEP)
    if HAS_BIAS:
        acc += tl.load(bias + output, output < OUTPUTS, other=0.0).to(tl.float32)[None, :]
    if ONE_BY_ONE:
        acc = _one_by_one(
            acc, x, weight, chosen, first_row, rows, x_stride, output, SIZE, OUTPUTS, ROWS, STEP, STAGES
        )
    else:
        acc = _each_once(
            acc, x, weight, fragment, of_columns, first_row, rows, x_stride, output, SIZE, OUTPUTS, ROWS,
            STEP, STAGES,
        )  # fmt: skip
    if COLUMNS > 0:
        acc = tl.dot(h.to(narrow.dtype), narrow, acc, input_precision="ieee")
    known = there[:, None] & (output < OUTPUTS)[None, :]
    tl.store(y + row.to(tl.int64)[:, None] * OUTPUTS + output[None, :], acc.to(y.dtype.element_ty), known)
    let_next_kernel_start(PDL)


@triton.jit
def expert_groups(
    x, weight, decompressor, bias, hidden, counts, slots, y, rows, x_stride, SIZE: tl.constexpr,
    FRAGMENTS: tl.constexpr, ALL_FRAGMENTS: tl.constexpr, OUTPUTS: tl.constexpr, NARROW: tl.constexpr,
    ROWS: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr, SPAN: tl.constexpr,
    HAS_BIAS: tl.constexpr, ADD: tl.constexpr,
):  # fmt: skip
    """SPAN times TILE outputs of up to ROWS rows that chose the same fragment; ADD, the narrow part is there
    already. More programs start than there are such tiles of rows, because how many there are is known on the
    device alone; the rest end at once."""
    tile = tl.program_id(1)
    each = tl.arange(0, ALL_FRAGMENTS)
    count = tl.load(counts + each, each < FRAGMENTS, other=0)
    tiles = (count + ROWS - 1) // ROWS
    ends = tl.cumsum(tiles, 0)
    fragment = tl.sum((ends <= tile).to(tl.int32), 0)
    if fragment >= FRAGMENTS:
        return
    mine = each == fragment
    first = (tile - tl.sum(tl.where(mine, ends - tiles, 0), 0)) * ROWS
    slot = first + tl.arange(0, ROWS)
    there = slot < tl.sum(tl.where(mine, count, 0), 0)
    row = tl.load(slots + fragment.to(tl.int64) * rows + slot, there, other=0)
    source = x + row.to(tl.int64)[:, None] * x_stride + fragment * SIZE
    weights = weight + fragment.to(tl.int64) * SIZE * OUTPUTS
    for part in range(SPAN):
        output = (tl.program_id(0) * SPAN + part) * TILE + tl.arange(0, TILE)
        known = there[:, None] & (output < OUTPUTS)[None, :]
        target = y + row.to(tl.int64)[:, None] * OUTPUTS + output[None, :]
        acc = tl.zeros((ROWS, TILE), tl.float32)
        for first_feature in tl.range(0, SIZE, STEP, num_stages=STAGES):
            within = first_feature + tl.arange(0, STEP)
            inside = within < SIZE
            values = tl.load(source + within[None, :], there[:, None] & inside[None, :], other=0.0)
            w = tl.load(
                weights + within.to(tl.int64)[:, None] * OUTPUTS + output[None, :],
                inside[:, None] & (output < OUTPUTS)[None, :],
                other=0.0,
            )
            acc = tl.dot(values, w, acc, input_precision="ieee")
        if ADD:
            acc += tl.load(target, known, other=0.0).to(tl.float32)
        else:
            acc = _narrow_part(acc, hidden, decompressor, row, there, output, NARROW, OUTPUTS, STEP)
            if HAS_BIAS:
                acc += tl.load(bias + output, output < OUTPUTS, other=0.0).to(tl.float32)[None, :]
        tl.store(target, acc.to(y.dtype.element_ty), known)
