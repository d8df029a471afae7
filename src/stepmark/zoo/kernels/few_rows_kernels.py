# mypy: ignore-errors
"""Triton kernels of products of few rows: the depth is cut into splits, which another launch adds up."""

import triton
import triton.language as tl


@triton.jit
def few_rows_product(
    a, b, c, rows, depth, columns, b_stride, b_step, ROWS: tl.constexpr, TILE: tl.constexpr,
    STEP: tl.constexpr, STAGES: tl.constexpr, AT_ONCE: tl.constexpr, SPLITS: tl.constexpr, ADD: tl.constexpr,
):  # fmt: skip
    """a (rows, depth) times b (depth, columns) with any strides, into c or added to it; of several splits
    each into its own (rows, columns) of c. Sums of AT_ONCE steps are added to those before: one long chain of
    float32 sums would lose two bits more."""
    row = tl.arange(0, ROWS)
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    split = tl.program_id(1)
    steps = tl.cdiv(tl.cdiv(depth, STEP), SPLITS)
    total = tl.zeros((ROWS, TILE), tl.float32)
    acc = tl.zeros((ROWS, TILE), tl.float32)
    there, inside = row < rows, column < columns
    for turn in tl.range(0, steps, num_stages=STAGES):
        k = (split * steps + turn) * STEP + tl.arange(0, STEP)
        left = tl.load(
            a + row.to(tl.int64)[:, None] * depth + k[None, :],
            there[:, None] & (k < depth)[None, :],
            other=0.0,
        )
        right = tl.load(
            b + k.to(tl.int64)[:, None] * b_stride + column.to(tl.int64)[None, :] * b_step,
            (k < depth)[:, None] & inside[None, :],
            other=0.0,
        )
        acc = tl.dot(left, right, acc, input_precision="tf32x3")
        if turn % AT_ONCE == AT_ONCE - 1:
            total += acc
            acc = tl.zeros((ROWS, TILE), tl.float32)
    acc += total
    target = c + (split * rows + row).to(tl.int64)[:, None] * columns + column[None, :]
    known = there[:, None] & inside[None, :]
    if ADD:
        acc += tl.load(target, known, other=0.0).to(tl.float32)
    tl.store(target, acc.to(c.dtype.element_ty), known)


@triton.jit
def add_splits(parts, c, number, SPLITS: tl.constexpr, AT_ONCE: tl.constexpr, ADD: tl.constexpr):
    """The sums of all splits, `number` each, into c or added to it."""
    at = tl.program_id(0).to(tl.int64) * AT_ONCE + tl.arange(0, AT_ONCE)
    inside = at < number
    total = tl.zeros((AT_ONCE,), tl.float32)
    for split in tl.static_range(SPLITS):
        total += tl.load(parts + tl.cast(number, tl.int64) * split + at, inside, other=0.0)
    if ADD:
        total += tl.load(c + at, inside, other=0.0)
    tl.store(c + at, total, inside)


@triton.jit
def few_rows_gradient(
    a, b, c, rows, height, width, ROWS: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr
):  # fmt: skip
    """c (height, width) = a turned times b, of a (rows, height) and b (rows, width)."""
    line = tl.program_id(1) * HEIGHT + tl.arange(0, HEIGHT)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    is_line, is_column = line < height, column < width
    total = tl.zeros((HEIGHT, WIDTH), tl.float32)
    for row in tl.static_range(ROWS):
        there = row < rows
        left = tl.load(a + tl.cast(height, tl.int64) * row + line, is_line & there, other=0.0)
        right = tl.load(b + tl.cast(width, tl.int64) * row + column, is_column & there, other=0.0)
        total += left[:, None] * right[None, :]
    target = c + line.to(tl.int64)[:, None] * width + column[None, :]
    tl.store(target, total, is_line[:, None] & is_column[None, :])
