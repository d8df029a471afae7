"""The 142 published shapes: forward, both gradients and all quantisation, beside 16-bit products and peers.

Every variant is a whole pass in its own order (quantise x and w, product, quantise g, product, weight
gradient), without bias or autograd; calls of less than LONG operations are replays of graphs, longer ones run
back to back between events: warm L2, no host time. Rounds interleave the variants in random order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import partial
from random import Random
from typing import Any

import torch
from torch import Tensor

from benchmarks.h200.common import Call, forget_graphs, side_by_side
from benchmarks.h200.switchback_peers import bitsandbytes_calls
from benchmarks.h200.switchback_product import LONG, device_timer
from benchmarks.h200.switchback_quantisers import copy_bandwidth
from stepmark.zoo.kernels.dispatch import rehearsing
from stepmark.zoo.kernels.product import product
from stepmark.zoo.kernels.quantize import quantize_rows
from stepmark.zoo.kernels.switchback import PLAIN, Needs, Way, backward, forward, weight_codes
from stepmark.zoo.kernels.switchback_choice import chosen

PAIRS = [
    (1024, 4096),
    (1280, 5120),
    (1408, 5632),
    (1408, 6144),
    (1664, 6656),
    (1664, 8192),
    (2048, 8192),
    (4096, 16384),
    (8096, 32384),
]
ROWS = [2**power for power in range(10, 18)]
MOST_FOR_PEERS = 65536 * 4096 * 16384
"""Beyond, the tuning of bitsandbytes' products alone takes minutes."""
ALL = Needs(x=True, weight=True, bias=False)
VECTOR = Way("int8", one_scale=False, memory_efficient=False, measured=True)
WAYS = {
    "vector": VECTOR,
    "global": VECTOR._replace(one_scale=True),
    "memory": VECTOR._replace(one_scale=True, memory_efficient=True),
    "fp8": VECTOR._replace(code="fp8"),
}


def shapes(part: int = 0, parts: int = 1) -> list[tuple[int, int, int]]:
    """Rows, in and out, dealt out so that parts take about the same time, in a random order that is always
    the same: a run that is cut short has seen large and small ones alike."""
    every = [
        (rows, *sides)
        for rows in ROWS
        for narrow, wide in PAIRS
        for sides in ((narrow, wide), (wide, narrow))
        if (narrow, rows) != (8096, 131072)
    ]
    dealt = sorted(every, key=math.prod, reverse=True)[part::parts]
    return Random(0).sample(dealt, len(dealt))


def measured(
    dtype: torch.dtype,
    *,
    part: int,
    parts: int,
    peers: bool = True,
    rounds: int = 3,
    left_out: Collection[tuple[int, ...]] = (),
) -> Iterator[dict[str, Any]]:
    """One row a shape, and at last what they come to."""
    copied, rate = copy_bandwidth(), best_rate()
    yield {"copy TB/s": copied, "int8 TOP/s at 8192^3": rate}
    rows = []
    for shape in [one for one in shapes(part, parts) if one not in left_out]:
        try:
            row = _shape(shape, dtype, limits=(copied, rate), peers=peers, rounds=rounds)
        except Exception as error:
            row = {"shape": shape, "failed": f"{type(error).__name__}: {str(error)[:200]}"}
        rows.append(row)
        yield row
        forget_graphs()
    yield summary(rows)


def best_rate() -> float:
    """What the product itself reaches where it has room, in 10^12 operations a second."""
    (x8, x_scale), (w8, w_scale) = (
        quantize_rows(torch.randn(8192, 8192, device="cuda", dtype=torch.float16)) for _ in range(2)
    )
    call = partial(product, x8, w8, x_scale, w_scale, dtype=torch.float16)
    return 2e-6 * 8192**3 / device_timer(2.0 * 8192**3)(call)


def _shape(
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    *,
    limits: tuple[float, float],
    peers: bool,
    rounds: int,
) -> dict[str, Any]:
    (rows, inward, outward), (copied, rate) = shape, limits
    x, g, w = operands(shape, dtype)
    found = side_by_side(_calls(x, g, w, peers), timer=device_timer(6.0 * math.prod(shape)), rounds=rounds)
    plain, gradient = found["16-bit"] or math.nan, found["weight gradient"] or math.nan
    auto = {name: _chosen(x, w, {"int8": WAYS[name]}) for name in ("vector", "global")}
    auto["any"] = _chosen(x, w, {"int8": VECTOR, "fp8": WAYS["fp8"]})
    work = math.prod(shape)
    quantising = 1e-6 * (3 * rows * (inward + outward) + 4 * inward * outward) / copied
    ceiling = plain / (gradient + 2 * 2e-6 * work / rate + quantising)
    return {
        "shape": shape,
        "timed": "graph" if 6.0 * work < LONG else "between events",
        "us": {name: us and round(us, 1) for name, us in found.items()},
        "speed-up": {name: us and round(plain / us, 3) for name, us in found.items()},
        "auto chose": auto,
        "ceiling": round(ceiling, 3),
    }


