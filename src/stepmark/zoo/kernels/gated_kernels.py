# mypy: ignore-errors
"""Triton kernels of SwiGLU's gate: silu of one half of a row times the other half, and its gradient."""

import triton
import triton.language as tl


@triton.jit
def gate_kernel(packed, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    source = packed + row * 2 * width + column
    gate = tl.load(source, inside).to(tl.float32)
    up = tl.load(source + width, inside).to(tl.float32)
    gated = gate * tl.sigmoid(gate) * up
    tl.store(out + row * width + column, gated.to(out.dtype.element_ty), inside)


@triton.jit
def gate_gradient_kernel(packed, gradient, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    place = row * 2 * width + column
    gate = tl.load(packed + place, inside).to(tl.float32)
    up = tl.load(packed + place + width, inside).to(tl.float32)
    g = tl.load(gradient + row * width + column, inside).to(tl.float32)
    sigmoid = tl.sigmoid(gate)
    d_gate = g * up * sigmoid * (1.0 + gate * (1.0 - sigmoid))
    d_up = g * gate * sigmoid
    tl.store(out + place, d_gate.to(out.dtype.element_ty), inside)
    tl.store(out + place + width, d_up.to(out.dtype.element_ty), inside)
