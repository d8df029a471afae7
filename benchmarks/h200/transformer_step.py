"""One size of the transformer, trained in several ways side by side: milliseconds, MFU and memory, as JSON.

Ways       plain      the published formulation, eager: autocast, torch's attention and loss, default AdamW
           fused      fused layers and kernels, AdamW(fused=True), eager
           compiled   fused layers compiled one by one (norms and gates by the compiler), AdamW(fused=True)
           ..._graph  the same step as one CUDA graph; plain_graph too has AdamW(fused=True)
Clock      Wall time of steps in a row, one wait at their end: host and device, whichever is slower.
MFU        6 parameters tokens / time / the rate of an 8192^3 bfloat16 product, measured before and after.
Memory     Most allocated from building the model to its last warm-up step, above what was there before.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from stepmark.zoo import SIZES, AdamW, StepGraph, TransformerConfig, TransformerLM, cross_entropy
from stepmark.zoo.kernels.backend import Backend

BATCH = 4
BLOCK_SECONDS = 0.25
LEAST_STEPS = 3
PLAIN_STEPS = 5
TOGETHER_BYTES = 95e9
"""Models whose states and steps need less are alive side by side and take turns; others come one by one."""
WAYS = ("plain", "plain_graph", "fused", "fused_graph", "compiled", "compiled_graph")


@dataclass(frozen=True)
class Choice:
    """What all ways but the plain one may be told to use."""

    attention: str = "default"
    """default, or a name of torch's SDPBackend."""
    optimizer: str = "torch"
    """torch: its AdamW(fused=True, capturable=True); zoo: stepmark.zoo.AdamW."""


@dataclass
class Lane:
    """A way to train, built and warm."""

    name: str
    step: Callable[[], Tensor]
    facts: dict[str, Any]
    seconds: list[float] = field(default_factory=list)


