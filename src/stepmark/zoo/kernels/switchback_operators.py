"""SwitchBack's passes as something autograd and torch.compile can call.

In eager mode an autograd.Function. While torch.compile traces, operators of torch.library: their forward pass
leaves x and the weight themselves (codes of x where the layer is memory-efficient), and they decide between
8-bit and plain products when they run. `how` names a layer's settings in a word, e.g. "auto,global,measured".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from stepmark.zoo.kernels.quantize import pitched
from stepmark.zoo.kernels.switchback import (
    CODES,
    PLAIN,
    CodesOf,
    Kept,
    Layer,
    Needs,
    Way,
    backward,
    forward,
    input_gradient,
    possible_ways,
    turned_codes,
)
from stepmark.zoo.kernels.switchback_autograd import SwitchBack
from stepmark.zoo.kernels.switchback_choice import chosen
from stepmark.zoo.kernels.undisturbed import autocast_off


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    layer: Layer,
    *,
    codes_of: CodesOf | None = None,
    when_plain: Callable[[], None] | None = None,
) -> Tensor:
    """y (b, o). Measured, and unless it is memory-efficient, by plain products where those are faster, which
    is told."""
    if torch.compiler.is_compiling():
        operators = torch.ops.stepmark
        operator = operators.switchback_keeping if layer.memory_efficient else operators.switchback
        found = operator(x, weight, bias, layer.in_a_word())
        y: Tensor = found[0] if layer.memory_efficient else found
        return y
    grads = torch.is_grad_enabled()
    needs = Needs(*(grads and one is not None and one.requires_grad for one in (x, weight, bias)))
    way = _settled(x, weight, bias, layer, needs=needs, codes_of=codes_of)
    if way is None:
        if when_plain is not None:
            when_plain()
        return nn.functional.linear(x, weight, bias)
    result: Tensor = SwitchBack.apply(x, weight, bias, way, needs, codes_of)  # type: ignore[no-untyped-call]
    return result


def _settled(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    layer: Layer,
    *,
    needs: Needs,
    codes_of: CodesOf | None = None,
) -> Way | None:
    """None stands for plain products."""
    ways = possible_ways(layer, x)
    if not layer.measured or layer.memory_efficient or x.device.type == "cpu" or x.numel() == 0:
        return next(iter(ways.values()))
    name = chosen(x, weight, bias, ways=ways, needs=needs, codes_of=codes_of)
    return None if name == PLAIN else ways[name]


def _decided(x: Tensor, weight: Tensor, how: str) -> Way | None:
    """The same in the forward and in the backward operator: sizes decide, and both see the same."""
    return _settled(x, weight, None, Layer.from_word(how), needs=Needs(x=True, weight=True, bias=False))


@torch.library.custom_op("stepmark::switchback", mutates_args=())
def switchback(x: Tensor, weight: Tensor, bias: Tensor | None, how: str) -> Tensor:
    way = _decided(x, weight, how)
    if way is None:
        return nn.functional.linear(x, weight, bias)
    return forward(x, weight, bias, way, needs=Needs(x=False, weight=False, bias=False))[0]


@switchback.register_fake
def _(x: Tensor, weight: Tensor, _bias: Tensor | None, _how: str) -> Tensor:
    return x.new_empty(x.shape[0], weight.shape[0])


@torch.library.custom_op("stepmark::switchback_gradients", mutates_args=())
def switchback_gradients(grad: Tensor, x: Tensor, weight: Tensor, how: str, asked: str) -> list[Tensor]:
    """Of x and of the weight, as far as they are asked for ("x", "w" or "xw"); the others are empty."""
    way = _decided(x, weight, how)
    grad_x = grad_weight = None
    with autocast_off():
        if "x" in asked and way is None:
            grad_x = grad @ weight
        elif "x" in asked and way is not None:
            grad_x = input_gradient(grad, *turned_codes(weight, way), way)
        if "w" in asked:
            grad_weight = grad.t() @ x
    return [grad.new_empty(0) if one is None else one for one in (grad_x, grad_weight)]


@switchback_gradients.register_fake
def _(grad: Tensor, x: Tensor, weight: Tensor, _how: str, asked: str) -> list[Tensor]:
    sizes = (x.shape if "x" in asked else (0,), weight.shape if "w" in asked else (0,))
    return [grad.new_empty(size) for size in sizes]


def _keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    x, weight, _, ctx.how = inputs
    ctx.save_for_backward(x, weight)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
    asked = f"{'x' * for_x}{'w' * for_weight}"
    grad_x, grad_weight = torch.ops.stepmark.switchback_gradients(
        grad.contiguous(), *ctx.saved_tensors, ctx.how, asked
    )
    wanted = (grad_x if for_x else None, grad_weight if for_weight else None)
    return *wanted, grad.sum(0) if for_bias else None, None


switchback.register_autograd(_gradients, setup_context=_keep_inputs)


def _keeping(how: str, x: Tensor) -> Way:
    return next(iter(possible_ways(Layer.from_word(how), x).values()))


@torch.library.custom_op("stepmark::switchback_keeping", mutates_args=())
def switchback_keeping(x: Tensor, weight: Tensor, bias: Tensor | None, how: str) -> list[Tensor]:
    """y, and codes of x and of the weight turned, each with its scale."""
    y, kept = forward(x, weight, bias, _keeping(how, x), needs=Needs(x=True, weight=True, bias=False))
    x8, x_scale, turned, scale = (one for one in kept if one is not None)
    return [y, x8, x_scale, turned, scale.clone()]


@switchback_keeping.register_fake
def _(x: Tensor, weight: Tensor, _bias: Tensor | None, how: str) -> list[Tensor]:
    (b, n), o = x.shape, weight.shape[0]
    code = CODES[Layer.from_word(how).first_code]
    scale, one_scale = (x.new_empty(size, dtype=torch.float32) for size in ((b,), ()))
    x8, turned = (pitched(*size, code=code, device=x.device) for size in ((b, n), (n, o)))
    return [x.new_empty(b, o), x8, scale, turned, one_scale]


@torch.library.custom_op("stepmark::switchback_kept_gradients", mutates_args=())
def switchback_kept_gradients(grad: Tensor, kept: list[Tensor], how: str) -> list[Tensor]:
    """Of x and of the weight."""
    needs = Needs(x=True, weight=True, bias=False)
    with autocast_off():
        found = backward(grad, Kept(*kept), _keeping(how, grad), needs=needs)
    return [one for one in found if one is not None]


@switchback_kept_gradients.register_fake
def _(grad: Tensor, kept: list[Tensor], _how: str) -> list[Tensor]:
    x8 = kept[0]
    return [grad.new_empty(x8.shape), grad.new_empty(grad.shape[1], x8.shape[1])]


def _keep_outputs(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    ctx.how = inputs[-1]
    ctx.save_for_backward(*output[1:])


def _kept_gradients(ctx: Any, grads: list[Tensor]) -> tuple[Any, ...]:
    for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
    grad = grads[0].contiguous()
    grad_x, grad_weight = torch.ops.stepmark.switchback_kept_gradients(grad, list(ctx.saved_tensors), ctx.how)
    wanted = (grad_x if for_x else None, grad_weight if for_weight else None)
    return *wanted, grad.sum(0) if for_bias else None, None


switchback_keeping.register_autograd(_kept_gradients, setup_context=_keep_outputs)
