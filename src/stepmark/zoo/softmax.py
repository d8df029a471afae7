"""Softmax that does not overflow: literally, and by torch's one-pass kernel.

Shapes     x (..., N, ...): any shape, N along `dim`; the result has x's shape and dtype
Formula    softmax(x)_i = exp(x_i - max x) / sum_j exp(x_j - max x)
           The largest exponent is 0, so nothing overflows, and the sum is at least 1, so nothing is divided
           by 0; without the subtraction float32 overflows from x = 89 on.
Precision  Half inputs are computed in float32 and rounded once, at the end.
Undefined  A slice that is -inf throughout, or holds +inf or NaN, gives NaN, in torch as well.
Source     Blanchard, Higham & Higham, "Accurately computing the log-sum-exp and softmax functions",
           IMA Journal of Numerical Analysis 41 (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from stepmark.zoo.kernels.backend import Backend, check_backend
from stepmark.zoo.kernels.row_choice import recalled, rows_for_torch, uses_triton
from stepmark.zoo.kernels.softmax_autograd import softmax_rows

TOLERANCES = {torch.float64: 1e-14, torch.float32: 1e-6, torch.bfloat16: 4e-3, torch.float16: 5e-4}
"""Largest error of an entry of the output, against float64 on the same input: all entries lie in [0, 1].
Gradients: the same, relative to the largest entry of the incoming gradient."""

MOST = 1 << 30
"""Entries of a row that the Triton kernel counts in 32 bits."""

_HALF = (torch.bfloat16, torch.float16)


def softmax_reference(x: Tensor, *, dim: int = -1) -> Tensor:
    """Five passes: maximum, difference, exponential, sum, quotient."""
    _check(x, dim)
    wide = x.float() if x.dtype in _HALF else x
    exponentials = (wide - wide.amax(dim, keepdim=True)).exp()
    return (exponentials / exponentials.sum(dim, keepdim=True)).to(x.dtype)


def softmax(x: Tensor, *, dim: int = -1, backend: Backend = "auto") -> Tensor:
    """One kernel, which keeps its sums in float32 whatever the input: torch's, or along the last dimension on
    CUDA a Triton one where it is faster. Asked for by name, that one takes other dimensions by a copy."""
    if dim == -1 and rows_for_torch("softmax", backend, x) is not None:
        return torch.softmax(x, dim)
    if not _in_triton(backend, x, dim):
        return torch.softmax(x, dim, x.dtype)  # which autocast would make float32
    return softmax_rows(x) if dim in (-1, x.dim() - 1) else softmax_rows(x.movedim(dim, -1)).movedim(-1, dim)


def _in_triton(backend: Backend, x: Tensor, dim: int) -> bool:
    """Whether the kernel computes; checks what has not been checked before."""
    if x.is_cuda and dim == -1 and not torch.compiler.is_compiling():
        decided = recalled("softmax", backend, x)
        if decided is not None:
            return decided
    _check(x, dim)
    check_backend(backend)
    if torch.compiler.is_compiling():  # a compiler's own kernel takes in what stands beside the softmax
        return backend == "triton"
    if backend != "triton" and not (x.is_cuda and dim in (-1, x.dim() - 1)):
        return False
    return uses_triton(backend, "softmax", (x,), widest=MOST, ways=_ways)


def _ways() -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    return partial(torch.softmax, dim=-1), softmax_rows


def _check(x: Tensor, dim: int) -> None:
    if not x.is_floating_point():
        raise ValueError(f"softmax takes floating-point numbers, not {x.dtype}")
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"softmax along dimension {dim} of a tensor that has {x.dim()} dimensions")
    if x.shape[dim] == 0:
        raise ValueError(f"softmax along dimension {dim} of shape {tuple(x.shape)}: there is nothing to sum")
