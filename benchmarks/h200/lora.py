"""LoRA against PEFT, the plain products, torch.compile of them and the frozen base, on one GPU.

    python -m benchmarks.h200.lora --what shapes [--dtypes bf16 fp32] [--compiled] [--adapters]
    python -m benchmarks.h200.lora --what host

Before a shape is timed all layers get the same weights and must agree with float64. A backward pass is
torch.autograd.grad of the output for the input, A and B: nothing accumulates. `ours` takes the automatic
path, whose choices are made before; `plain` is backend="torch", the zoo's own products recorded by autograd.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.h200.common import (
    Call,
    forget_graphs,
    relative_error,
    save,
    side_by_side,
    time_eager,
    time_graph,
)
from stepmark.zoo import LoRAAdapter, LoRALinear
from stepmark.zoo.kernels import dispatch
from stepmark.zoo.lora import TOLERANCES
from stepmark.zoo.lora_reference import lora_gradients_reference, lora_linear_reference

SCALE = 2.0
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
SHAPES = [
    (64, 512, 8), (64, 512, 16), (64, 1024, 4), (64, 1024, 8), (64, 1024, 16), (64, 1024, 32), (64, 1024, 64),
    (64, 2048, 8), (32, 512, 8), (256, 512, 8),
    (4096, 1024, 8), (4096, 2048, 8), (4096, 4096, 4), (4096, 4096, 16), (4096, 4096, 64),
]  # fmt: skip
"""Tokens, features in and out, rank: the published ones first."""
COMPILED = [(64, 512, 8), (64, 2048, 8), (4096, 1024, 8), (4096, 4096, 16)]

Layer = Callable[[Tensor], Tensor]


def layers_of(
    features: int, rank: int, dtype: torch.dtype, *, adapters: bool = False
) -> dict[str, nn.Module]:
    """The same weights in all; adapters alone, which nothing is held against, where they are asked for."""
    torch.manual_seed(0)
    settings: dict[str, Any] = {"rank": rank, "alpha": SCALE * rank, "zero_b": False}
    base = nn.Linear(features, features, device="cuda", dtype=dtype).requires_grad_(False)
    ours = LoRALinear(base, **settings)
    plain = LoRALinear(base, **settings, backend="torch")
    plain.load_state_dict(ours.state_dict())
    made: dict[str, nn.Module] = {"ours": ours, "plain": plain, "base": base}
    for name, backend in (("adapter", "auto"), ("plain_adapter", "torch")) if adapters else ():
        where: dict[str, Any] = {"device": "cuda", "dtype": dtype, "backend": backend}
        made[name] = LoRAAdapter(features, features, **settings, **where)
    try:
        made["peft"] = peft_layer(ours)
    except ImportError as error:
        print(f"without PEFT: {error}")
    return made


def peft_layer(ours: LoRALinear) -> nn.Module:
    """What PEFT makes of the same base, with the same A and B."""
    from peft import LoraConfig, inject_adapter_in_model

    rank = ours.adapter.rank
    config = LoraConfig(
        r=rank, lora_alpha=int(SCALE * rank), target_modules=["0"], lora_dropout=0.0, init_lora_weights=False
    )
    weight, bias = ours.base.weight, ours.base.bias
    base = nn.Linear(ours.base.in_features, ours.base.out_features, device=weight.device, dtype=weight.dtype)
    base.load_state_dict({"weight": weight, "bias": bias})
    model = nn.Sequential(base)
    inject_adapter_in_model(config, model)
    layer: Any = model[0].to(device=weight.device, dtype=weight.dtype)
    with torch.no_grad():
        layer.lora_A["default"].weight.copy_(ours.adapter.A.T)
        layer.lora_B["default"].weight.copy_(ours.adapter.B.T)
    trained = [name for name, one in layer.named_parameters() if one.requires_grad]
    assert len(trained) == 2, trained
    made: nn.Module = layer
    return made


def factors(layer: nn.Module) -> list[Tensor]:
    return [one for one in layer.parameters() if one.requires_grad]


def forward(layer: Layer, x: Tensor) -> Tensor:
    with torch.no_grad():
        return layer(x)


def forward_backward(layer: Layer, x: Tensor, g: Tensor, trained: list[Tensor]) -> tuple[Tensor, ...]:
    return torch.autograd.grad(layer(x), [x, *trained], g)


def check(layers: dict[str, nn.Module], x: Tensor, g: Tensor) -> dict[str, float]:
    """Norms of the errors of y, dx, dA and dB, the largest of the four; within the zoo's tolerance."""
    ours = layers["ours"]
    assert isinstance(ours, LoRALinear)
    weight, bias, a, b = (
        one.detach().double() for one in (ours.base.weight, ours.base.bias, ours.adapter.A, ours.adapter.B)
    )
    wide_x, wide_g = x.detach().double(), g.double()
    truth = [lora_linear_reference(wide_x, weight, bias, a, b, scale=SCALE)]
    truth += lora_gradients_reference(wide_g, wide_x, weight, a, b, scale=SCALE)
    errors: dict[str, float] = {}
    for name in ("ours", "plain", "peft"):
        if name in layers:
            y = layers[name](x)
            found = [y, *torch.autograd.grad(y, [x, *factors(layers[name])], g)]
            if name == "peft":
                found[2:] = [one.T for one in found[2:]]
            errors[name] = max(relative_error(*pair) for pair in zip(found, truth, strict=True))
    assert errors["ours"] <= TOLERANCES[x.dtype], errors
    return errors


