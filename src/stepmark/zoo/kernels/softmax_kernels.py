# mypy: ignore-errors
"""Softmax of rows and its gradient: rows held in registers and read once, or wider ones, read twice."""

import triton
import triton.language as tl

from stepmark.zoo.kernels.row_pieces_kernels import dot_rows, load_rows, store_piece


@triton.jit(do_not_specialize=["num_rows"])
def softmax_forward(x, y, num_rows, WIDTH: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < num_rows
    pieces = load_rows(x, rows, inside, float("-inf"), ROWS, SIZE, WIDTH)
    top = pieces[0]
    for i in tl.static_range(1, len(pieces)):
        top = tl.maximum(top, pieces[i])
    largest = tl.max(top, 1)
    powers = (tl.exp(pieces[0] - largest[:, None]),)
    total = powers[0]
    for i in tl.static_range(1, len(pieces)):
        powers += (tl.exp(pieces[i] - largest[:, None]),)
        total += powers[i]
    share = 1.0 / tl.sum(total, 1)
    for i in tl.static_range(len(pieces)):
        store_piece(y, powers[i] * share[:, None], rows, inside, i * SIZE, ROWS, SIZE, WIDTH)


@triton.jit(do_not_specialize=["num_rows"])
def softmax_backward(dy, y, dx, num_rows, WIDTH: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr):
    """dx = y (dy - sum(y dy))"""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < num_rows
    shares = load_rows(y, rows, inside, 0.0, ROWS, SIZE, WIDTH)
    gradients = load_rows(dy, rows, inside, 0.0, ROWS, SIZE, WIDTH)
    along = dot_rows(shares, gradients)
    for i in tl.static_range(len(shares)):
        store_piece(
            dx, shares[i] * (gradients[i] - along[:, None]), rows, inside, i * SIZE, ROWS, SIZE, WIDTH
        )


@triton.jit
def softmax_forward_wide(x, y, width, SIZE: tl.constexpr):
    """One row per program. Every lane keeps the largest it has seen and the sum relative to it; they are
    brought to one scale at the end."""
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, SIZE)
    largest = tl.full((SIZE,), float("-inf"), tl.float32)
    total = tl.zeros((SIZE,), tl.float32)
    for first in range(0, width, SIZE):
        inside = first + lanes < width
        piece = tl.load(x + row + first + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, piece)
        # A lane that has seen nothing but -inf: a scale of its own would be -inf - -inf.
        scale = tl.where(larger == float("-inf"), 0.0, larger)
        total = total * tl.exp(largest - scale) + tl.exp(piece - scale)
        largest = larger
    top = tl.max(largest, 0)
    share = 1.0 / tl.sum(total * tl.exp(largest - top), 0)
    for first in range(0, width, SIZE):
        inside = first + lanes < width
        piece = tl.load(x + row + first + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row + first + lanes, (tl.exp(piece - top) * share).to(y.dtype.element_ty), mask=inside)


@triton.jit
def softmax_backward_wide(dy, y, dx, width, SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, SIZE)
    total = tl.zeros((SIZE,), tl.float32)
    for first in range(0, width, SIZE):
        inside = first + lanes < width
        share = tl.load(y + row + first + lanes, mask=inside, other=0.0).to(tl.float32)
        total += share * tl.load(dy + row + first + lanes, mask=inside, other=0.0).to(tl.float32)
    along = tl.sum(total, 0)
    for first in range(0, width, SIZE):
        inside = first + lanes < width
        share = tl.load(y + row + first + lanes, mask=inside, other=0.0).to(tl.float32)
        gradient = tl.load(dy + row + first + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx + row + first + lanes, (share * (gradient - along)).to(dx.dtype.element_ty), mask=inside)
