"""Cross-entropy in one pass over the logits, and one more for their gradient; nothing wide is written.

Shapes     logits (N, C)   labels (N) int64   loss (): the mean over rows of log(sum exp z) - z_label
Backward   dz = (exp(z - log sum) - onehot) g / N, in the logits' dtype
Precision  Sums in float32 from logits of any width, below a running maximum, so that nothing overflows.
Labels     One outside [0, C) makes the loss NaN: looking at labels would mean waiting for the device.
Traffic    N C (2 + 2 + 2) bytes of bfloat16 logits; torch's chain writes and reads them in float32, twice.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stepmark.zoo.kernels.launch import Launcher
from stepmark.zoo.kernels.undisturbed import without_autocast

DTYPES = (torch.float32, torch.bfloat16, torch.float16)

BLOCK = 4096
GRADIENT_BLOCK = 2048


def mean_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """By Triton's kernels; `stepmark.zoo.cross_entropy` chooses them where they can run."""
    loss: Tensor = _MeanLoss.apply(logits, labels)  # type: ignore[no-untyped-call]
    return loss


class _MeanLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        logits = logits if logits.stride(-1) == 1 else logits.contiguous()
        labels = labels.contiguous()
        rows, classes = logits.shape
        losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
        levels = torch.empty(rows, 2, dtype=torch.float32, device=logits.device)
        key, grid = logits.dtype, (rows, 1, 1)
        sizes = (classes, logits.stride(0))
        _launchers()[0](grid, logits, labels, losses, levels, *sizes, key=key, BLOCK=BLOCK, num_warps=8)
        ctx.save_for_backward(logits, labels, levels)
        loss: Tensor = losses.mean()
        return loss

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        logits, labels, levels = ctx.saved_tensors
        rows, classes = logits.shape
        out = torch.empty(rows, classes, dtype=logits.dtype, device=logits.device)
        tensors = (logits, labels, levels, gradient, out)
        grid = (rows, -(-classes // GRADIENT_BLOCK), 1)
        sizes = (classes, logits.stride(0), 1.0 / rows)
        _launchers()[1](grid, *tensors, *sizes, key=logits.dtype, BLOCK=GRADIENT_BLOCK, num_warps=4)
        return out, None


@cache
def _launchers() -> tuple[Launcher, Launcher]:
    from stepmark.zoo.kernels.cross_entropy_kernels import loss_gradient_kernel, loss_kernel

    return Launcher(loss_kernel), Launcher(loss_gradient_kernel)
