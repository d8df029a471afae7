"""Families of kernels: calls of the zoo's own code, at sizes of docs/gpu.md, that launch each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels import (
    few_rows,
    few_rows_gradients,
    fragmented,
    int8,
    norm_autograd,
    quantize,
    softmax_autograd,
)
from stepmark.zoo.kernels.adamw import Entry, FusedAdam, Settings
from stepmark.zoo.kernels.cross_entropy import mean_loss
from stepmark.zoo.kernels.fragmented_gate import gate
from stepmark.zoo.kernels.fragmented_plans import GroupsPlan, rows_plan, tiles_plan
from stepmark.zoo.kernels.fragmented_products import products_plan
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes
from stepmark.zoo.kernels.fragmented_sorted import SortedPlan
from stepmark.zoo.kernels.gated import _SiluGate
from stepmark.zoo.kernels.lora_sizes import Adapted
from stepmark.zoo.kernels.lora_sizes import Sizes as LoRASizes
from stepmark.zoo.kernels.lora_ways import backward_ways, forward_ways
from stepmark.zoo.kernels.norm import Parameters as NormParameters
from stepmark.zoo.kernels.rotation import _RotatedHeads

Call = Callable[[], object]
Calls = Iterator[tuple[str, Call]]
HALF, SINGLE = torch.bfloat16, torch.float32


def norms() -> Calls:
    for (rows, width, dtype), centred in product(
        [(8192, 4096, HALF), (8192, 768, HALF), (64, 1024, SINGLE)], (False, True)
    ):
        name = f"{'LayerNorm' if centred else 'RMSNorm'} {rows} x {width} {_short(dtype)}"
        yield name, partial(_norm, rows, width, dtype, centred)


def _norm(rows: int, width: int, dtype: torch.dtype, centred: bool) -> None:
    x = torch.empty(rows, width, dtype=dtype, requires_grad=True)
    weight, bias = (torch.empty(width, dtype=dtype, requires_grad=True) for _ in range(2))
    y = norm_autograd.norm_rows(
        x, NormParameters(weight, bias if centred else None), eps=1e-5, centred=centred
    )
    torch.autograd.backward(y, torch.empty_like(y))


def softmax() -> Calls:
    for rows, width, dtype in [(8192, 4096, HALF), (64, 1024, SINGLE), (64, 50257, SINGLE)]:
        yield f"softmax {rows} x {width} {_short(dtype)}", partial(_softmax, rows, width, dtype)


def _softmax(rows: int, width: int, dtype: torch.dtype) -> None:
    x = torch.empty(rows, width, dtype=dtype, requires_grad=True)
    y = softmax_autograd.softmax_rows(x)
    torch.autograd.backward(y, torch.empty_like(y))


def quantisers() -> Calls:
    x, weight = torch.empty(8192, 4096, dtype=torch.float16), torch.empty(4096, 1024, dtype=torch.float16)
    for code in (torch.int8, torch.float8_e4m3fn):
        yield f"rows to {_short(code)}", partial(quantize.quantize_rows, x, code=code)
        for one_scale in (False, True):
            scales = "one scale" if one_scale else "scales by row"
            both = partial(quantize.quantize_weight, weight, one_scale=one_scale, code=code)
            yield f"weight to {_short(code)}, {scales}", both
    codes = torch.empty(8192, 4096, dtype=torch.int8)
    yield "codes back", partial(quantize.dequantize_rows, codes, torch.empty(8192), torch.float16)


def products() -> Calls:
    for (name, tile), code in product(int8.TILES.items(), (torch.int8, torch.float8_e4m3fn)):
        x8, w8 = torch.empty(8192, 1024, dtype=code), torch.empty(4096, 1024, dtype=code)
        scales = torch.empty(8192), torch.empty(4096)
        call = partial(int8.scaled_product, x8, w8, *scales, dtype=torch.float16, tile=tile)
        yield f"{name} {_short(code)}", call


def fragmented_layers() -> Calls:
    """Evaluation with one row, with few and with many."""
    groups = fragmented.GROUPS | fragmented.GROUPS_OF_FLOAT32
    for (n, number), dtype in product([(8192, 128), (2048, 2)], (SINGLE, HALF)):
        for rows, plans in ((1, fragmented.ONE), (16, fragmented.FEW), (4096, groups)):
            makers: dict[int, Any] = {1: rows_plan, 16: tiles_plan, 4096: GroupsPlan}
            sizes = Sizes(rows, number, n // number, n, n // 32, dtype, has_bias=False)
            for name, options in plans.items():
                at = f"n={n} rows={rows} fragments={number} {_short(dtype)}"
                yield f"{name} {at}", partial(_fragmented, makers[rows], sizes, options)


def fragmented_layers_products() -> Calls:
    """Evaluation of few rows that choose most fragments."""
    for n, number, rows in [(4096, 2, 8), (2048, 8, 16)]:
        sizes = Sizes(rows, number, n // number, n, n // 32, HALF, has_bias=False)
        for name, options in fragmented.PRODUCTS.items():
            at = f"n={n} rows={rows} fragments={number} {_short(HALF)}"
            yield f"{name} {at}", partial(_fragmented, products_plan, sizes, options)


def fragmented_layers_sorted() -> Calls:
    """Evaluation with many rows in 16 bits, at sizes with few and with many rows a fragment."""
    for n, rows, number in [(4096, 2048, 128), (4096, 8192, 32), (8192, 2048, 32), (8192, 8192, 8)]:
        sizes = Sizes(rows, number, n // number, n, n // 32, HALF, has_bias=False)
        for name, options in fragmented.SORTED.items():
            at = f"n={n} rows={rows} fragments={number} {_short(HALF)}"
            yield f"{name} {at}", partial(_fragmented, SortedPlan, sizes, options)


def _fragmented(maker: Any, sizes: Sizes, options: Mapping[str, Any]) -> None:
    x, parameters = _fragmented_tensors(sizes)
    maker(sizes, **options)(x, parameters)


def _fragmented_tensors(sizes: Sizes) -> tuple[Tensor, Parameters]:
    empty = partial(torch.empty, dtype=sizes.dtype)
    n, narrow = sizes.features, sizes.narrow
    return empty(sizes.rows, n), Parameters(
        empty(sizes.fragments, sizes.size),
        empty(sizes.fragments, sizes.size, sizes.outputs),
        empty(n, narrow),
        empty(sizes.outputs, narrow),
        None,
    )


def gates() -> Calls:
    for (rows, number), hard in product([(16, 128), (2048, 32)], (False, True)):
        x, selector = torch.empty(rows, 4096), torch.empty(number, 4096 // number)
        kind = "hard" if hard else "soft"
        yield f"{kind} gate {rows} x 4096, {number} fragments", partial(gate, x, selector, hard=hard)


def few_rows_products() -> Calls:
    a, b = torch.empty(16, 4096), torch.empty(4096, 4096)
    for name in few_rows.TILES:
        yield f"few rows {name}", partial(few_rows._by_tiles, None, a, b, name)
    for name, rows in product(few_rows_gradients.TILES, (1, 8, 16)):
        a, b = torch.empty(rows, 4096), torch.empty(rows, 4096)
        yield f"gradient of {rows} rows {name}", partial(few_rows_gradients._by_tiles, a, b, name)


def lora() -> Calls:
    for rows, features, rank, dtype in [(64, 1024, 8, HALF), (64, 1024, 8, SINGLE), (4096, 4096, 16, HALF)]:
        precision = "bf16" if dtype is HALF else "ieee"
        sizes = LoRASizes((rows,), features, features, rank, precision, has_weight=True, has_bias=False)
        at = f"{rows} x {features} r{rank} {_short(dtype)}"
        for name, make in forward_ways(sizes).items():
            if not name.startswith("torch"):
                yield f"{name} forward {at}", partial(_lora_forward, make, sizes, dtype)
        for name, making in backward_ways(sizes, needs_dx=True).items():
            if not name.startswith("torch"):
                yield f"{name} backward {at}", partial(_lora_backward, making, sizes, dtype)


def _lora_layer(sizes: LoRASizes, dtype: torch.dtype) -> Adapted:
    empty = partial(torch.empty, dtype=dtype)
    a, b = empty(sizes.inputs, sizes.rank), empty(sizes.rank, sizes.outputs)
    return Adapted(empty(sizes.outputs, sizes.inputs), None, a, b, 2.0)


def _lora_forward(make: Any, sizes: LoRASizes, dtype: torch.dtype) -> None:
    make()(torch.zeros(sizes.rows, sizes.inputs, dtype=dtype), _lora_layer(sizes, dtype))


def _lora_backward(make: Any, sizes: LoRASizes, dtype: torch.dtype) -> None:
    g, x = (torch.zeros(sizes.rows, n, dtype=dtype) for n in (sizes.outputs, sizes.inputs))
    make()(g, x, torch.zeros(sizes.rows, sizes.rank, dtype=dtype), _lora_layer(sizes, dtype))


def optimizers() -> Calls:
    for dtype, moments in ((SINGLE, SINGLE), (HALF, HALF), (HALF, SINGLE)):
        name = f"AdamW {_short(dtype)}, moments {_short(moments)}"
        yield name, partial(_adamw, dtype, moments)


def _adamw(dtype: torch.dtype, moments: torch.dtype) -> None:
    parameter, gradient = (torch.empty(4096, dtype=dtype) for _ in range(2))
    first, second = (torch.empty(4096, dtype=moments) for _ in range(2))
    settings = [Settings(1e-3, (0.9, 0.999), 1e-8, 0.01)]
    adam = FusedAdam(torch.device("cpu"), decoupled=True)
    adam.write(settings)
    adam.run(adam.prepare([Entry(parameter, gradient, first, second, torch.zeros(()), 0)], settings))


def of_transformers() -> Calls:
    yield "mean loss 1024 x 50257 bfloat16", _loss
    yield "silu gate 1024 x 4096 bfloat16", _silu
    yield "rotated heads 4 x 256 x 12 x 64 bfloat16", _heads


def _loss() -> None:
    logits = torch.empty(1024, 50257, dtype=HALF, requires_grad=True)
    torch.autograd.backward(mean_loss(logits, torch.zeros(1024, dtype=torch.int64)))


def _silu() -> None:
    packed = torch.empty(1024, 8192, dtype=HALF, requires_grad=True)
    y = _SiluGate.apply(packed)  # type: ignore[no-untyped-call]
    torch.autograd.backward(y, torch.empty_like(y))


def _heads() -> None:
    packed = torch.empty(4, 256, 3 * 768, dtype=HALF, requires_grad=True)
    cos, sin = (torch.empty(256, 32) for _ in range(2))
    parts = _RotatedHeads.apply(packed, cos, sin, 12)  # type: ignore[no-untyped-call]
    torch.autograd.backward(parts, [torch.empty_like(one) for one in parts])


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


FAMILIES: dict[str, Callable[[], Calls]] = {
    "norms": norms,
    "softmax": softmax,
    "quantisers": quantisers,
    "products": products,
    "fragmented": fragmented_layers,
    "fragmented-products": fragmented_layers_products,
    "fragmented-sorted": fragmented_layers_sorted,
    "gates": gates,
    "few-rows": few_rows_products,
    "lora": lora,
    "optimizers": optimizers,
    "transformers": of_transformers,
}
