"""Precision modes of the transformer, forward and backward apart, as the published tables time them.

Modes      float32, TF32 (float32 with its products in 19 bits), bfloat16 under autocast; eager, plain layers
Workloads  handout: 4 sequences of 256, vocabulary 10 000; as_run: d_model sequences of 4, vocabulary 32 000
Clock      Host clock, a wait for the device after each phase; 5 iterations dropped, 10 kept; mean and
           population deviation, as published. Loss and backward are one phase; no optimizer.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from dataclasses import replace
from typing import Any

import torch

from stepmark.zoo import SIZES, TransformerLM, cross_entropy

DROPPED, KEPT = 5, 10
MODES = ("float32", "tf32", "bfloat16")


def workload(size: str, name: str) -> tuple[Any, tuple[int, int]]:
    config = SIZES[size]
    if name == "as_run":
        return replace(config, vocab=32_000, context=32), (config.d_model, 4)
    return replace(config, context=256), (4, 256)


def iteration(model: TransformerLM, tokens: torch.Tensor, mode: str) -> tuple[float, float]:
    model.zero_grad()
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
    torch.cuda.synchronize()
    begin = time.perf_counter()
    with torch.autocast("cuda", torch.bfloat16, enabled=mode == "bfloat16"):
        logits = model(tokens)
        torch.cuda.synchronize()
        middle = time.perf_counter()
        loss = cross_entropy(logits, tokens, backend="torch")
    loss.backward()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    return middle - begin, time.perf_counter() - middle


def spread(values: list[float]) -> list[float]:
    return [round(1e3 * of(values), 3) for of in (statistics.mean, statistics.pstdev)]


def rows_of(size: str, name: str) -> list[dict[str, Any]]:
    config, shape = workload(size, name)
    model = TransformerLM(config, device="cuda")
    tokens = torch.randint(config.vocab, shape, device="cuda")
    rows = []
    order: list[str] = random.Random(0).sample(MODES, len(MODES))
    for mode in order:
        for _ in range(DROPPED):
            iteration(model, tokens, mode)
        forward, backward = zip(*(iteration(model, tokens, mode) for _ in range(KEPT)), strict=True)
        row = {"size": size, "workload": name, "mode": mode, "tokens": shape[0] * shape[1]}
        rows.append({**row, "forward_ms": spread([*forward]), "backward_ms": spread([*backward])})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=[*SIZES], required=True)
    given = parser.parse_args()
    for name in ("handout", "as_run"):
        for row in rows_of(given.size, name):
            print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
