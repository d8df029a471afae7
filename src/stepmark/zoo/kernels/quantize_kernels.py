# mypy: ignore-errors
"""Quantisers in Triton: absolute maxima as the bits of float32, and codes from one more look at the values.

The bits of |x| in float32, read as whole numbers, have the order of the magnitudes, with infinity above every
number and NaN above infinity: one integer maximum finds the scale and loses neither.
Rounding halves to even is one addition: x + 1.5 * 2^23 has the nearest whole number in its lowest bits.
"""

import triton
import triton.language as tl

LEAST = tl.constexpr(2.0**-120)
HALF_WAY = tl.constexpr(1.5 * 2.0**23)


@triton.jit
def _magnitude(x):
    return x.to(tl.float32).to(tl.int32, bitcast=True) & 0x7FFFFFFF


@triton.jit
def _as_scale(magnitude):
    return magnitude.to(tl.float32, bitcast=True)


@triton.jit
def _inverse(scale, LARGEST: tl.constexpr):
    """LARGEST / scale by way of 1 / scale, as torch divides a number by a tensor, to the last bit."""
    usable = scale > LEAST
    one = tl.full(scale.shape, 1.0, tl.float32)
    return tl.where(usable, tl.math.div_rn(one, tl.where(usable, scale, 1.0)) * LARGEST, 0.0)


@triton.jit
def _codes(x, inverse, FP8: tl.constexpr):
    """As bytes, whatever they mean."""
    product = x.to(tl.float32) * inverse
    if FP8:
        codes = product.to(tl.float8e4nv).to(tl.int8, bitcast=True)
    else:
        codes = (product + HALF_WAY).to(tl.int32, bitcast=True).to(tl.int8)
    return codes


@triton.jit
def quantize_rows(
    x,
    codes,
    scale,
    num_rows,
    width,
    x_stride,
    code_stride,
    LARGEST: tl.constexpr,
    FP8: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """ROWS whole rows a program, held in registers between the two looks."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < num_rows) & (column < width)
    values = tl.load(x + row * x_stride + column, mask=inside, other=0.0)
    top = _as_scale(tl.max(_magnitude(values), 1))[:, None]
    tl.store(scale + row, top, mask=row < num_rows)
    found = _codes(values, _inverse(top, LARGEST), FP8)
    tl.store(codes + row * code_stride + column, found, mask=inside)


@triton.jit
def quantize_long_row(
    x,
    codes,
    scale,
    width,
    x_stride,
    code_stride,
    LARGEST: tl.constexpr,
    FP8: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row a program, too long for registers: the second look finds it in the cache."""
    row = tl.program_id(0).to(tl.int64)
    x += row * x_stride
    codes += row * code_stride
    most = tl.zeros((BLOCK,), tl.int32)
    for begin in range(0, width, BLOCK):
        column = begin + tl.arange(0, BLOCK)
        most = tl.maximum(most, _magnitude(tl.load(x + column, mask=column < width, other=0.0)))
    top = _as_scale(tl.max(most, 0))
    tl.store(scale + row, top)
    inverse = _inverse(top, LARGEST)
    for begin in range(0, width, BLOCK):
        column = begin + tl.arange(0, BLOCK)
        values = tl.load(x + column, mask=column < width, other=0.0)
        found = _codes(values, inverse, FP8)
        tl.store(codes + column, found, mask=column < width)


@triton.jit
def _tile(num_rows, num_columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    return row, column, (row < num_rows)[:, None] & (column < num_columns)[None, :]


@triton.jit
def matrix_maxima(
    w,
    row_top,
    column_top,
    num_rows,
    num_columns,
    w_stride,
    BY_ROW: tl.constexpr,
    BY_COLUMN: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Maxima of the magnitudes' bits by row, by column, or (neither) of the whole, into integers that begin
    as nought. A program takes STEPS tiles, one below the other, so that a column has one atomic maximum for
    all of them. (Before: 6 us with 64 of them for each column of 4096 x 1024 on an H200, 13 us with 128; that
    those at one place wait for each other is the likely reason, not a tested one.)"""
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    most = tl.zeros((ROWS, COLUMNS), tl.int32)
    for step in range(STEPS):
        row = (tl.program_id(0).to(tl.int64) * STEPS + step) * ROWS + tl.arange(0, ROWS)
        inside = (row < num_rows)[:, None] & (column < num_columns)[None, :]
        found = _magnitude(tl.load(w + row[:, None] * w_stride + column[None, :], mask=inside, other=0.0))
        if BY_ROW:
            tl.atomic_max(row_top + row, tl.max(found, 1), mask=row < num_rows, sem="relaxed")
        most = tl.maximum(most, found)
    if BY_COLUMN:
        tl.atomic_max(column_top + column, tl.max(most, 0), mask=column < num_columns, sem="relaxed")
    if not BY_ROW and not BY_COLUMN:
        tl.atomic_max(row_top, tl.max(tl.max(most, 1), 0), sem="relaxed")


@triton.jit
def matrix_codes(
    w,
    codes,
    turned,
    row_scale,
    column_scale,
    num_rows,
    num_columns,
    w_stride,
    code_stride,
    turned_stride,
    LARGEST: tl.constexpr,
    FP8: tl.constexpr,
    ONE_SCALE: tl.constexpr,
    STRAIGHT: tl.constexpr,
    TURNED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """From one read of a tile: codes by the row's scale as they lie, and by the column's scale turned.

    Codes by one scale are the same both ways round. In fp8 they are computed twice all the same: turned from
    what was also stored straight, they came out wrong on an H200 (Triton 3.6), where codes by two scales and
    codes in int8 came out right."""
    row, column, inside = _tile(num_rows, num_columns, ROWS, COLUMNS)
    values = tl.load(w + row[:, None] * w_stride + column[None, :], mask=inside, other=0.0)
    if ONE_SCALE and not FP8:
        by_row = _codes(values, _inverse(tl.load(row_scale), LARGEST), FP8)
        by_column = by_row
    else:
        STEP: tl.constexpr = 0 if ONE_SCALE else 1
        if STRAIGHT:
            scale = tl.load(row_scale + row * STEP, mask=row < num_rows, other=0.0)
            by_row = _codes(values, _inverse(scale, LARGEST)[:, None], FP8)
        if TURNED:
            scale = tl.load(column_scale + column * STEP, mask=column < num_columns, other=0.0)
            by_column = _codes(values, _inverse(scale, LARGEST)[None, :], FP8)
    if STRAIGHT:
        tl.store(codes + row[:, None] * code_stride + column[None, :], by_row, mask=inside)
    if TURNED:
        where = turned + column[:, None].to(tl.int64) * turned_stride + row[None, :]
        tl.store(where, tl.trans(by_column), mask=tl.trans(inside))


@triton.jit
def dequantize_rows(
    codes,
    scale,
    x,
    num_rows,
    width,
    code_stride,
    LARGEST: tl.constexpr,
    FP8: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """What codes stand for: scale / LARGEST times the code, rounded once."""
    row, column, inside = _tile(num_rows, width, ROWS, BLOCK)
    unit = tl.load(scale + row, mask=row < num_rows, other=0.0) / LARGEST
    found = tl.load(codes + row[:, None] * code_stride + column[None, :], mask=inside, other=0)
    if FP8:
        found = found.to(tl.float8e4nv, bitcast=True)
    values = found.to(tl.float32) * unit[:, None]
    tl.store(x + row[:, None] * width + column[None, :], values.to(x.dtype.element_ty), mask=inside)
