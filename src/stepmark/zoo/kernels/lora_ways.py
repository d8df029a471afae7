"""Ways to compute a LoRA layer, by name, and plans: the ways chosen for given sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from stepmark.zoo.kernels import lora_gradients, lora_products
from stepmark.zoo.kernels.backend import is_interpreted
from stepmark.zoo.kernels.dispatch import choose, is_for_a_graph
from stepmark.zoo.kernels.launch import is_launchable
from stepmark.zoo.kernels.lora_sizes import Adapted, Backward, Gradients, Outputs, Product, Sizes, Tile

Way = TypeVar("Way", Product, Backward)

FORWARD, BACKWARD = "lora-forward/2", "lora-backward/2"
MOST_RANKS = 64
"""Of a kernel: its thin sums stay in registers."""
ALIGNED = 16
"""Features must be multiples of it. Others could not be loaded ahead, 16 bytes at a time, and a tile of W of
128 x 16 that is loaded number by number came out wrong on an H200, with Triton 3.6, in the backward pass."""
DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "ieee"}

WHOLE_16 = (Tile(64, 16, 128, 4, 4), Tile(64, 32, 128, 4, 4), Tile(64, 64, 64, 4, 4))
WHOLE_16_FEW = (Tile(16, 16, 256, 4, 3), Tile(16, 32, 128, 4, 4))
WHOLE_32 = (Tile(64, 16, 32, 4, 3), Tile(64, 32, 32, 4, 3))
WHOLE_32_FEW = (Tile(16, 16, 64, 4, 3), Tile(32, 16, 64, 4, 3))
FUSED = (Tile(128, 256, 64, 8, 3), Tile(128, 128, 64, 8, 4))
THIN_16, THIN_16_FEW, THIN_32 = Tile(64, 16, 128, 4, 4), Tile(16, 16, 128, 4, 4), Tile(16, 16, 64, 4, 3)
SPREAD = Tile(64, 128, 16, 4, 1)
ROWS_16 = (Tile(32, 128, 128, 4, 5), Tile(32, 256, 128, 8, 4), Tile(16, 256, 128, 4, 4))
ROWS_32 = (Tile(16, 64, 64, 4, 3),)
MOST_PLANS = 4096
"""Sizes that are remembered; a program with more of them chooses again."""
MOST_WHOLE_ROWS = 1024
LEAST_FUSED_ROWS = 512
LEAST_ROWS_IN_BLOCKS = 512
"""A program has a block of rows: with fewer of them most of a large GPU would wait."""
PROGRAMS, STRIP_ROWS = 128, 128
"""For dA and dB: about as many programs as a large GPU has processors, and rows that each loads at a time."""


def forward_ways(sizes: Sizes) -> dict[str, Callable[[], Product]]:
    """Makers of those that these sizes allow, the plain one first."""
    makers: dict[str, Callable[[], Product]] = {
        "torch": partial(lora_products.torch_added, sizes, forward=True)
    }
    if sizes.has_weight:
        makers["torch_spread"] = partial(lora_products.torch_spread, sizes, forward=True)
    return makers | {name: partial(make, forward=True) for name, make in _products(sizes).items()}


def backward_ways(sizes: Sizes, *, needs_dx: bool) -> dict[str, Callable[[], Backward]]:
    """dx and h by one of the products, then dA and dB; or all at once. Without dx only h is to choose."""
    in_parts = partial(lora_gradients.in_parts, needs_dx=needs_dx)
    plain = partial(in_parts, factors=lora_gradients.torch_factors)
    if not needs_dx:
        makers: dict[str, Callable[[], Backward]] = {"torch": partial(plain, lora_gradients.torch_thin_alone)}
    else:
        makers = {"torch": lambda: plain(lora_products.torch_added(sizes, forward=False))}
        if sizes.has_weight:
            makers["torch_spread"] = lambda: plain(lora_products.torch_spread(sizes, forward=False))
    products = _products(sizes)
    if products and not needs_dx:
        thin = partial(lora_products.thin_alone, sizes, thin_tile(sizes))
        products = {f"thin{thin_tile(sizes)}": thin}
    for name, make in products.items():
        makers[name] = partial(_with_strips, sizes, make, needs_dx)
    for tile in whole_tiles(sizes):
        if sizes.most_rows <= tile.rows:
            makers[f"once{tile}"] = partial(lora_gradients.at_once, sizes, tile, needs_dx=needs_dx)
    return makers


def _with_strips(sizes: Sizes, make: Callable[..., Product], needs_dx: bool) -> Backward:
    return lora_gradients.in_parts(
        make(forward=False), lora_gradients.strips(sizes, strip_tile(sizes)), needs_dx=needs_dx
    )


def _products(sizes: Sizes) -> dict[str, Callable[..., Product]]:
    """By kernels, for either direction."""
    if not sizes.rows:
        return {}
    thin = thin_tile(sizes)
    made: dict[str, Callable[..., Product]] = {}
    if is_launchable((1, -(-sizes.most_rows // SPREAD.rows), 1)):  # a choice is for all rows up to these
        made[f"spread{thin}"] = partial(lora_products.spread, sizes, thin, SPREAD)
    made |= {f"whole{tile}": partial(lora_products.whole, sizes, tile) for tile in whole_tiles(sizes)}
    made |= {f"rows{tile}": partial(lora_products.in_rows, sizes, tile) for tile in rows_tiles(sizes)}
    return made | {
        f"fused{tile}": partial(lora_products.fused, sizes, thin, tile) for tile in fused_tiles(sizes)
    }


def whole_tiles(sizes: Sizes) -> tuple[Tile, ...]:
    if not 0 < sizes.most_rows <= MOST_WHOLE_ROWS:
        return ()
    if sizes.precision in ("ieee", "tf32"):
        return WHOLE_32_FEW if sizes.most_rows <= 16 else WHOLE_32
    return WHOLE_16_FEW if sizes.most_rows <= 16 else WHOLE_16


def rows_tiles(sizes: Sizes) -> tuple[Tile, ...]:
    if sizes.most_rows < LEAST_ROWS_IN_BLOCKS:
        return ()
    return ROWS_16 if sizes.precision in ("bf16", "fp16") else ROWS_32


def fused_tiles(sizes: Sizes) -> tuple[Tile, ...]:
    """Descriptors want Hopper, 16 bits, and rows that begin at multiples of 16 bytes."""
    usable = sizes.has_weight and sizes.precision in ("bf16", "fp16") and _has_descriptors()
    whole_rows = sizes.inputs % 8 == 0 and sizes.outputs % 8 == 0
    return FUSED if usable and whole_rows and sizes.most_rows >= LEAST_FUSED_ROWS else ()


def _has_descriptors() -> bool:
    return is_interpreted() or torch.cuda.get_device_capability()[0] >= 9


def thin_tile(sizes: Sizes) -> Tile:
    if sizes.precision not in ("bf16", "fp16"):
        return THIN_32
    return THIN_16 if sizes.most_rows >= 2048 else THIN_16_FEW


def strip_tile(sizes: Sizes) -> Tile:
    """64 features, 128 bytes of a row; fewer where that would leave processors without work at few rows."""
    narrow = sizes.most_rows < 2 * STRIP_ROWS and sizes.inputs + sizes.outputs < 64 * PROGRAMS
    return Tile(0, 16 if narrow else 64, 64 if sizes.most_rows <= 64 else STRIP_ROWS, 4, 4)


def strip_splits(sizes: Sizes) -> int:
    """As many parts of the rows as give every processor one, of at least two steps each."""
    strips = -(-(sizes.inputs + sizes.outputs) // strip_tile(sizes).columns)
    most = sizes.most_rows // (2 * STRIP_ROWS)
    return max(1, min(most, -(-PROGRAMS // strips)))


class Plan:
    """The ways of one layer at one size, chosen when first needed."""

    def __init__(self, sizes: Sizes, *, only_kernels: bool) -> None:
        self.sizes, self.only_kernels = sizes, only_kernels
        self._forward: Product | None = None
        self._backward: dict[bool, Backward] = {}

    def forward(self, x: Tensor, layer: Adapted) -> Outputs:
        captured = x.is_cuda and is_for_a_graph()
        if self._forward is not None and not captured:
            return self._forward(x, layer)
        makers = self._eligible(forward_ways(self.sizes))
        way = makers[
            self._choice(FORWARD, "", {one: _call(make, x, layer) for one, make in makers.items()})
        ]()
        if not captured:
            self._forward = way
        return way(x, layer)

    def backward(self, g: Tensor, x: Tensor, s: Tensor, layer: Adapted, *, needs_dx: bool) -> Gradients:
        captured = x.is_cuda and is_for_a_graph()
        way = self._backward.get(needs_dx)
        if way is not None and not captured:
            return way(g, x, s, layer)
        makers = self._eligible(backward_ways(self.sizes, needs_dx=needs_dx))
        calls = {one: _call(make, g, x, s, layer) for one, make in makers.items()}
        way = makers[self._choice(BACKWARD, "dx" if needs_dx else "no-dx", calls)]()
        if not captured:
            self._backward[needs_dx] = way
        return way(g, x, s, layer)

    def _eligible(self, makers: dict[str, Callable[[], Way]]) -> dict[str, Callable[[], Way]]:
        kernels = {name: make for name, make in makers.items() if not name.startswith("torch")}
        return kernels if self.only_kernels and kernels else makers

    def _choice(self, operation: str, kind: str, calls: dict[str, Callable[[], object]]) -> str:
        default = next(iter(calls))
        if is_interpreted() or len(calls) == 1:
            return default
        _, inputs, outputs, rank, precision, has_weight, has_bias = self.sizes
        layer = "biased" if has_bias else "linear" if has_weight else "adapter"
        key = (self.sizes.most_rows, inputs, outputs, rank, precision, layer, kind)
        return choose(operation, key, calls, default=default)


def _call(make: Callable[[], Callable[..., object]], *given: object) -> Callable[[], object]:
    """Made when first called: what cannot be made is out, as what cannot be run."""
    made: list[Callable[..., object]] = []

    def call() -> object:
        if not made:
            made.append(make())
        return made[0](*given)

    return call


_plans: dict[tuple[object, ...], Plan] = {}

_matmul: Any = torch.backends.cuda.matmul
_TF32 = ("fp32_precision", "tf32") if hasattr(_matmul, "fp32_precision") else ("allow_tf32", True)
"""Since torch 2.9 each backend has a word for it, beside which the older switch may not be asked."""


def _has_tf32() -> bool:
    """Whether torch's products of float32 round their factors, so that the kernels may as well."""
    name, yes = _TF32
    return bool(getattr(_matmul, name) == yes)


def plan_for(x: Tensor, layer: Adapted, *, only_kernels: bool = False) -> Plan:
    """Remembered by the sizes; x is dense in its rows."""
    weight, bias, a, b, _ = layer
    precision = DTYPES[x.dtype]
    if precision == "ieee" and _has_tf32():
        precision = "tf32"
    place = (x.shape, a.shape, b.shape, precision, weight is None, bias is None, only_kernels)
    plan = _plans.get(place)
    if plan is None:
        kind = (precision, weight is not None, bias is not None)
        sizes = Sizes(tuple(x.shape[:-1]), a.shape[0], b.shape[1], a.shape[1], *kind)
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        plan = _plans[place] = Plan(sizes, only_kernels=only_kernels)
    return plan


def dense_in_rows(z: Tensor) -> Tensor:
    """As kernels read it, in two dimensions where its own cannot be kept."""
    if z.is_contiguous() and z.dim() > 1:
        return z
    z = z.reshape(-1, z.shape[-1])
    return z if z.stride(1) == 1 else z.contiguous()
