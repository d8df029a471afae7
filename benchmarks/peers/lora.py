"""LoRALinear beside PEFT's layer: forward and backward, same shapes, same weights, one run.

PEFT's layer is what `inject_adapter_in_model` makes of an nn.Linear. Its input wants a gradient, as that of a
layer inside a model does, and B is not zero. Before anything is timed both layers are given the same weights
and must agree in their outputs and in the gradients of A, B and the input.

python -m benchmarks.peers.lora [--features 512 1024 2048] [--ranks 4 16 64] [--tokens 64 512] [--budget 10m]
"""

from __future__ import annotations

import argparse
import importlib.metadata
from typing import Any

import torch
from torch import nn

from benchmarks.machine import machine_line
from stepmark.authoring.inputs import randn
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.library import run
from stepmark.zoo import LoRALinear

SCALE = 2.0
"""alpha over rank, as in the published benchmark."""


def peft_layer(features: int, rank: int) -> nn.Module:
    """PEFT's, with a base and a B that is not zero."""
    from peft import LoraConfig, inject_adapter_in_model

    config = LoraConfig(
        r=rank, lora_alpha=int(SCALE * rank), target_modules=["0"], lora_dropout=0.0, init_lora_weights=False
    )
    model = nn.Sequential(nn.Linear(features, features))
    inject_adapter_in_model(config, model)
    layer: nn.Module = model[0]
    return layer


def zoo_layer(features: int, rank: int) -> LoRALinear:
    """The zoo's."""
    return LoRALinear(nn.Linear(features, features), rank=rank, alpha=SCALE * rank, zero_b=False)


def suite_of(features: list[int], ranks: list[int], tokens: list[int]) -> Suite:
    suite = Suite("lora_against_peft", axes={"features": features, "rank": ranks, "tokens": tokens})

    @suite.variant(baseline=True)
    def peft(c: Point) -> Step:
        return Step(peft_layer(c.features, c.rank), inputs=randn(c.tokens, c.features, requires_grad=True))

    @suite.variant
    def zoo(c: Point) -> Step:
        return Step(zoo_layer(c.features, c.rank), inputs=randn(c.tokens, c.features, requires_grad=True))

    return suite


def assert_same(features: int, rank: int, tokens: int) -> None:
    """Same weights, same outputs, same gradients."""
    ours = zoo_layer(features, rank)
    theirs: Any = peft_layer(features, rank)
    a, b = theirs.lora_A["default"].weight, theirs.lora_B["default"].weight
    with torch.no_grad():
        ours.base.weight.copy_(theirs.base_layer.weight)
        ours.base.bias.copy_(theirs.base_layer.bias)
        ours.adapter.A.copy_(a.T)
        ours.adapter.B.copy_(b.T)
    x = torch.randn(tokens, features, requires_grad=True)
    g = torch.randn(tokens, features)
    ours_y, theirs_y = ours(x), theirs(x)
    found = [ours_y, *torch.autograd.grad(ours_y, (x, ours.adapter.A, ours.adapter.B), g)]
    dx, da, db = torch.autograd.grad(theirs_y, (x, a, b), g)
    for one, other in zip(found, [theirs_y, dx, da.T, db.T], strict=True):
        largest = float(other.detach().abs().max())
        torch.testing.assert_close(one, other, rtol=0.0, atol=1e-5 * largest)
    trained = [name for name, one in theirs.named_parameters() if one.requires_grad]
    assert len(trained) == 2, trained


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, nargs="+", default=[512, 1024, 2048])
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 16, 64])
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--budget", default="10m", help="for the whole run")
    parser.add_argument("--threads", type=int, default=1)
    told = parser.parse_args()
    for features in told.features:
        for rank in told.ranks:
            for tokens in told.tokens:
                assert_same(features, rank, tokens)
    suite = suite_of(told.features, told.ranks, told.tokens)
    result = run(suite, budget=told.budget, threads=told.threads)
    print(f"{machine_line()} · peft {importlib.metadata.version('peft')}\n")
    print(result.render("markdown"))


if __name__ == "__main__":
    main()
