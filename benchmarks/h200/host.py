"""What the host spends on a call of a layer: `python -m benchmarks.h200.host`, half a minute.

SwitchBack   both passes of nn.Linear and of the layer; without autograd; and through autograd in one thread,
             where the difference is what the engine's own thread costs a backward pass in Python.
Fragmented   a call without gradients; its shortcut alone; its launches alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from benchmarks.h200.common import Call, save, side_by_side, time_eager
from benchmarks.h200.switchback_layers import both_passes
from stepmark.zoo import FragmentedLinear, SwitchBackLinear
from stepmark.zoo.kernels.switchback import Needs, Way
from stepmark.zoo.kernels.switchback_choice import Passes

SHAPES = [(1024, 1024, 4096), (8192, 1024, 4096)]
CELLS = [(n, rows, dtype) for n in (4096, 8192) for rows in (1, 8) for dtype in ("float32", "bfloat16")]
FRAGMENTS = 128
WAY = Way("int8", one_scale=False, memory_efficient=False, measured=True)


def switchback(rounds: int = 5) -> Iterator[dict[str, Any]]:
    for rows, inward, outward in SHAPES:
        x = torch.randn(rows, inward, device="cuda", dtype=torch.float16, requires_grad=True)
        g = torch.randn(rows, outward, device="cuda", dtype=torch.float16)
        linear = nn.Linear(inward, outward, bias=False, device="cuda", dtype=torch.float16)
        layer = SwitchBackLinear.from_linear(linear, backend="triton")
        alone = Passes(x, linear.weight, None, needs=Needs(x=True, weight=True, bias=False), codes_of=None)
        calls: dict[str, Call] = {
            "nn.Linear": partial(both_passes, linear, x, g),
            "auto": partial(both_passes, SwitchBackLinear.from_linear(linear), x, g),
            "int8": partial(both_passes, layer, x, g),
            "int8, one thread": partial(_in_one_thread, partial(both_passes, layer, x, g)),
            "int8, without autograd": partial(alone.alone, WAY),
        }
        yield {"layer": "SwitchBack", "shape": (rows, inward, outward)} | _times(calls, rounds)


def _in_one_thread(call: Call) -> None:
    with torch.autograd.set_multithreading_enabled(False):
        call()


def fragmented(rounds: int = 5) -> Iterator[dict[str, Any]]:
    for n, rows, dtype in CELLS:
        layer = FragmentedLinear(n, n, FRAGMENTS, device="cuda", dtype=getattr(torch, dtype)).eval()
        x = torch.randn(rows, n, device="cuda", dtype=getattr(torch, dtype))
        with torch.no_grad():
            y = layer(x)
            before = layer._shortcut._before
            calls: dict[str, Call] = {
                "nn.Linear": partial(nn.Linear(n, n, bias=False, device="cuda", dtype=x.dtype), x),
                "layer": partial(layer, x),
                "shortcut": partial(layer._shortcut, x, layer._parameters, layer.backend),
            }
            if before is not None:
                places = (x.data_ptr(), *before.arguments, y.data_ptr())
                calls["launches"] = partial(before.launches, *places)
            found = _times(calls, rounds)
        yield {"layer": "Fragmented", "n": n, "rows": rows, "dtype": dtype} | found


def _times(calls: dict[str, Call], rounds: int) -> dict[str, Any]:
    found = side_by_side(calls, time_eager, rounds)
    return {"us": {name: us and round(us, 1) for name, us in found.items()}}


def main() -> None:
    rows: list[dict[str, Any]] = []
    for part in (switchback, fragmented):
        for row in part():
            rows.append(row)
            print(row, flush=True)
            save("host", rows)


if __name__ == "__main__":
    main()
