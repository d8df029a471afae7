"""Cross-entropy of logits and labels: literally, and by torch's kernels.

Shapes     logits (..., C): C classes, any leading dimensions    labels (...): whole numbers in [0, C)
Formula    loss = mean over all labels of  log(sum_j exp(z_j)) - z_label
           log(sum exp z) = m + log(sum exp(z - m)) with m = max z, which neither overflows nor takes log 0
Gradient   dloss/dz = (softmax(z) - onehot(label)) / number of labels
Precision  Half logits are computed in float32, and the loss is float32: a loss near ln 32000 = 10.37 has
           steps of 0.06 in bfloat16.
Labels     Every label counts; there is no value to ignore, -100 included. A label outside [0, C) is an
           error of torch on the CPU. On CUDA, where looking would mean waiting, it is a NaN by the kernel and
           a device-side assertion by torch.
Kernels    On a GPU one pass over the logits and one for their gradient, in the logits' dtype: torch's chain
           writes half logits in float32 and their log-softmax too. Under torch.compile the chain is fused.
Source     Blanchard, Higham & Higham, "Accurately computing the log-sum-exp and softmax functions",
           IMA Journal of Numerical Analysis 41 (2021).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from stepmark.zoo.kernels import cross_entropy as kernels
from stepmark.zoo.kernels.backend import Backend, resolve

TOLERANCES = {torch.float64: 1e-13, torch.float32: 2e-6, torch.bfloat16: 4e-3, torch.float16: 5e-4}
"""Largest error against float64 on the same logits, relative to the largest entry of what is compared. The
gradient has the dtype of the logits and is rounded to it; the loss of half logits is as good as float32's."""

_HALF = (torch.bfloat16, torch.float16)
_LABELS = (torch.int64, torch.int32, torch.int16, torch.uint8)
_NO_LABEL = -(2**62)
"""Torch ignores -100 unless it is told another value; no label is this one."""


def cross_entropy_reference(logits: Tensor, labels: Tensor) -> Tensor:
    """Log-sum-exp minus the label's logit, averaged."""
    _check(logits, labels)
    wide = logits.float() if logits.dtype in _HALF else logits
    largest = wide.amax(-1, keepdim=True)
    log_sum = largest.squeeze(-1) + (wide - largest).exp().sum(-1).log()
    chosen = wide.gather(-1, labels.long().unsqueeze(-1)).squeeze(-1)
    return (log_sum - chosen).mean()


def cross_entropy(logits: Tensor, labels: Tensor, *, backend: Backend = "auto") -> Tensor:
    """By Triton's kernels on a GPU, else torch's log-softmax and its mean of the negative entries picked."""
    _check(logits, labels)
    if logits.dtype in kernels.DTYPES and not torch.compiler.is_compiling() and resolve(backend, logits):
        return kernels.mean_loss(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1).long())
    wide = logits.float() if logits.dtype in _HALF else logits
    rows = wide.reshape(-1, logits.shape[-1])
    return functional.cross_entropy(rows, labels.reshape(-1).long(), ignore_index=_NO_LABEL)


def _check(logits: Tensor, labels: Tensor) -> None:
    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating-point numbers, not {logits.dtype}")
    if labels.dtype not in _LABELS:
        raise ValueError(f"labels must be whole numbers, not {labels.dtype}")
    if logits.dim() < 1 or labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"logits {tuple(logits.shape)} need labels of shape {tuple(logits.shape[:-1])}, "
            f"not {tuple(labels.shape)}"
        )
    if labels.device != logits.device:
        raise ValueError(f"logits are on {logits.device}, and labels on {labels.device}")
    if logits.numel() == 0:
        raise ValueError(f"logits {tuple(logits.shape)}: there is nothing to average")