def measured(
    shape: tuple[int, int, int], dtype: str, *, compiled: bool, adapters: bool, rounds: int
) -> dict[str, Any]:
    tokens, features, rank = shape
    layers = layers_of(features, rank, DTYPES[dtype], adapters=adapters)
    x = torch.randn(tokens, features, device="cuda", dtype=DTYPES[dtype], requires_grad=True)
    g = torch.randn(tokens, features, device="cuda", dtype=DTYPES[dtype])
    row: dict[str, Any] = {"tokens": tokens, "features": features, "rank": rank, "dtype": dtype}
    row["errors"] = check(layers, x, g)
    runs: dict[str, Layer] = {**layers}
    if compiled and shape in COMPILED:
        runs["compiled"] = torch.compile(layers["plain"], dynamic=False)
    trained = {name: factors(layers.get(name, layers["plain"])) for name in runs}
    passes: dict[str, dict[str, Call]] = {
        "forward": {name: partial(forward, run, x) for name, run in runs.items()},
        "both": {name: partial(forward_backward, run, x, g, trained[name]) for name, run in runs.items()},
    }
    for kind, calls in passes.items():
        for regime, timer in (("eager", partial(time_eager, seconds=0.03)), ("graph", time_graph)):
            row[f"{kind}_{regime}_us"] = side_by_side(calls, timer=timer, rounds=rounds)
        forget_graphs()
    row["chosen"] = {name: list(one) for name, one in dispatch.choices().items() if name.startswith("lora")}
    show(row)
    return row


class OneNode(torch.autograd.Function):
    """A node that computes nothing and gives three gradients: what autograd itself takes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(x, a, b)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, ...]:
        return tuple(torch.empty_like(one) for one in ctx.saved_tensors)


def host_times() -> dict[str, Any]:
    """Forward and backward at 64 x 512 r8: ours, the base, and a node that launches nothing; with autograd's
    own thread for the device, as it is, and without."""
    layers = layers_of(512, 8, torch.bfloat16)
    x = torch.randn(64, 512, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    g = torch.randn(64, 512, device="cuda", dtype=torch.bfloat16)
    a, b = factors(layers["ours"])
    calls: dict[str, Call] = {
        name: partial(forward_backward, layers[name], x, g, factors(layers[name]))
        for name in ("ours", "base", "plain", "peft")
        if name in layers
    }
    calls["one node"] = lambda: torch.autograd.grad(OneNode.apply(x, a, b), [x, a, b], g)  # type: ignore[no-untyped-call]
    row: dict[str, Any] = {"what": "host"}
    for threads in (True, False):
        with torch.autograd.set_multithreading_enabled(threads):
            times = side_by_side(calls, timer=partial(time_eager, seconds=0.05), rounds=5)
        row["own thread" if threads else "same thread"] = times
        print("own thread" if threads else "same thread", times, flush=True)
    return row


def show(row: dict[str, Any]) -> None:
    worst = " ".join(f"{name} {error:.1e}" for name, error in row["errors"].items())
    print(f"\n{row['tokens']} x {row['features']} r{row['rank']} {row['dtype']}   errors: {worst}")
    for kind in ("forward", "both"):
        for regime in ("eager", "graph"):
            times = row[f"{kind}_{regime}_us"]
            ours, base = times["ours"], times["base"]
            peft = times.get("peft")
            text = "  ".join(f"{name} {time:.1f}" for name, time in times.items() if time)
            ratios = f"ours/base {ours / base:.2f}" if ours and base else ""
            ratios += f"  ours/peft {ours / peft:.2f}" if ours and peft else ""
            print(f"  {kind:8s}{regime:6s} {text}   {ratios}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=["shapes", "host"], default="shapes")
    parser.add_argument("--dtypes", nargs="+", choices=list(DTYPES), default=["bf16", "fp32"])
    parser.add_argument("--only", nargs="+", metavar="64x512r8", help="some of the shapes")
    parser.add_argument("--compiled", action="store_true", help="torch.compile as well, at a few shapes")
    parser.add_argument("--adapters", action="store_true", help="adapters without a base as well")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", default="lora-shapes", help="of the file")
    told = parser.parse_args()
    if told.what == "host":
        save("lora-host", [host_times()])
        return
    rows: list[dict[str, Any]] = []
    for dtype in told.dtypes:
        for shape in SHAPES:
            if told.only and "{}x{}r{}".format(*shape) not in told.only:
                continue
            try:
                given = {"compiled": told.compiled, "adapters": told.adapters, "rounds": told.rounds}
                rows.append(measured(shape, dtype, **given))
            except Exception as error:
                print(f"FAILED {shape} {dtype}: {type(error).__name__}: {str(error)[:500]}", flush=True)
            save(told.name, rows)


if __name__ == "__main__":
    main()
