"""The card around a measurement: what asking it costs, what it says under work, and the device's ceilings.

python -m benchmarks.h200.card
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import torch

from benchmarks.h200.common import save
from stepmark.instruments.card import NvmlCard, open_card
from stepmark.instruments.device_memory import device_memory
from stepmark.instruments.torch_ceilings import measure_ceilings

READINGS = 200
SIZE = 4096
WORK_SECONDS = 1.5


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    card = open_card("cuda")
    if not isinstance(card, NvmlCard):
        raise SystemExit("this asks an NVIDIA GPU through NVML: it needs one, and the package nvidia-ml-py")
    rows: list[dict[str, Any]] = []
    for row in _rows(card):
        print(row, flush=True)
        rows.append(row)
        save("card", rows)


def _rows(card: NvmlCard) -> Iterator[dict[str, Any]]:
    yield {"what": "facts", **msgspec.to_builtins(card.facts()), "uuid": None}
    yield _cost("glance", card.glance)
    yield _cost("look", card.look)
    yield _disturbance(card)
    for kind in ("zeros", "random"):
        yield _under_work(card, kind)
    begin = time.perf_counter()
    ceilings = msgspec.to_builtins(measure_ceilings("cuda"))
    yield {"what": "ceilings", "seconds": time.perf_counter() - begin, **ceilings, "host": ""}
    yield {"what": "memory", **msgspec.to_builtins(device_memory(()))}


def _cost(name: str, ask: Callable[[], object]) -> dict[str, Any]:
    """Microseconds of one question, at rest."""
    spent = []
    for _ in range(READINGS):
        begin = time.perf_counter()
        ask()
        spent.append(1e6 * (time.perf_counter() - begin))
    return {"what": name, "median_us": statistics.median(spent), "most_us": max(spent)}


def _disturbance(card: NvmlCard) -> dict[str, Any]:
    """A short block right after a glance, after a pause as long, and after neither; interleaved."""
    x = torch.randn(1024, 1024, device="cuda")

    def block() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(20):
            torch.mm(x, x)
        torch.cuda.synchronize()
        return 1e6 * (time.perf_counter() - begin)

    pause = statistics.median(_cost("glance", card.glance)["median_us"] for _ in range(3)) * 1e-6
    before: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "glance": card.glance,
        "pause": lambda: time.sleep(pause),
    }
    times: dict[str, list[float]] = {name: [] for name in before}
    for _ in range(READINGS):
        for name, act in before.items():
            act()
            times[name].append(block())
    return {"what": "block after", **{name: statistics.median(each) for name, each in times.items()}}


def _under_work(card: NvmlCard, kind: str) -> dict[str, Any]:
    """Readings right after products of zeros, or of random numbers, have run for some seconds."""
    make = torch.zeros if kind == "zeros" else torch.randn
    x, y = (make(2 * SIZE, 2 * SIZE, device="cuda").bfloat16() for _ in range(2))
    end = time.perf_counter() + WORK_SECONDS
    done = 0
    begin = time.perf_counter()
    while time.perf_counter() < end:
        for _ in range(10):
            torch.mm(x, y)
        torch.cuda.synchronize()
        done += 10
    seconds = (time.perf_counter() - begin) / done
    seen = msgspec.to_builtins(card.look())
    return {"what": f"products of {kind}", "flops_per_second": 2 * (2 * SIZE) ** 3 / seconds, **seen}


if __name__ == "__main__":
    main()
