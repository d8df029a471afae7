"""Work: floating-point operations of one call of an operator, from the shapes of its arguments.

Two for a multiplication with an addition; matrix products, convolutions, attention and recurrent layers. Here
stands what torch's own table lacks, or counts for dense tensors only: a product with a sparse matrix costs
two for each stored number and column of the other one. Torch has the weights' gradient of a grouped
convolution take as many times too much as there are groups (2.13).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from stepmark.authoring.work import formula_named

Formula = Callable[..., float]


def _matrix(a: torch.Tensor, b: torch.Tensor) -> float:
    """[..., m, k] by [..., k, n]; vectors count as matrices of one row or column."""
    columns = b.shape[-1] if b.dim() > 1 else 1
    if a.layout is not torch.strided:
        return 2.0 * a._nnz() * prod(a.shape[2:]) * columns
    if b.layout is not torch.strided:
        return 2.0 * b._nnz() * prod(b.shape[2:]) * (a.numel() // a.shape[-1])
    return 2.0 * a.numel() * columns


def _linear(x: torch.Tensor, weight: torch.Tensor, *_: Any, **__: Any) -> float:
    return 2.0 * x.numel() * weight.shape[0]


def _dot(a: torch.Tensor, *_: Any, **__: Any) -> float:
    return 2.0 * a.numel()


def _grouped(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> float:
    """Each row of `a` meets one group of `b`; where only `b` is ragged, each group meets its own columns."""
    groups = a.shape[0] if a.dim() > b.dim() else 1
    return 2.0 * a.numel() * b.shape[-1] / groups


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, products: float) -> float:
    """`products` of queries by keys or values; grouped heads repeat the keys."""
    rows = prod(query.shape[:-1])
    return products * rows * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _attention_forward(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any, **__: Any
) -> float:
    return _attention(query, key, value, 2.0)


def _attention_backward(
    _: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *__: Any, **___: Any
) -> float:
    """Scores again, then gradients of values, of scores, of queries and of keys."""
    rows, keys = prod(query.shape[:-1]), key.shape[-2]
    return float(2 * rows * keys * (3 * query.shape[-1] + 2 * value.shape[-1]))


def _convolution_backward(
    gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *settings: Any
) -> float:
    """The filter at every place again, once for each gradient that is asked for; that of a bias is a sum."""
    transposed, wanted = settings[-4], settings[-1]
    places = prod((x if transposed else gradient).shape[2:])
    return float(2 * x.shape[0] * places * weight.numel() * sum(wanted[:2]))


def _recurrent(passes: float) -> Formula:
    """Every step multiplies its input and its state by the weights of all gates."""

    def formula(
        x: torch.Tensor, weight_of_input: torch.Tensor, weight_of_state: torch.Tensor, *_: Any, **__: Any
    ) -> float:
        steps = prod(x.shape[:-1])
        return passes * 2.0 * steps * (weight_of_input.numel() + weight_of_state.numel())

    return formula


def _recurrent_layers(passes: float) -> Formula:
    """All layers and directions in one call: their matrices are in one list with their biases."""

    def formula(x: torch.Tensor, weights: Sequence[torch.Tensor], *_: Any, **__: Any) -> float:
        steps = prod(x.shape[:-1])
        return passes * 2.0 * steps * sum(one.numel() for one in weights if one.dim() > 1)

    return formula


def _second_and_third(_: Any, a: torch.Tensor, b: torch.Tensor, *__: Any, **___: Any) -> float:
    return _matrix(a, b)


def _first_and_second(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> float:
    return _matrix(a, b)


_FORMULAS: dict[str, Formula] = {
    "aten::mm": _first_and_second,
    "aten::bmm": _first_and_second,
    "aten::mv": _first_and_second,
    "aten::_int_mm": _first_and_second,
    "aten::_sparse_mm": _first_and_second,
    "aten::addmm": _second_and_third,
    "aten::addmm_": _second_and_third,
    "aten::_addmm_activation": _second_and_third,
    "aten::_sparse_addmm": _second_and_third,
    "aten::addmv": _second_and_third,
    "aten::addmv_": _second_and_third,
    "aten::baddbmm": _second_and_third,
    "aten::baddbmm_": _second_and_third,
    "aten::addbmm": _second_and_third,
    "aten::addbmm_": _second_and_third,
    "aten::dot": _dot,
    "aten::vdot": _dot,
    "aten::linear": _linear,
    "aten::mkldnn_linear": _linear,
    "mkldnn::_linear_pointwise": _linear,
    "mkl::_mkl_linear": _linear,
    "aten::_grouped_mm": _grouped,
    "aten::_scaled_grouped_mm": _grouped,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention_forward,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "aten::_scaled_dot_product_fused_attention_overrideable": _attention_forward,
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _attention_backward,
    "aten::convolution_backward": _convolution_backward,
    "aten::_cudnn_rnn": _recurrent_layers(1.0),
    "aten::_cudnn_rnn_backward": _recurrent_layers(2.0),
    "aten::mkldnn_rnn_layer": _recurrent(1.0),
    "aten::mkldnn_rnn_layer_backward": _recurrent(2.0),
}


def has_formula(overload: Any) -> bool:
    return (
        formula_named(_name(overload)) is not None
        or _name(overload) in _FORMULAS
        or overload.overloadpacket in flop_registry
    )


def work_of(overload: Any, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> float:
    """Of one call; 0 where there is no formula."""
    name = _name(overload)
    own = formula_named(name)
    if own is not None:
        return float(own(*args, **kwargs))
    if name in _FORMULAS:
        return float(_FORMULAS[name](*args, **kwargs))
    counted = flop_registry.get(overload.overloadpacket)
    return float(counted(*args, **kwargs, out_val=result)) if counted is not None else 0.0


def skippable(overload: Any, args: Sequence[Any], kwargs: dict[str, Any], work: float) -> float:
    """Of an attention's work, the half above the diagonal that a kernel may leave out where it is causal."""
    if "attention" not in _name(overload):
        return 0.0
    names = [argument.name for argument in overload._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    return work / 2 if given.get("is_causal") is True else 0.0


def _name(overload: Any) -> str:
    """`aten::mm`, whatever the overload."""
    return str(overload._schema.name)
