"""FragmentedLinear's gate and the layer's gradients: elementwise work by Triton, products added in place.

With a = dy W^T, dh = dy D, u = dh A^T and t = a - u:
soft     dp_f = <t_f, x_f>;  ds = p (dp - <p, dp>);  dx = u + p~ t + ds~ S;  dS = sum over rows of ds~ x
hard     dx = a in the chosen fragment, u elsewhere
both     dW = (x p~)^T dy;  dA = (x (1 - p~))^T dh;  dD = dy^T h
Kept for the gradients: x, p (or the chosen fragment) and h, of n, F (or 1) and c numbers a row. Of few rows,
soft, both parts of x too: beside the weights they are nothing, and computing them again is a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stepmark.zoo.kernels.few_rows import add_product
from stepmark.zoo.kernels.few_rows_gradients import turned_product
from stepmark.zoo.kernels.fragmented_sizes import Parameters, next_power
from stepmark.zoo.kernels.launch import Launcher
from stepmark.zoo.kernels.undisturbed import without_autocast

MOST_FEATURES = 16384
"""A row is held by one program."""

MOST_KEPT_ROWS = 64
"""Of which both parts of x are kept for the gradients."""

Gradients = tuple[Tensor | None, ...]
"""Of x, selector, weight, compressor, decompressor and bias: those that are needed."""


def gate(x: Tensor, selector: Tensor, mark: Tensor | None = None, *, hard: bool) -> tuple[Tensor, ...]:
    """The chosen part of x, the rest of it, and the mark: p (rows, F), or, hard, the chosen fragments (rows).
    Where the mark is known, the scores are not computed again."""
    rows, number = x.shape[0], selector.shape[0]
    known = mark is not None
    if mark is None:
        dtype = torch.int32 if hard else torch.float32
        mark = x.new_empty((rows,) if hard else (rows, number), dtype=dtype)
    own, rest = x.new_empty(x.shape), x.new_empty(x.shape)
    constants = _constants(selector) | {"HARD": hard, "KNOWN": known, "GROUPED": False}
    tensors = (x, selector, mark, own, rest, None, None)
    _launchers()[0](
        (rows, 1, 1), *tensors, x.stride(0), key=(x.dtype, selector.shape, hard, known), **constants
    )
    return own, rest, mark


def group(x: Tensor, selector: Tensor) -> tuple[Tensor, ...]:
    """x with noughts in the chosen fragment, the chosen fragments (rows), how many rows chose each (F), and
    which: (F, rows), of each the first so many; their order is any."""
    rows, number = x.shape[0], selector.shape[0]
    rest, chosen = x.new_empty(x.shape), x.new_empty(rows, dtype=torch.int32)
    counts = x.new_zeros(number, dtype=torch.int32)
    slots = x.new_empty(number, rows, dtype=torch.int32)
    constants = _constants(selector) | {"HARD": True, "KNOWN": False, "GROUPED": True}
    tensors = (x, selector, chosen, None, rest, counts, slots)
    key = (x.dtype, selector.shape)
    _launchers()[0]((rows, 1, 1), *tensors, x.stride(0), key=key, **constants)
    return rest, chosen, counts, slots


def product(own: Tensor, rest: Tensor, parameters: Parameters) -> tuple[Tensor, Tensor]:
    """y and h."""
    weight = parameters.weight
    hidden = rest @ parameters.compressor
    y = torch.nn.functional.linear(hidden, parameters.decompressor, parameters.bias)
    return add_product(y, own, weight.view(-1, weight.shape[2])), hidden


def soft(x: Tensor, parameters: Parameters) -> Tensor:
    """(rows, n) to (rows, o), differentiable."""
    x = x if x.stride(1) == 1 else x.contiguous()
    y: Tensor = _Soft.apply(x, *parameters)  # type: ignore[no-untyped-call]
    return y


class _Soft(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *tensors: Any) -> Tensor:
        parameters = Parameters(*tensors)
        own, rest, probability = gate(x, parameters.selector, hard=False)
        y, hidden = product(own, rest, parameters)
        parts = (own, rest) if x.shape[0] <= MOST_KEPT_ROWS else ()
        ctx.save_for_backward(x, *parameters, probability, hidden, *parts)
        return y

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Gradients:
        x, selector, weight, compressor, decompressor, bias, probability, hidden, *parts = ctx.saved_tensors
        parameters = Parameters(selector, weight, compressor, decompressor, bias)
        kept = (x, probability, hidden)
        return gradients(kept, parameters, grad, ctx.needs_input_grad, hard=False, parts=parts)


def gradients(
    kept: tuple[Tensor, Tensor, Tensor],
    parameters: Parameters,
    grad: Tensor,
    needed: tuple[bool, ...],
    *,
    hard: bool,
    parts: Sequence[Tensor] = (),
) -> Gradients:
    """`kept` are x, the mark and h; `parts` x's own and the rest, where these are there."""
    x, mark, hidden = kept
    selector, weight, compressor, decompressor, _ = parameters
    for_x, for_selector, for_weight, for_compressor, for_decompressor, for_bias = needed
    grad = grad.contiguous()
    for_gate = for_x or (for_selector and not hard)
    of_x = of_selector = of_weight = of_compressor = None
    of_hidden = grad @ decompressor if for_gate or for_compressor else grad
    if for_gate:
        of_own = add_product(None, grad, weight.view(-1, weight.shape[2]).t())
        of_parts = (of_own, of_hidden @ compressor.t())
        of_x, of_selector = _through_gate(kept, selector, of_parts, for_x=for_x, hard=hard)
    if for_weight or for_compressor:
        own, rest, *_ = parts or gate(x, selector, mark, hard=hard)
        of_weight = turned_product(own, grad).view(weight.shape) if for_weight else None
        of_compressor = turned_product(rest, of_hidden) if for_compressor else None
    of_decompressor = turned_product(grad, hidden.to(grad.dtype)) if for_decompressor else None
    of_selector = of_selector if for_selector else None
    return of_x, of_selector, of_weight, of_compressor, of_decompressor, grad.sum(0) if for_bias else None


def _through_gate(
    kept: tuple[Tensor, Tensor, Tensor],
    selector: Tensor,
    parts: tuple[Tensor, Tensor],
    *,
    for_x: bool,
    hard: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """From gradients of the chosen part and of the rest to those of x and of the selector."""
    x, mark, _ = kept
    of_x = x.new_empty(x.shape) if for_x else None
    of_score = None if hard else x.new_empty(x.shape[0], selector.shape[0])
    constants = _constants(selector) | {"HARD": hard, "WITH_X": for_x}
    tensors = (x, selector, mark, *parts, of_score, of_x)
    key = (x.dtype, selector.shape, hard, for_x)
    _launchers()[1]((x.shape[0], 1, 1), *tensors, x.stride(0), key=key, **constants)
    if of_score is None:
        return of_x, None
    fragments = x.view(x.shape[0], *selector.shape).transpose(0, 1)
    return of_x, torch.bmm(of_score.t().unsqueeze(1), fragments).view(selector.shape)


def _constants(selector: Tensor) -> dict[str, Any]:
    number, size = selector.shape
    every, width = next_power(number), next_power(size)
    num_warps = max(4, min(16, every * width // 1024))
    sizes = {"SIZE": size, "FRAGMENTS": number, "ALL_FRAGMENTS": every, "ALL_SIZE": width}
    return sizes | {"num_warps": num_warps}


@cache
def _launchers() -> tuple[Launcher, Launcher]:
    from stepmark.zoo.kernels.fragmented_gate_kernels import gate_gradient, gate_rows

    return Launcher(gate_rows), Launcher(gate_gradient)
