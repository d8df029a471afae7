"""Precision: what half-precision arithmetic buys in a block of layers, and what adding up costs.

What it does to the numbers is computed by `python -m stepmark.zoo.precision`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step

mixed = Suite(
    "mixed_precision",
    axes={"features": [256, 1024, 2048], "tokens": [256]},
    presets={
        "quick": {"features": [256]},
        "standard": {"features": [256, 1024]},
        # In float16 a CPU takes 70 times as long as in float32: at 2048 features half a minute a step.
        "full": {"features": [256, 1024]},
        "published": {"variant": ["float32", "autocast_bfloat16", "autocast_float16"]},
    },
    about="Linear, ReLU, layer norm, linear: float32, under autocast, and in bfloat16 throughout.",
)
accumulation = Suite(
    "accumulation",
    axes={"terms": [1000]},
    modes=["ops"],
    presets={"published": {"variant": ["into_float32", "into_float16", "float16_into_float32"]}},
    about="Adding 0.01 a thousand times into accumulators of other types.",
)


def _block(c: Point) -> nn.Module:
    return nn.Sequential(
        nn.Linear(c.features, 4 * c.features, bias=False),
        nn.ReLU(),
        nn.LayerNorm(4 * c.features),
        nn.Linear(4 * c.features, c.features, bias=False),
    )


def _needs(c: Point) -> Needs:
    weights = 8.0 * c.features**2
    return Needs(memory=4 * (4 * weights + 12 * c.tokens * c.features), flops=6.0 * c.tokens * weights)


def _step(c: Point, *, module: nn.Module | None = None, autocast: str | None = None) -> Step:
    return Step(
        module or _block(c),
        inputs=randn(c.tokens, c.features),
        target=randn(c.tokens, c.features),
        loss=nn.functional.mse_loss,
        autocast=autocast,
    )


@mixed.variant(baseline=True, needs=_needs)
def float32(c: Point) -> Step:
    """Everything in the cell's dtype."""
    return _step(c)


@mixed.variant(needs=_needs)
def autocast_bfloat16(c: Point) -> Step:
    """Matrix products in bfloat16, parameters in float32."""
    return _step(c, autocast="bfloat16")


@mixed.variant(needs=_needs)
def autocast_float16(c: Point) -> Step:
    """Matrix products in float16, parameters in float32."""
    return _step(c, autocast="float16")


class _Inside(nn.Module):
    """A block that keeps its own dtype, whatever the step around it has."""

    def __init__(self, block: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.block, self.dtype = block, dtype

    def _apply(self, fn: object, recurse: bool = True) -> _Inside:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for parameter in self.block.parameters():
            parameter.data = parameter.data.to(self.dtype)
        return self

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.block(x.to(self.dtype))
        return output.to(x.dtype)


@mixed.variant(needs=_needs)
def bfloat16_throughout(c: Point) -> Step:
    """Parameters in bfloat16 too."""
    return _step(c, module=_Inside(_block(c), torch.bfloat16))


def _one_by_one(terms: Tensor, accumulator: torch.dtype) -> Tensor:
    """terms (n) added up in their order."""
    total = torch.zeros((), dtype=accumulator, device=terms.device)
    for term in terms.unbind():
        total += term
    return total


def _adding(c: Point, accumulator: torch.dtype, addend: torch.dtype) -> Ops:
    terms = torch.full((c.terms,), 0.01, dtype=addend, device=c.device)
    return Ops({"sum": lambda: _one_by_one(terms, accumulator)})


@accumulation.variant(baseline=True)
def into_float32(c: Point) -> Ops:
    """float32 into float32."""
    return _adding(c, torch.float32, torch.float32)


@accumulation.variant
def into_float16(c: Point) -> Ops:
    """float16 into float16."""
    return _adding(c, torch.float16, torch.float16)


@accumulation.variant
def float16_into_float32(c: Point) -> Ops:
    """float16 into float32."""
    return _adding(c, torch.float32, torch.float16)


@accumulation.variant
def at_once(c: Point) -> Ops:
    """torch's own sum of float16, which adds in wider blocks."""
    terms = torch.full((c.terms,), 0.01, dtype=torch.float16, device=c.device)
    return Ops({"sum": terms.sum})
