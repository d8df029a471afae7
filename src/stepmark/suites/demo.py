"""The demo: four layers whose verdicts one can guess, measured in about a minute on a CPU."""

from __future__ import annotations

import torch
from torch import nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step

suite = Suite(
    "demo",
    axes={"features": [128, 256]},
    about="What verdicts look like: a dense layer against itself, a cheaper one and a dearer one.",
)

TOKENS = 64
RANK = 16


def _step(module: nn.Module, features: int) -> Step:
    return Step(
        module,
        inputs=randn(TOKENS, features),
        target=randn(TOKENS, features),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.SGD,
    )


@suite.variant(baseline=True)
def dense(c: Point) -> Step:
    """One linear layer."""
    return _step(nn.Linear(c.features, c.features), c.features)


@suite.variant(accepts=["same-work-as-baseline"])
def twin(c: Point) -> Step:
    """The same layer again: no honest tool may call it faster or slower."""
    return _step(nn.Linear(c.features, c.features), c.features)


@suite.variant
def low_rank(c: Point) -> Step:
    """Two thin layers in its place."""
    thin = nn.Sequential(nn.Linear(c.features, RANK, bias=False), nn.Linear(RANK, c.features))
    return _step(thin, c.features)


@suite.variant
def normed(c: Point) -> Step:
    """A layer norm before it."""
    return _step(nn.Sequential(nn.LayerNorm(c.features), nn.Linear(c.features, c.features)), c.features)