def operands(shape: tuple[int, int, int], dtype: torch.dtype) -> Iterator[Tensor]:
    """x, the gradient of the output, and the weight."""
    rows, inward, outward = shape
    for size in ((rows, inward), (rows, outward), (outward, inward)):
        yield torch.randn(*size, device="cuda", dtype=dtype)


def _calls(x: Tensor, g: Tensor, w: Tensor, peers: bool) -> dict[str, Call]:
    return {
        "16-bit": partial(plain_pass, x, g, w),
        "weight gradient": partial(torch.mm, g.t(), x),
        **{name: partial(own_pass, x, g, w, way) for name, way in WAYS.items()},
        "vector cached": partial(own_pass, x, g, w, VECTOR, codes=weight_codes(w, VECTOR)),
        "auto vector": auto_pass(x, g, w, {"int8": VECTOR}),
        "auto global": auto_pass(x, g, w, {"int8": WAYS["global"]}),
        "auto any": auto_pass(x, g, w, {"int8": VECTOR, "fp8": WAYS["fp8"]}),
        **(bitsandbytes_calls(x, g, w) if peers and x.shape[0] * w.numel() <= MOST_FOR_PEERS else {}),
    }


def tune_peers(dtype: torch.dtype, part: int, parts: int) -> None:
    """Let bitsandbytes' kernels choose once at each shape; what they compile stays in Triton's cache. The
    choice itself is made again where they are measured, alone on the device."""
    for rows, inward, outward in shapes(part, parts):
        if rows * inward * outward <= MOST_FOR_PEERS:
            x, g, w = operands((rows, inward, outward), dtype)
            for call in bitsandbytes_calls(x, g, w).values():
                call()


def plain_pass(x: Tensor, g: Tensor, w: Tensor) -> None:
    """Three products in 16 bits."""
    torch.mm(x, w.t())
    torch.mm(g, w)
    torch.mm(g.t(), x)


def own_pass(x: Tensor, g: Tensor, w: Tensor, way: Way, codes: Any = None) -> None:
    """Two products in 8 bits with all that they need, and the weight gradient."""
    _, kept = forward(x, w, None, way, needs=ALL, codes_of=None if codes is None else lambda _: codes)
    backward(g, kept, way, needs=ALL)


def auto_pass(x: Tensor, g: Tensor, w: Tensor, ways: dict[str, Way]) -> Call:
    """What a layer with backend="auto" computes in a graph, where host time does not count."""
    name = _chosen(x, w, ways)
    return partial(plain_pass, x, g, w) if name == PLAIN else partial(own_pass, x, g, w, ways[name])


def _chosen(x: Tensor, w: Tensor, ways: dict[str, Way]) -> str:
    with rehearsing():
        return chosen(x, w, None, ways=ways, needs=ALL)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means of the speed-ups, the worst of auto, and what the targets ask of large layers."""
    good = [row for row in rows if "us" in row]
    names = sorted({name for row in good for name in row["us"]})
    means = {name: geometric_mean([row["speed-up"].get(name) for row in good]) for name in names}
    large = [row for row in good if row["shape"][0] >= 32768 and min(row["shape"][1:]) >= 2048]
    autos = [name for name in names if name.startswith("auto")]
    return {
        "shapes": len(good),
        "geometric means": means,
        "slowest": {name: min(row["speed-up"][name] or 0.0 for row in good) for name in autos},
        "large": {name: min((row["speed-up"][name] or 0.0 for row in large), default=None) for name in names},
        "large means": {name: geometric_mean([row["speed-up"].get(name) for row in large]) for name in names},
        "large below 1.40": [
            (row["shape"], row["speed-up"]["auto vector"], row["ceiling"])
            for row in large
            if (row["speed-up"]["auto vector"] or 0.0) < 1.40
        ],
    }


def geometric_mean(values: list[float | None]) -> float | None:
    """Of those that are there."""
    known = [value for value in values if value]
    return round(math.exp(sum(map(math.log, known)) / len(known)), 4) if known else None
