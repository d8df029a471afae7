# mypy: ignore-errors
"""RMSNorm and LayerNorm of rows: forward, backward with partial weight gradients, and their sum."""

import triton
import triton.language as tl

from stepmark.zoo.kernels.row_pieces_kernels import (
    dot_rows,
    is_inside,
    load_rows,
    load_vector,
    store_piece,
    sum_rows,
    zeros,
)


@triton.jit(do_not_specialize=["num_rows"])
def norm_forward(
    x, weight, bias, y, moments, num_rows, eps,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr, CENTRED: tl.constexpr,
):  # fmt: skip
    """One tile of rows per program, read once. `moments` are the rows' 1 / deviation and, where CENTRED, then
    their means; or None, where nobody asks for gradients."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < num_rows
    pieces = load_rows(x, rows, inside, 0.0, ROWS, SIZE, WIDTH)
    if CENTRED:
        centre = sum_rows(pieces) / WIDTH
        shifted = ()
        for i in tl.static_range(len(pieces)):
            deviation = pieces[i] - centre[:, None]
            if (i + 1) * SIZE > WIDTH:
                # Where there is nothing there is no deviation either.
                deviation = tl.where(is_inside(inside, i * SIZE, SIZE, WIDTH), deviation, 0.0)
            shifted += (deviation,)
        pieces = shifted
        if moments is not None:
            tl.store(moments + num_rows + rows, centre, mask=inside)
    scale = tl.rsqrt(dot_rows(pieces, pieces) / WIDTH + eps)
    if moments is not None:
        tl.store(moments + rows, scale, mask=inside)
    if weight is not None:
        weights = load_vector(weight, SIZE, WIDTH)
    if bias is not None:
        biases = load_vector(bias, SIZE, WIDTH)
    for i in tl.static_range(len(pieces)):
        normed = pieces[i] * scale[:, None]
        if weight is not None:
            normed = normed * weights[i]
        if bias is not None:
            normed = normed + biases[i]
        store_piece(y, normed, rows, inside, i * SIZE, ROWS, SIZE, WIDTH)


@triton.jit
def row_gradients(
    dy, x, weights, moments, dx, tile, num_rows,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr, CENTRED: tl.constexpr,
):  # fmt: skip
    """dx of one tile, written; its dy and its normed rows."""
    rows = tile * ROWS + tl.arange(0, ROWS)
    inside = rows < num_rows
    gradients = load_rows(dy, rows, inside, 0.0, ROWS, SIZE, WIDTH)
    pieces = load_rows(x, rows, inside, 0.0, ROWS, SIZE, WIDTH)
    scale = tl.load(moments + rows, mask=inside, other=0.0)
    if CENTRED:
        centre = tl.load(moments + num_rows + rows, mask=inside, other=0.0)
    normed = ()
    weighted = ()
    for i in tl.static_range(len(pieces)):
        piece = pieces[i]
        if CENTRED:
            piece = piece - centre[:, None]
        normed += (piece * scale[:, None],)
        if weights is not None:
            weighted += (gradients[i] * weights[i],)
        else:
            weighted += (gradients[i],)
    # Beyond the width gradients are zero: what stands in `normed` there reaches no sum.
    along = dot_rows(weighted, normed) / WIDTH
    if CENTRED:
        across = sum_rows(weighted) / WIDTH
    for i in tl.static_range(len(pieces)):
        change = weighted[i] - normed[i] * along[:, None]
        if CENTRED:
            change = change - across[:, None]
        store_piece(dx, change * scale[:, None], rows, inside, i * SIZE, ROWS, SIZE, WIDTH)
    return gradients, normed


@triton.jit(do_not_specialize=["num_rows"])
def norm_backward(
    dy, x, weight, moments, dx, parts, num_rows,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr, CENTRED: tl.constexpr,
    WEIGHTED: tl.constexpr, BIASED: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Tiles of rows in strides of the grid. Each program adds up its share of the weight's gradient, where it
    is wanted, and writes it to its own row of `parts` (programs, WIDTH); the bias' to rows after these."""
    weights = None
    if weight is not None:
        weights = load_vector(weight, SIZE, WIDTH)
    dweight = zeros(ROWS, SIZE, WIDTH)
    dbias = zeros(ROWS, SIZE, WIDTH)
    program = tl.program_id(0)
    for tile in tl.range(program, tl.cdiv(num_rows, ROWS), tl.num_programs(0), num_stages=STAGES):
        gradients, normed = row_gradients(
            dy, x, weights, moments, dx, tile, num_rows, WIDTH, SIZE, ROWS, CENTRED
        )
        more_weight = ()
        more_bias = ()
        for i in tl.static_range((WIDTH + SIZE - 1) // SIZE):
            more_weight += (dweight[i] + gradients[i] * normed[i],)
            more_bias += (dbias[i] + gradients[i],)
        dweight = more_weight
        dbias = more_bias
    for i in tl.static_range((WIDTH + SIZE - 1) // SIZE):
        columns = i * SIZE + tl.arange(0, SIZE)
        if WEIGHTED or BIASED:
            own = parts + program * WIDTH + columns
        if WEIGHTED:
            tl.store(own, tl.sum(dweight[i], 0), mask=columns < WIDTH)
            own += tl.num_programs(0) * WIDTH
        if BIASED:
            tl.store(own, tl.sum(dbias[i], 0), mask=columns < WIDTH)


@triton.jit
def sum_columns(
    parts, total, columns, inside, count, WIDTH: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr
):
    """Of (count, WIDTH), added up in float32, in an order that depends on nothing but count."""
    summed = tl.zeros((DEPTH, COLUMNS), tl.float32)
    for first in range(0, count, DEPTH):
        rows = first + tl.arange(0, DEPTH)
        here = parts + rows[:, None] * WIDTH + columns[None, :]
        summed += tl.load(here, mask=(rows < count)[:, None] & inside[None, :], other=0.0)
    tl.store(total + columns, tl.sum(summed, 0).to(total.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["count"])
def sum_parts(parts, dweight, dbias, count, WIDTH: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """Either gradient may be None; where neither is, the grid's second dimension is 2."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    if dbias is None:
        sum_columns(parts, dweight, columns, inside, count, WIDTH, COLUMNS, DEPTH)
    elif dweight is None:
        sum_columns(parts, dbias, columns, inside, count, WIDTH, COLUMNS, DEPTH)
    elif tl.program_id(1) == 0:
        sum_columns(parts, dweight, columns, inside, count, WIDTH, COLUMNS, DEPTH)
    else:
        sum_columns(parts + count * WIDTH, dbias, columns, inside, count, WIDTH, COLUMNS, DEPTH)
