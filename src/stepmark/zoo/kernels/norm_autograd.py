"""RMSNorm and LayerNorm by Triton kernels with their gradients: from Python, and inside torch.compile.

From Python an autograd.Function; compiled, an operator that the compiler does not look into. Operators cost
more host time, so they are not used where nobody compiles.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels import norm
from stepmark.zoo.kernels.backend import is_differentiated
from stepmark.zoo.kernels.norm import Gradients, Parameters
from stepmark.zoo.kernels.norm_tiling import backward_tiling, forward_tiling
from stepmark.zoo.kernels.undisturbed import without_autocast


def norm_rows(x: Tensor, parameters: Parameters, *, eps: float, centred: bool) -> Tensor:
    """`x` normed over its last dimension, in its dtype."""
    if torch.compiler.is_compiling():
        compiled: Tensor = norm_operator(x, *parameters, eps, centred)[0]
        return compiled
    if not is_differentiated():
        return _forward(x, parameters, eps=eps, centred=centred, kept=False)[0]
    y: Tensor = NormRows.apply(x, *parameters, (eps, centred))  # type: ignore[no-untyped-call]
    return y


class NormRows(torch.autograd.Function):
    """Keeps its inputs and one or two float32 numbers a row."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, kind: tuple[float, bool]
    ) -> Tensor:
        ctx.eps, ctx.centred = kind
        y, moments = _forward(x, Parameters(weight, bias), eps=ctx.eps, centred=ctx.centred, kept=True)
        ctx.save_for_backward(x, weight, bias, moments)
        return y

    @staticmethod
    @without_autocast
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, moments = ctx.saved_tensors
        parameters = Parameters(weight, bias)
        if torch.is_grad_enabled():  # create_graph=True: whoever asked may differentiate again
            found = differentiable_gradients(gradient, x, parameters, eps=ctx.eps, centred=ctx.centred)
        else:
            wanted = ctx.needs_input_grad[1:3]
            found = _backward(gradient, x, parameters, moments, wanted=wanted)
        return *found, None


def differentiable_gradients(
    gradient: Tensor, x: Tensor, parameters: Parameters, *, eps: float, centred: bool
) -> Gradients:
    """The formulas, in operations that can be differentiated."""
    weight, bias = parameters
    wide = x.float()
    wide = wide - wide.mean(-1, keepdim=True) if centred else wide
    scale = (wide.square().mean(-1, keepdim=True) + eps).rsqrt()
    normed, incoming = wide * scale, gradient.float()
    weighted = incoming if weight is None else incoming * weight
    change = weighted - normed * (weighted * normed).mean(-1, keepdim=True)
    change = change - weighted.mean(-1, keepdim=True) if centred else change
    over_rows = tuple(range(x.dim() - 1))
    return Gradients(
        (scale * change).to(x.dtype),
        None if weight is None else (incoming * normed).sum(over_rows).to(weight.dtype),
        None if bias is None else incoming.sum(over_rows).to(bias.dtype),
    )


def _forward(
    x: Tensor, parameters: Parameters, *, eps: float, centred: bool, kept: bool
) -> tuple[Tensor, Tensor | None]:
    x = x if x.is_contiguous() else x.contiguous()
    tiling = forward_tiling(x.numel() // x.shape[-1], x.shape[-1])
    return norm.forward(x, _contiguous(parameters), eps=eps, centred=centred, kept=kept, tiling=tiling)


def _backward(
    gradient: Tensor, x: Tensor, parameters: Parameters, moments: Tensor, *, wanted: tuple[bool, bool]
) -> Gradients:
    x = x if x.is_contiguous() else x.contiguous()
    gradient = gradient if gradient.is_contiguous() else gradient.contiguous()
    tiling = backward_tiling(x.numel() // x.shape[-1], x.shape[-1], summed=wanted[0] or wanted[1])
    return norm.backward(gradient, x, _contiguous(parameters), moments, wanted=wanted, tiling=tiling)


def _contiguous(parameters: Parameters) -> Parameters:
    weight, bias = parameters
    if (weight is None or weight.is_contiguous()) and (bias is None or bias.is_contiguous()):
        return parameters
    return Parameters(*(None if one is None else one.contiguous() for one in parameters))


@torch.library.custom_op("stepmark::norm_rows", mutates_args=())
def norm_operator(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, centred: bool
) -> tuple[Tensor, Tensor]:
    """`norm_rows` with its moments."""
    y, moments = _forward(x, Parameters(weight, bias), eps=eps, centred=centred, kept=True)
    assert moments is not None
    return y, moments


@norm_operator.register_fake
def _(x: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    *_, centred = others
    moments = x.new_empty((1 + centred, x.shape[:-1].numel()), dtype=torch.float32)
    return torch.empty_like(x, memory_format=torch.contiguous_format), moments


@torch.library.custom_op("stepmark::norm_rows_backward", mutates_args=())
def norm_backward_operator(
    gradient: Tensor, x: Tensor, weight: Tensor | None, bias: Tensor | None, moments: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of rows, weight and bias; empty where there is none, as an operator returns tensors."""
    wanted = weight is not None, bias is not None
    found = _backward(gradient, x, Parameters(weight, bias), moments, wanted=wanted)
    d_weight, d_bias = (moments.new_empty(0) if one is None else one for one in found[1:])
    return found.rows, d_weight, d_bias


@norm_backward_operator.register_fake
def _(_: Tensor, x: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    weight, bias, moments = others
    d_weight, d_bias = (
        moments.new_empty(0) if one is None else torch.empty_like(one) for one in (weight, bias)
    )
    return torch.empty_like(x, memory_format=torch.contiguous_format), d_weight, d_bias


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:3], output[1])


def _differentiate(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    x, weight, bias, moments = ctx.saved_tensors
    d_x, d_weight, d_bias = norm_backward_operator(gradient, x, weight, bias, moments)
    return d_x, None if weight is None else d_weight, None if bias is None else d_bias, None, None


norm_operator.register_autograd(_differentiate, setup_context=_keep)
