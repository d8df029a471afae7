"""The same step in every mode, execution and cache regime, timed by the event clock."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from stepmark.authoring.inputs import randn
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step
from stepmark.instruments.event_clock import EventInstrument
from stepmark.instruments.torch_binding import bind
from stepmark.measure.program import Program
from stepmark.measure.sampler import take_block
from stepmark.records.case import Cache, Case, Cell, Execution, Mode

Row = dict[str, Any]

suite = Suite("clock_check", modes=["train", "forward", "ops"])


@suite.variant(baseline=True)
def mlp(c: Any) -> Step | Ops:
    """A small model, or two of its operations."""
    if c.mode is Mode.OPS:
        x = torch.randn(2048, 2048, device=c.device)
        return Ops({"product": lambda: x @ x, "softmax": lambda: x.softmax(-1)})
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    return Step(
        torch.nn.Sequential(*layers, torch.nn.Dropout(0.1)),
        inputs=randn(256, 512),
        loss=lambda y: y.square().mean(),
        optimizer=torch.optim.AdamW,
    )


@suite.variant
def waiting(c: Any) -> Step | Ops:
    """Waits for the device in its forward pass."""
    if c.mode is Mode.OPS:
        x = torch.randn(64, 64, device=c.device)
        return Ops({"product": lambda: (x @ x).sum().item(), "softmax": lambda: x.softmax(-1)})
    return Step(Waits(), inputs=randn(256, 512))


class Waits(torch.nn.Module):
    """A layer that asks for one of its numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(512, 512)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled: torch.Tensor = self.layer(x) * self.layer.weight.sum().item()
        return scaled


def regimes() -> list[Row]:
    """The same step in every mode, execution and cache regime."""
    rows = []
    for mode in Mode:
        for execution in Execution:
            for cache in Cache:
                for variant in suite.variants.values():
                    cell = Cell(
                        suite="clock_check", device="cuda", mode=mode, execution=execution, cache=cache
                    )
                    row: Row = {"case": Case(variant=variant.name, cell=cell).id}
                    try:
                        row |= _timed_regime(bind(variant, Case(variant=variant.name, cell=cell), seed=1))
                    except Exception as error:
                        row["error"] = f"{type(error).__name__}: {error}"[:400]
                    rows.append(row)
    return rows


def _timed_regime(program: Program) -> Row:
    clock = EventInstrument("cuda")
    counts = (5,) * len(program.layout.phases)
    begin = time.perf_counter()
    take_block(program, counts, clock)
    first = time.perf_counter() - begin
    blocks = [take_block(program, counts, clock, lead_in=2, in_turn=True) for _ in range(30)]

    def typical(series: str) -> list[float]:
        return [
            round(statistics.median(getattr(block, series)[i] for block in blocks) * 1e-3, 2)
            for i in range(len(counts))
        ]

    per_call = [value / 5 for value in typical("nanoseconds")]
    return {
        "phases": program.layout.phases,
        "device_us": per_call,
        "host_us": [value / 5 for value in typical("host")],
        "lag_us": typical("lag"),
        "first_seconds": first,
    }
