"""LoRA as one node of autograd, which keeps x and scale x A and nothing else of its own.

In eager mode it is a torch.autograd.Function: one Python call and, for few rows, one launch forwards and one
backwards. Under torch.compile it is a pair of custom operators, which cost more host time but are one opaque
call each to the compiler. A second derivative is computed from the formulas by torch's own operations.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels.backend import is_differentiated
from stepmark.zoo.kernels.lora_sizes import Adapted, Gradients
from stepmark.zoo.kernels.lora_ways import ALIGNED, DTYPES, MOST_RANKS, Plan, dense_in_rows, plan_for
from stepmark.zoo.kernels.undisturbed import autocast_off, without_autocast


def has_kernels(x: Tensor, layer: Adapted) -> bool:
    """For its dtype, rank, features and layout, and only where W and the bias are frozen. A plan is
    remembered by x's dtype and launches where x lies, so all have to be like x."""
    weight, bias, a, b, _ = layer
    dtype, device = x.dtype, x.get_device()
    inputs, rank = a.shape
    if dtype not in DTYPES or rank > MOST_RANKS or inputs % ALIGNED or b.shape[1] % ALIGNED:
        return False
    return (
        _is_like(a, dtype, device)
        and _is_like(b, dtype, device)
        and (weight is None or (not weight.requires_grad and _is_like(weight, dtype, device)))
        and (bias is None or (not bias.requires_grad and _is_like(bias, dtype, device)))
    )


def _is_like(one: Tensor, dtype: torch.dtype, device: int) -> bool:
    return one.dtype is dtype and one.get_device() == device and one.is_contiguous()


def lora_linear(x: Tensor, layer: Adapted, *, only_kernels: bool = False) -> Tensor:
    """x W^T + bias + scale (x A) B, where W and bias are frozen; without W the adapter alone."""
    weight, bias, a, b, scale = layer
    if torch.compiler.is_compiling():
        y: Tensor = _forward_operator(x, weight, bias, a, b, scale=scale, only_kernels=only_kernels)[0]
        return y
    rows = dense_in_rows(x)
    plan = plan_for(rows, layer, only_kernels=only_kernels)
    if is_differentiated():
        y = _LoRA.apply(rows, weight, bias, a, b, scale, plan)  # type: ignore[no-untyped-call]
    else:
        y, _ = plan.forward(rows, layer)
    return y if rows is x else y.view(*x.shape[:-1], b.shape[1])


class _LoRA(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        a: Tensor,
        b: Tensor,
        scale: float,
        plan: Plan,
    ) -> Tensor:
        y, s = plan.forward(x, Adapted(weight, bias, a, b, scale))
        ctx.save_for_backward(x, s, weight, a, b)
        ctx.scale, ctx.plan = scale, plan
        return y

    @staticmethod
    @without_autocast
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        x, s, weight, a, b = ctx.saved_tensors
        layer = Adapted(weight, None, a, b, ctx.scale)
        needs_dx, _, _, needs_da, needs_db, _, _ = ctx.needs_input_grad
        if torch.is_grad_enabled():
            dx, da, db = _differentiable(g, x, layer)
        else:
            dx, da, db = ctx.plan.backward(dense_in_rows(g), x, s, layer, needs_dx=needs_dx)
        wanted = (dx if needs_dx else None, da if needs_da else None, db if needs_db else None)
        return wanted[0], None, None, wanted[1], wanted[2], None, None


def _differentiable(g: Tensor, x: Tensor, layer: Adapted) -> Gradients:
    """The same gradients from operations that have gradients themselves: create_graph=True asks for them."""
    weight, _, a, b, scale = layer
    g_rows, x_rows = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
    h = scale * (g_rows @ b.t())
    dx = h @ a.t() if weight is None else g_rows @ weight + h @ a.t()
    return dx.view(x.shape), x_rows.t() @ h, scale * (x_rows @ a).t() @ g_rows


@torch.library.custom_op("stepmark::lora_forward", mutates_args=())
def _forward_operator(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    a: Tensor,
    b: Tensor,
    *,
    scale: float,
    only_kernels: bool,
) -> tuple[Tensor, Tensor]:
    rows, layer = dense_in_rows(x), Adapted(weight, bias, a, b, scale)
    y, s = plan_for(rows, layer, only_kernels=only_kernels).forward(rows, layer)
    return y if rows is x else y.view(*x.shape[:-1], b.shape[1]), s


@_forward_operator.register_fake
def _forward_shapes(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, a: Tensor, b: Tensor, **_: Any
) -> tuple[Tensor, Tensor]:
    del weight, bias
    y = x.new_empty((*x.shape[:-1], b.shape[1]))
    return y, x.new_empty((x.numel() // a.shape[0], a.shape[1]))


@torch.library.custom_op("stepmark::lora_backward", mutates_args=())
def _backward_operator(  # noqa: PLR0917
    g: Tensor,
    x: Tensor,
    s: Tensor,
    weight: Tensor | None,
    a: Tensor,
    b: Tensor,
    *,
    scale: float,
    needs_dx: bool,
    only_kernels: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """dx is empty where it is not wanted: an operator always returns tensors."""
    rows, layer = dense_in_rows(x), Adapted(weight, None, a, b, scale)
    plan = plan_for(rows, layer, only_kernels=only_kernels)
    with autocast_off():
        dx, da, db = plan.backward(dense_in_rows(g), rows, s, layer, needs_dx=needs_dx)
    return x.new_empty(0) if dx is None else dx.view(x.shape), da, db


@_backward_operator.register_fake
def _backward_shapes(  # noqa: PLR0917
    g: Tensor, x: Tensor, s: Tensor, weight: Tensor | None, a: Tensor, b: Tensor, *, needs_dx: bool, **_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    del g, s, weight
    dx = x.new_empty(x.shape) if needs_dx else x.new_empty(0)
    return dx, torch.empty_like(a), torch.empty_like(b)


def _keep(
    ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: tuple[Tensor, Tensor]
) -> None:
    x, weight, _, a, b = inputs
    ctx.save_for_backward(x, output[1], weight, a, b)
    ctx.settings = keyword_only_inputs


def _operator_backward(ctx: Any, g: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    x, s, weight, a, b = ctx.saved_tensors
    needs_dx, _, _, needs_da, needs_db, *_ = ctx.needs_input_grad
    dx, da, db = _backward_operator(g, x, s, weight, a, b, needs_dx=needs_dx, **ctx.settings)
    return dx if needs_dx else None, None, None, da if needs_da else None, db if needs_db else None


_forward_operator.register_autograd(_operator_backward, setup_context=_keep)