def product_rate(size: int = 8192, times: int = 20) -> float:
    """TFLOP/s of a bfloat16 matrix product of random numbers."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        a @ b
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(times):
        a @ b
    torch.cuda.synchronize()
    return 2e-12 * size**3 * times / (time.perf_counter() - begin)


def build(way: str, config: TransformerConfig, *, choice: Choice) -> tuple[Callable[..., Tensor], Any]:
    """The step as a function of tokens and labels, and its optimizer."""
    plain = way.startswith("plain")
    torch.manual_seed(0)
    model = TransformerLM(config, device="cuda")
    if not plain:
        fused = TransformerLM(replace(config, fused=True), device="cuda")
        fused.load_state_dict(model.state_dict())
        model = fused
    if way.startswith("compiled"):
        model.compile_layers()
    optimizer = optimizer_of(way, model, choice)
    backend: Backend = "torch" if plain else "auto"

    def train(tokens: Tensor, labels: Tensor) -> Tensor:
        named = not plain and choice.attention != "default"
        prefer = sdpa_kernel(getattr(SDPBackend, choice.attention)) if named else nullcontext()
        with torch.autocast("cuda", torch.bfloat16), prefer:
            loss = cross_entropy(model(tokens), labels, backend=backend)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if not way.endswith("graph"):
            optimizer.zero_grad()
        return loss.detach()

    return train, optimizer


def optimizer_of(way: str, model: TransformerLM, choice: Choice) -> torch.optim.Optimizer:
    if way == "plain":
        return torch.optim.AdamW(model.parameters())
    if choice.optimizer == "zoo":
        return AdamW(model.parameters())
    return torch.optim.AdamW(model.parameters(), fused=True, capturable=True)


def lane(way: str, config: TransformerConfig, length: int, *, choice: Choice) -> Lane:
    before = _clean()
    begin = time.perf_counter()
    train, optimizer = build(way, config, choice=choice)
    random_ = torch.Generator("cuda").manual_seed(1)
    tokens, labels = torch.randint(
        config.vocab, (2, BATCH, length), device="cuda", generator=random_
    ).unbind()
    run: Callable[..., Tensor] = train
    if way.endswith("graph"):
        run = StepGraph(train, optimizer)
    losses = [run(tokens, labels) for _ in range(PLAIN_STEPS)]
    torch.cuda.synchronize()
    facts = {
        "losses": [round(float(one), 4) for one in losses],
        "peak_bytes": torch.cuda.max_memory_allocated() - before,
        "reserved_bytes": torch.cuda.memory_reserved(),
        "build_seconds": round(time.perf_counter() - begin, 1),
    }
    if isinstance(run, StepGraph):
        facts["pool_bytes"] = run.pool_bytes
    return Lane(way, lambda: run(tokens, labels), facts)


def _clean() -> int:
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def block(one: Lane) -> None:
    """Steps in a row, as many as fill the block."""
    one.step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    one.step()
    torch.cuda.synchronize()
    number = max(LEAST_STEPS, int(BLOCK_SECONDS / (time.perf_counter() - begin)))
    begin = time.perf_counter()
    for _ in range(number):
        one.step()
    torch.cuda.synchronize()
    one.seconds.append((time.perf_counter() - begin) / number)


def measure(
    ways: list[str], config: TransformerConfig, length: int, *, rounds: int, choice: Choice
) -> list[Lane]:
    """Side by side where all fit, else one after the other."""
    a_step = config.memory_bytes(BATCH, length, 4, training=True, optimizer=True, autocast_bytes=2)
    together = a_step * len(ways) < TOGETHER_BYTES
    if not together:
        return [alone(way, config, length, rounds=rounds, choice=choice) for way in ways]
    lanes = [attempt(way, config, length, choice=choice) for way in ways]
    working, shuffle = [one for one in lanes if "error" not in one.facts], random.Random(0)
    for _ in range(rounds):
        shuffle.shuffle(working)
        for one in working:
            one.facts["together"] = True
            block(one)
    return lanes


def alone(way: str, config: TransformerConfig, length: int, *, rounds: int, choice: Choice) -> Lane:
    """Measured, and its model let go."""
    made = attempt(way, config, length, choice=choice)
    try:
        for _ in range(0 if "error" in made.facts else rounds):
            block(made)
    except torch.OutOfMemoryError as error:
        made.facts["error"] = str(error)[:300]
    return Lane(way, _nothing, made.facts, made.seconds)


def attempt(way: str, config: TransformerConfig, length: int, *, choice: Choice) -> Lane:
    """One way that fails must not end the others."""
    try:
        return lane(way, config, length, choice=choice)
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        return Lane(way, _nothing, {"error": f"{type(error).__name__}: {text}"[:400]})


def _nothing() -> Tensor:
    raise AssertionError("a lane that failed has no step")


def rows_of(
    size: str, length: int, lanes: list[Lane], config: TransformerConfig, rate: float
) -> list[dict[str, Any]]:
    work = 6 * config.parameters() * BATCH * length
    baseline = next(
        (statistics.median(one.seconds) for one in lanes if one.name == "plain" and one.seconds), None
    )
    rows = []
    for one in lanes:
        row: dict[str, Any] = {"size": size, "batch": BATCH, "length": length, "way": one.name, **one.facts}
        if one.seconds:
            seconds = statistics.median(one.seconds)
            row |= {
                "ms": round(1e3 * seconds, 3),
                "ms_rounds": [round(1e3 * each, 3) for each in one.seconds],
                "mfu": round(work / seconds / (rate * 1e12), 4),
                "mfu_of_989": round(work / seconds / 989e12, 4),
                "faster": round(baseline / seconds, 3) if baseline else None,
            }
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=[*SIZES], required=True)
    parser.add_argument("--lengths", default="256,1024")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--attention", default="default", help="default, or a name of torch's SDPBackend")
    parser.add_argument("--optimizer", default="torch", choices=["torch", "zoo"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    choice = Choice(given.attention, given.optimizer)
    for length in map(int, given.lengths.split(",")):
        config = replace(SIZES[given.size], context=length)
        before = product_rate()
        lanes = measure(given.ways.split(","), config, length, rounds=given.rounds, choice=choice)
        rate = max(before, product_rate())
        for row in rows_of(given.size, length, lanes, config, rate):
            print(
                json.dumps({**row, "product_tflops": round(rate, 1), **asdict(choice)}),
                flush=True,
            )
        torch.compiler.reset()
        _clean()


if __name__ == "__main__":
    main()
