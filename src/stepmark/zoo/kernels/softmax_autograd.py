"""Softmax over the last dimension by Triton kernels, differentiable: from Python, and in torch.compile."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels import softmax
from stepmark.zoo.kernels.backend import is_differentiated
from stepmark.zoo.kernels.softmax_tiling import FEW_ROWS, backward_tiling, forward_tiling
from stepmark.zoo.kernels.undisturbed import without_autocast


def softmax_rows(x: Tensor) -> Tensor:
    """In x's dtype."""
    if torch.compiler.is_compiling():
        compiled: Tensor = softmax_operator(x)
        return compiled
    if not is_differentiated():
        return _forward(x)
    shares: Tensor = SoftmaxRows.apply(x)  # type: ignore[no-untyped-call]
    return shares


class SoftmaxRows(torch.autograd.Function):
    """Keeps its output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        shares = _forward(x)
        ctx.save_for_backward(shares)
        return shares

    @staticmethod
    @without_autocast
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (shares,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: whoever asked may differentiate again
            return _differentiable_gradient(gradient, shares)
        return _backward(gradient, shares)


def _differentiable_gradient(gradient: Tensor, shares: Tensor) -> Tensor:
    wide, incoming = shares.float(), gradient.float()
    return (wide * (incoming - (wide * incoming).sum(-1, keepdim=True))).to(shares.dtype)


def _forward(x: Tensor) -> Tensor:
    return softmax.forward(_contiguous(x), tiling=forward_tiling(x.shape[-1], few=_are_few(x)))


def _backward(gradient: Tensor, shares: Tensor) -> Tensor:
    tiling = backward_tiling(shares.shape[-1], few=_are_few(shares))
    return softmax.backward(_contiguous(gradient), shares, tiling=tiling)


def _are_few(x: Tensor) -> bool:
    return x.numel() < FEW_ROWS * x.shape[-1]


def _contiguous(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else x.contiguous()


@torch.library.custom_op("stepmark::softmax_rows", mutates_args=())
def softmax_operator(x: Tensor) -> Tensor:
    return _forward(x)


@softmax_operator.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("stepmark::softmax_rows_backward", mutates_args=())
def softmax_backward_operator(gradient: Tensor, shares: Tensor) -> Tensor:
    return _backward(gradient, shares)


@softmax_backward_operator.register_fake
def _(_: Tensor, shares: Tensor) -> Tensor:
    return torch.empty_like(shares, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:  # noqa: ARG001  (called by name)
    ctx.save_for_backward(output)


def _differentiate(ctx: Any, gradient: Tensor) -> Tensor:
    found: Tensor = softmax_backward_operator(gradient, *ctx.saved_tensors)
    return found


softmax_operator.register_autograd(_differentiate, setup_context=_keep)
