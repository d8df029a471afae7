# mypy: ignore-errors
"""Rows as pieces: a tile of rows held in registers as blocks of columns of one power-of-two size.

A width that is no power of two wastes less this way (768 = 3 x 256), and sums over a row are added up
block by block before the lanes meet, once.
"""

import triton
import triton.language as tl


@triton.jit
def is_inside(inside, START: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """Which entries of a piece exist; along whole pieces a mask of rows alone, so that loads stay wide."""
    if START + SIZE > WIDTH:
        return inside[:, None] & (START + tl.arange(0, SIZE) < WIDTH)[None, :]
    return inside[:, None] & (tl.arange(0, SIZE) < SIZE)[None, :]


@triton.jit
def load_rows(base, rows, inside, other, ROWS: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """The rows' pieces in float32, `other` where there is nothing. A single row exists: no program starts
    without one."""
    pieces = ()
    for i in tl.static_range((WIDTH + SIZE - 1) // SIZE):
        here = base + rows.to(tl.int64)[:, None] * WIDTH + (i * SIZE + tl.arange(0, SIZE))[None, :]
        if ROWS == 1 and (i + 1) * SIZE <= WIDTH:
            pieces += (tl.load(here).to(tl.float32),)
        else:
            mask = is_inside(inside, i * SIZE, SIZE, WIDTH)
            pieces += (tl.load(here, mask=mask, other=other).to(tl.float32),)
    return pieces


@triton.jit
def store_piece(
    base, piece, rows, inside,
    START: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    here = base + rows.to(tl.int64)[:, None] * WIDTH + (START + tl.arange(0, SIZE))[None, :]
    piece = piece.to(base.dtype.element_ty)
    if ROWS == 1 and START + SIZE <= WIDTH:
        tl.store(here, piece)
    else:
        tl.store(here, piece, mask=is_inside(inside, START, SIZE, WIDTH))


@triton.jit
def load_vector(base, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """The pieces of one vector, (1, SIZE) each, in float32."""
    pieces = ()
    for i in tl.static_range((WIDTH + SIZE - 1) // SIZE):
        columns = i * SIZE + tl.arange(0, SIZE)
        if (i + 1) * SIZE > WIDTH:
            piece = tl.load(base + columns, mask=columns < WIDTH, other=0.0)
        else:
            piece = tl.load(base + columns)
        pieces += (piece.to(tl.float32)[None, :],)
    return pieces


@triton.jit
def zeros(ROWS: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    pieces = ()
    for _ in tl.static_range((WIDTH + SIZE - 1) // SIZE):
        pieces += (tl.zeros((ROWS, SIZE), tl.float32),)
    return pieces


@triton.jit
def sum_rows(pieces):
    total = pieces[0]
    for i in tl.static_range(1, len(pieces)):
        total += pieces[i]
    return tl.sum(total, 1)


@triton.jit
def dot_rows(pieces, others):
    total = pieces[0] * others[0]
    for i in tl.static_range(1, len(pieces)):
        total += pieces[i] * others[i]
    return tl.sum(total, 1)
