# mypy: ignore-errors
"""A kernel to try launching with: doubles its input."""

import triton
import triton.language as tl


@triton.jit
def doubled(x, y, size, factor, BLOCK: tl.constexpr):
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + here, tl.load(x + here, mask=here < size) * factor, mask=here < size)
