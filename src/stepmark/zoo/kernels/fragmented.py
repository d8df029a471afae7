"""FragmentedLinear's hard selection on a GPU: the fastest plan for its sizes, never a wait.

Which plan is measured once for each size (dispatch), rows rounded up to a power of two. Differentiable; under
torch.compile it is one operator, `stepmark::fragmented_hard`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stepmark.zoo.kernels.backend import is_differentiated, resolve
from stepmark.zoo.kernels.dispatch import choose, is_capturing, is_for_a_graph
from stepmark.zoo.kernels.fragmented_chain import Found
from stepmark.zoo.kernels.fragmented_gate import MOST_FEATURES, Gradients, gate, gradients, product
from stepmark.zoo.kernels.fragmented_plans import (
    MOST_NARROW,
    MOST_ROWS_OF_A_TILE,
    GroupsPlan,
    rows_plan,
    tiles_plan,
)
from stepmark.zoo.kernels.fragmented_products import products_plan, suits_products
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes, sizes_of
from stepmark.zoo.kernels.fragmented_sorted import SortedPlan
from stepmark.zoo.kernels.launch import is_elsewhere, is_launchable
from stepmark.zoo.kernels.undisturbed import without_autocast

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
Plan = Callable[..., Found]

FORWARD = "(Tensor x, Tensor selector, Tensor weight, Tensor compressor, Tensor decompressor, Tensor? bias)"
BACKWARD = (
    "(Tensor x, Tensor chosen, Tensor hidden, Tensor grad,"
    " Tensor selector, Tensor weight, Tensor compressor, Tensor decompressor)"
)

OPERATION = "fragmented-hard/2"
"""Raised when kernels change: choices made for others are void."""

LARGEST_STRIDE = 1 << 26
"""Between rows: offsets of few rows are computed in 32 bits."""
LARGEST_COMPRESSOR = 1 << 31
"""Its entries: the same, where rows are sorted."""

MOST_PLANS = 4096
"""Sizes that are remembered; a program with more of them, as where numbers of rows vary, chooses again."""

_plans: dict[tuple[Any, ...], Plan] = {}


def suits(x: Tensor, parameters: Parameters) -> bool:
    """Whether there are kernels for these sizes and dtypes, as the parameters lie in memory."""
    return suits_but_for_rows(x, parameters) and x.numel() > 0


def suits_but_for_rows(x: Tensor, parameters: Parameters) -> bool:
    """What can be asked while torch.compile traces, to which the number of rows may be any. A plan is
    remembered by x's dtype, so all have to have that."""
    if x.dtype not in DTYPES or not 0 < x.shape[-1] <= MOST_FEATURES:
        return False
    dtype, device = x.dtype, x.get_device()
    return all(
        one is None or (one.dtype is dtype and one.get_device() == device and one.is_contiguous())
        for one in parameters
    )


def hard(x: Tensor, parameters: Parameters) -> Tensor:
    """(rows, n) to (rows, o)."""
    if x.stride(1) != 1 or x.stride(0) >= LARGEST_STRIDE:
        x = x.contiguous()
    if torch.compiler.is_compiling():
        y: Tensor = operator(x, *parameters)[0]
    elif is_differentiated():
        y = _Hard.apply(x, *parameters)  # type: ignore[no-untyped-call]
    elif is_elsewhere(x):
        with torch.cuda.device(x.device):
            y = plan_for(x, parameters)(x, parameters)[0]
    else:
        y = plan_for(x, parameters)(x, parameters)[0]
    return y


def plan_for(x: Tensor, parameters: Parameters, *, keep: bool = False) -> Plan:
    """The plan that is taken; what was chosen once is looked up."""
    shapes = (x.shape[0], parameters.weight.shape, parameters.compressor.shape[1])
    key = (*shapes, x.dtype, parameters.bias is None, keep, x.is_cuda and is_for_a_graph())
    plan = _plans.get(key)
    if plan is None:
        plan = _choose(x, parameters, keep=keep)
        if not is_capturing():  # nothing is measured there
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[key] = plan
    return plan


def _choose(x: Tensor, parameters: Parameters, *, keep: bool) -> Plan:
    sizes = sizes_of(x, parameters)
    plans = candidates(sizes, keep=keep)
    name = next(iter(plans))
    if x.is_cuda:  # times in the interpreter say nothing
        calls = {name: _call(one, x, parameters, keep=keep) for name, one in plans.items()}
        name = choose(OPERATION, (*sizes.key, "kept" if keep else "alone"), calls, default=name)
    return plans[name]


def _call(plan: Plan, x: Tensor, parameters: Parameters, *, keep: bool) -> Callable[[], object]:
    return lambda: plan(x, parameters, keep=keep)


