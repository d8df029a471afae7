"""Torch's backends of causal attention at the transformer's shapes: forward and backward, as graph replay."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.h200.common import forget_graphs, side_by_side
from stepmark.zoo import SIZES

BATCH = 4
BACKENDS = ("default", "FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION")


def run(parts: list[Tensor], gradient: Tensor, backend: str) -> None:
    query, key, value = parts
    with nullcontext() if backend == "default" else sdpa_kernel(getattr(SDPBackend, backend)):
        y = scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.autograd.grad(y, parts, gradient)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", default="small,medium,large,xl,2.7B", help="sizes")
    parser.add_argument("--lengths", default="256,1024")
    given = parser.parse_args()
    for size in given.of.split(","):
        config = SIZES[size]
        for length in map(int, given.lengths.split(",")):
            shape = (BATCH, length, config.heads, config.head_features)
            made = [torch.randn(shape, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(4)]
            parts = [one.requires_grad_() for one in made[:3]]
            calls: dict[str, Callable[[], None]] = {
                backend: partial(run, parts, made[3], backend) for backend in BACKENDS
            }
            times = side_by_side(calls, rounds=3)
            forget_graphs()
            work = 3 * 4 * config.d_model * BATCH * length * (length + 1) / 2
            row = {name: None if us is None else round(us, 2) for name, us in times.items()}
            rates = {name: None if us is None else round(work / us / 1e6) for name, us in times.items()}
            print(json.dumps({"size": size, "length": length, "us": row, "tflops": rates}), flush=True)


if __name__ == "__main__":
    main()
