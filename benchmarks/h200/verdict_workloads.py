"""Workloads of the GPU study: operations from 5 µs to 5 ms, each followed by work of a chosen size.

What is injected is a kernel that spins for a number of cycles. Both sides run it, the baseline for LEAST
cycles, so that a slowed side launches nothing that the baseline does not launch. A step that waits for the
host is slowed on the host, by empty turns of a loop.

2 % of an operation of 3 to 10 µs is 60 to 200 ns, and time does not grow evenly by so little: where a kernel
ends, it grows by steps. Amounts of 149 and 123 cycles were counted at 2.6 % and at 0.2 %. So where a graph
holds REPEATS calls one of them is slowed for all, and the others by nothing: the mean is the wanted one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, repeat

import torch
from torch.nn import functional

from stepmark.instruments.graph_capture import REPEATS

Call = Callable[[], object]
LEAST = 1000
"""Cycles, half a microsecond."""


@dataclass(frozen=True)
class Workload:
    """An operation or a step of a device."""

    make: Callable[[torch.device], Call]
    graph: bool = False
    """Measured as replays of a CUDA graph: eager calls of so short an operation wait for Python."""
    calls_a_dose: int = 1
    """Of so many calls in a row one is slowed for all: REPEATS where a graph surely holds so many. A graph of
    a call that takes SHORT from Python (graph_capture.py), as a step may, holds one."""
    on_host: bool = False
    """Slowed by the host, because the device waits for it anyway."""


def _short(make: Callable[[torch.device], Call]) -> Workload:
    return Workload(make, graph=True, calls_a_dose=REPEATS)


def _add(elements: int) -> Callable[[torch.device], Call]:
    def make(device: torch.device) -> Call:
        x, y = torch.randn(elements, device=device), torch.randn(elements, device=device)
        out = torch.empty_like(x)
        return lambda: torch.add(x, y, out=out)

    return make


def _product(side: int, times: int = 1) -> Callable[[torch.device], Call]:
    def make(device: torch.device) -> Call:
        x = torch.randn(side, side, device=device, dtype=torch.bfloat16)
        out = torch.empty_like(x)

        def call() -> None:
            for _ in repeat(None, times):
                torch.mm(x, x, out=out)

        return call

    return make


def _norm(rows: int, columns: int) -> Callable[[torch.device], Call]:
    def make(device: torch.device) -> Call:
        x = torch.randn(rows, columns, device=device, dtype=torch.bfloat16)
        weight = torch.ones(columns, device=device, dtype=torch.bfloat16)
        return lambda: functional.layer_norm(x, (columns,), weight)

    return make


def _softmax(rows: int, columns: int) -> Callable[[torch.device], Call]:
    def make(device: torch.device) -> Call:
        x = torch.randn(rows, columns, device=device)
        return lambda: x.softmax(-1)

    return make


def _step(rows: int, width: int, layers: int) -> Callable[[torch.device], Call]:
    def make(device: torch.device) -> Call:
        blocks = [part for _ in range(layers) for part in (torch.nn.Linear(width, width), torch.nn.GELU())]
        model = torch.nn.Sequential(*blocks).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
        x = torch.randn(rows, width, device=device)

        def call() -> None:
            optimizer.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
            optimizer.step()

        return call

    return make


WORKLOADS: dict[str, Workload] = {
    "add_512k": _short(_add(512 << 10)),
    "norm_2048x1024": _short(_norm(2048, 1024)),
    "product_1024": _short(_product(1024)),
    "softmax_4096x1024": _short(_softmax(4096, 1024)),
    "add_16m": _short(_add(16 << 20)),
    "step_graph": Workload(_step(256, 512, 4), graph=True),
    "product_2048": Workload(_product(2048)),
    "norm_8192x4096": Workload(_norm(8192, 4096)),
    "product_4096": Workload(_product(4096)),
    "add_128m": Workload(_add(128 << 20)),
    "product_8192": Workload(_product(8192)),
    "product_8192_thrice": Workload(_product(8192, 3)),
    "step_eager": Workload(_step(256, 512, 4), on_host=True),
}


def slowed(workload: Workload, device: torch.device, amount: int) -> Call:
    """The call, then so many cycles of the device, or turns of the host, beyond the baseline's: a call on the
    mean. Any `calls_a_dose` calls in a row, as a capture holds, have one dose, whatever came before them."""
    call = workload.make(device)
    if workload.on_host:

        def with_turns() -> None:
            call()
            for _ in repeat(None, amount):
                pass

        return with_turns

    calls = workload.calls_a_dose
    cycles = cycle([LEAST + calls * amount, *repeat(LEAST, calls - 1)])

    def with_cycles() -> None:
        call()
        torch.cuda._sleep(next(cycles))  # type: ignore[no-untyped-call]

    return with_cycles