_SPLIT = {"splits": 32, "tile_narrow": 32}
ONE: dict[str, dict[str, Any]] = {
    "rows-32x32x32": _SPLIT | {"tile": 32},
    "rows-32x32x32-early": _SPLIT | {"tile": 32, "early": True},
    "rows-32x32x32-deep": _SPLIT | {"tile": 32, "step": 128},
    "rows-32x32x64": _SPLIT | {"tile": 64},
    "rows-16x16x32": {"splits": 16, "tile_narrow": 16, "tile": 32},
    "rows-32x32x16w2": _SPLIT | {"tile": 16, "num_warps": 2},
    "rows-32x64x32w2": {"splits": 32, "tile_narrow": 64, "tile": 32, "num_warps": 2},
    "rows-32x32x16-ahead-late": _SPLIT | {"tile": 16, "ahead": True, "late": True},
    "rows-32x32x16-deep-late": _SPLIT | {"tile": 16, "step": 256, "late": True},
}
"""For one row: splits, tile of narrow features, tile of outputs, warps."""

ONE_KEPT: dict[str, dict[str, Any]] = {
    "rows-32x32x32-kept": {"splits": 32, "tile_narrow": 32, "tile": 32, "inline": False},
}
"""For one row whose narrow features are wanted for gradients."""

_INLINE = {"tile": 32, "step": 64, "by_rows": 1, "inline": True}
FEW: dict[str, dict[str, Any]] = {
    "tiles-64x128": {"tile": 64, "step": 128, "stages": 4},
    "tiles-32x128-ahead": {"tile": 32, "step": 128, "stages": 5, "ahead": True},
    "tiles-32x64w2": {"tile": 32, "step": 64, "num_warps": 2},
    "tiles-32x64-by1": {"tile": 32, "step": 64, "by_rows": 1},
    "tiles-32x64-by2": {"tile": 32, "step": 64, "by_rows": 2},
    "inline-32x64-s16": _INLINE | {"splits": 16},
    "inline-32x64-s16-ahead": _INLINE | {"splits": 16, "ahead": True},
    "singles-32x64w2": {"tile": 32, "step": 64, "one_by_one": True, "num_warps": 2},
}
"""Outputs and depth of a tile, warps, rows a program."""

PRODUCTS: dict[str, dict[str, Any]] = {
    "products-64-32": {"tile": 64, "last": 32},
    "products-64-16-n32": {"tile": 64, "last": 16, "tile_narrow": 32},
    "products-128-16": {"tile": 128, "last": 16},
    "products-128-32-n32": {"tile": 128, "last": 32, "tile_narrow": 32},
}
"""Of all fragments: outputs of a tile, and of one of the second launch."""

GROUPS: dict[str, dict[str, Any]] = {
    "groups-64x128x64": {"rows": 64, "tile": 128, "step": 64, "span": 4},
    "groups-128x256x64": {"rows": 128, "tile": 256, "step": 64, "num_warps": 8},
    "groups-16x128x32-apart": {"rows": 16, "tile": 128, "step": 32, "span": 4, "fused": False},
}
"""Rows, outputs and depth of a tile."""

_WIDE = {"step": 64, "num_warps": 8, "rows": 128}
SORTED: dict[str, dict[str, Any]] = {
    "sorted-64x128x32": {"rows": 64, "tile": 128, "step": 32, "stages": 6},
    "sorted-64x256x32": {"rows": 64, "tile": 256, "step": 32, "stages": 5, "narrow": (64, 256, 8, 4)},
    "sorted-128x128x64": _WIDE | {"tile": 128, "narrow": (128, 128, 8, 4)},
    "sorted-128x256x64": _WIDE | {"tile": 256, "stages": 4, "narrow": (64, 256, 8, 4)},
}
"""For 16 bits, by rows, outputs and features of a tile."""

_APART = {"rows": 64, "tile": 128, "step": 32, "fused": False}
GROUPS_OF_FLOAT32: dict[str, dict[str, Any]] = {
    "groups-16x128x32-apart": GROUPS["groups-16x128x32-apart"],
    "groups-64x128x32-apart": _APART | {"span": 2},
    "groups-64x128x32w8-apart": _APART | {"span": 4, "num_warps": 8},
    "groups-16x128x32": {"rows": 16, "tile": 128, "step": 32, "span": 4},
}
"""For products that matrix units do not compute: deeper tiles spill registers, up to 4.8 kB a thread
(`python -m benchmarks.hopper fragmented`), and were never the fastest."""


def candidates(sizes: Sizes, *, keep: bool = False) -> dict[str, Plan]:
    """By name; the first is taken where nothing can be measured."""
    plans: dict[str, Plan] = {}
    has_few = 0 < sizes.narrow <= MOST_NARROW
    if has_few and sizes.rows == 1:
        one = ONE_KEPT if keep else ONE
        plans |= {name: rows_plan(sizes, **options) for name, options in one.items()}
    elif has_few and sizes.rows <= MOST_ROWS_OF_A_TILE:
        plans |= {name: tiles_plan(sizes, **options) for name, options in FEW.items()}
        if sizes.dtype is not torch.float32 and suits_products(sizes):  # where a product is worth a launch
            plans |= {name: products_plan(sizes, **options) for name, options in PRODUCTS.items()}
    return plans | _for_many(sizes, has_few=has_few) | {"masked": masked}


