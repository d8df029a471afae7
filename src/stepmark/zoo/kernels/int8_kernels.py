# mypy: ignore-errors
"""The product of codes in Triton: tiles through TMA, and scales and bias applied before the only store.

On sm_90 int8 reaches the matrix units only with both operands contiguous along the summed dimension, in tiles
whose rows are a multiple of 64 with 8 warps (two warpgroups; one alone reaches about half the rate).
"""

import triton
import triton.language as tl


@triton.jit
def _tile_place(tile, num_down, num_across, GROUP: tl.constexpr):
    """Tiles in bands of GROUP rows, so that tiles computed at the same time share rows and columns in L2."""
    in_band = GROUP * num_across
    first = tile // in_band * GROUP
    height = tl.minimum(num_down - first, GROUP)
    return first + tile % in_band % height, tile % in_band // height


@triton.jit
def _units(scale, first, size, COUNT: tl.constexpr, UNIT: tl.constexpr):
    place = first + tl.arange(0, COUNT)
    return tl.load(scale + place, mask=place < size, other=0.0) * UNIT


@triton.jit
def _finish(
    y,
    sums,
    x_unit,
    w_unit,
    bias,
    row,
    column,
    m,
    n,
    BIAS: tl.constexpr,
    BY_DESCRIPTOR: tl.constexpr,
):
    """Scale a tile of sums whose first corner is (row, column), add the bias, store."""
    HEIGHT: tl.constexpr = sums.shape[0]
    WIDTH: tl.constexpr = sums.shape[1]
    columns = column + tl.arange(0, WIDTH)
    values = sums.to(tl.float32) * x_unit[:, None] * w_unit[None, :]
    if BIAS:
        values += tl.load(bias + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
    if BY_DESCRIPTOR:
        y.store([row, column], values.to(y.dtype))
    else:
        rows = row + tl.arange(0, HEIGHT)
        place = y + rows[:, None].to(tl.int64) * n + columns[None, :]
        tl.store(place, values.to(y.dtype.element_ty), mask=(rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def scaled_product(
    x8,
    w8,
    y,
    x_scale,
    w_scale,
    bias,
    m,
    n,
    k,
    UNIT: tl.constexpr,
    SUMS: tl.constexpr,
    ONE_SCALE: tl.constexpr,
    BIAS: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    PARTS: tl.constexpr,
    BY_DESCRIPTOR: tl.constexpr,
    FLAT: tl.constexpr,
    EARLY: tl.constexpr,
):
    """Each program takes every num_programs-th tile of y. FLAT lets the next tile's first loads run during
    the store of the last; EARLY loads the scales before the sums, so that nobody waits for them."""
    num_down = tl.cdiv(m, HEIGHT)
    num_across = tl.cdiv(n, WIDTH)
    for tile in tl.range(tl.program_id(0), num_down * num_across, tl.num_programs(0), flatten=FLAT):
        down, across = _tile_place(tile, num_down, num_across, GROUP)
        row = down * HEIGHT
        column = across * WIDTH
        if EARLY:
            x_unit = _units(x_scale, row, m, HEIGHT, UNIT)
            if not ONE_SCALE:
                w_unit = _units(w_scale, column, n, WIDTH, UNIT)
        sums = tl.zeros((HEIGHT, WIDTH), SUMS)
        for step in range(tl.cdiv(k, DEPTH)):
            left = x8.load([row, step * DEPTH])
            right = w8.load([column, step * DEPTH])
            sums = tl.dot(left, right.T, sums, out_dtype=SUMS)
        if not EARLY:
            x_unit = _units(x_scale, row, m, HEIGHT, UNIT)
            if not ONE_SCALE:
                w_unit = _units(w_scale, column, n, WIDTH, UNIT)
        if ONE_SCALE:
            w_unit = tl.full((WIDTH,), UNIT, tl.float32) * tl.load(w_scale)
        if PARTS == 1:
            _finish(y, sums, x_unit, w_unit, bias, row, column, m, n, BIAS, BY_DESCRIPTOR)
        else:
            HALF: tl.constexpr = WIDTH // 2
            left, right = tl.split(tl.permute(tl.reshape(sums, (HEIGHT, 2, HALF)), (0, 2, 1)))
            left_unit, right_unit = tl.split(tl.permute(tl.reshape(w_unit, (2, HALF)), (1, 0)))
            _finish(y, left, x_unit, left_unit, bias, row, column, m, n, BIAS, BY_DESCRIPTOR)
            _finish(y, right, x_unit, right_unit, bias, row, column + HALF, m, n, BIAS, BY_DESCRIPTOR)
