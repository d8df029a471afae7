# mypy: ignore-errors
"""Triton kernels of cross-entropy: each row's loss with its largest logit and log-sum, and its gradient.

Logit and sum are kept apart: from logits of some hundreds one number of their size would be taken with an
error of 2e-5.
"""

import triton
import triton.language as tl


@triton.jit
def loss_kernel(logits, labels, losses, levels, classes, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    source = logits + row * stride
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, classes, BLOCK):
        column = start + tl.arange(0, BLOCK)
        z = tl.load(source + column, column < classes, other=float("-inf")).to(tl.float32)
        now = tl.maximum(largest, z)
        # a lane that has seen -inf alone must not subtract it from itself
        level = tl.where(now == float("-inf"), 0.0, now)
        total = total * tl.exp(largest - level) + tl.exp(z - level)
        largest = now
    most = tl.max(largest, 0)
    log_sum = tl.log(tl.sum(total * tl.exp(largest - most), 0))
    label = tl.load(labels + row)
    known = (label >= 0) & (label < classes)
    chosen = tl.load(source + label, known, other=float("nan")).to(tl.float32)
    tl.store(losses + row, (most - chosen) + log_sum)
    tl.store(levels + 2 * row, most)
    tl.store(levels + 2 * row + 1, log_sum)


@triton.jit
def loss_gradient_kernel(logits, labels, levels, gradient, out, classes, stride, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < classes
    z = tl.load(logits + row * stride + column, inside, other=float("-inf")).to(tl.float32)
    probability = tl.exp(z - tl.load(levels + 2 * row) - tl.load(levels + 2 * row + 1))
    hit = column == tl.load(labels + row)
    g = tl.load(gradient) * scale
    d = (probability - tl.where(hit, 1.0, 0.0)) * g
    tl.store(out + row * classes + column, d.to(out.dtype.element_ty), inside)