def _for_many(sizes: Sizes, *, has_few: bool) -> dict[str, Plan]:
    """Those whose grids a device takes: which they are depends on more than a choice's key."""
    plans: dict[str, GroupsPlan | SortedPlan] = {}
    if sizes.rows > MOST_ROWS_OF_A_TILE or not has_few:
        groups = GROUPS_OF_FLOAT32 if sizes.dtype is torch.float32 else GROUPS
        plans |= {name: GroupsPlan(sizes, **options) for name, options in groups.items()}
    is_sorted = sizes.rows > MOST_ROWS_OF_A_TILE and 0 < sizes.narrow * sizes.features < LARGEST_COMPRESSOR
    if is_sorted and sizes.dtype is not torch.float32:
        plans |= {name: SortedPlan(sizes, **options) for name, options in SORTED.items()}
    return {name: plan for name, plan in plans.items() if all(map(is_launchable, plan.grids))}


def masked(x: Tensor, parameters: Parameters, *, keep: bool = False) -> Found:  # noqa: ARG001
    """Dense: the chosen part of x, noughts elsewhere, times all weights. Where most fragments are chosen by
    some row all weights are read anyway."""
    own, rest, chosen = gate(x, parameters.selector, hard=True)
    y, hidden = product(own, rest, parameters)
    return y, hidden, chosen


class _Hard(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *tensors: Any) -> Tensor:
        parameters = Parameters(*tensors)
        y, hidden, chosen = plan_for(x, parameters, keep=True)(x, parameters, keep=True)
        ctx.save_for_backward(x, *parameters, chosen, hidden)
        return y

    @staticmethod
    @without_autocast
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Gradients:
        x, *parameters, chosen, hidden = ctx.saved_tensors
        kept = (x, chosen, hidden)
        return gradients(kept, Parameters(*parameters), grad, ctx.needs_input_grad, hard=True)


@torch.library.custom_op(
    "stepmark::fragmented_hard", mutates_args=(), schema=f"{FORWARD} -> (Tensor, Tensor, Tensor)"
)
def operator(x: Tensor, *tensors: Any) -> Found:
    """Under torch.compile how many rows there are is known when it runs."""
    parameters = Parameters(*tensors)
    if x.shape[0] == 0:
        nothing: Found = _shapes(x, *tensors)
        return nothing
    if not suits(x, parameters) or not resolve("triton", x):
        raise ValueError(
            f"expected at most {MOST_FEATURES} features in one of {DTYPES}, got {x.shape[1]} in {x.dtype}"
        )
    y, hidden, chosen = plan_for(x, parameters, keep=True)(x, parameters, keep=True)
    assert hidden is not None
    return y, hidden.to(x.dtype), chosen


@operator.register_fake
def _shapes(x: Tensor, *tensors: Any) -> Found:
    _, weight, compressor, *_ = tensors
    chosen = x.new_empty(x.shape[0], dtype=torch.int32)
    return x.new_empty(x.shape[0], weight.shape[2]), x.new_empty(x.shape[0], compressor.shape[1]), chosen


@torch.library.custom_op(
    "stepmark::fragmented_hard_backward",
    mutates_args=(),
    schema=f"{BACKWARD} -> (Tensor, Tensor, Tensor, Tensor)",
)
@without_autocast
def backward_operator(*tensors: Tensor) -> Gradients:
    """Of x, weight, compressor and decompressor."""
    x, chosen, hidden, grad, selector, weight, compressor, decompressor = tensors
    if x.shape[0] == 0:
        return tuple(one.new_zeros(one.shape) for one in (x, weight, compressor, decompressor))
    needed = (True, False, True, True, True, False)
    parameters = Parameters(selector, weight, compressor, decompressor, None)
    every = gradients((x, chosen, hidden), parameters, grad, needed, hard=True)
    return every[0], *every[2:5]


@backward_operator.register_fake
def _(*tensors: Tensor) -> Gradients:
    return tuple(tensors[index].new_empty(tensors[index].shape) for index in (0, 5, 6, 7))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(inputs[0], output[2], output[1], *inputs[1:5])


def _backward(ctx: Any, grad: Tensor, *_: Any) -> Gradients:
    x, chosen, hidden, *parameters = ctx.saved_tensors
    of_x, *rest = backward_operator(x, chosen, hidden, grad, *parameters)
    return of_x, None, *rest, grad.sum(0) if ctx.needs_input_grad[5] else None


operator.register_autograd(_backward, setup_context=_keep)
