"""FragmentedLinear against nn.Linear over the published grid: training steps, and inference.

What the published harness did, and what this suite does instead, stands in docs/suites.md.
"""

from __future__ import annotations

import torch
from torch import nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.needs import Needs
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.errors import Unsupported
from stepmark.records.case import Mode
from stepmark.zoo import FragmentedLinear
from stepmark.zoo.fragmented import Selection

suite = Suite(
    "fragmented",
    axes={"n": [2048, 4096, 8192], "batch": [1, 8, 16], "fragments": [2, 8, 32, 128]},
    modes=["train", "forward"],
    presets={
        "quick": {"n": [1024], "batch": [1], "fragments": [32]},
        "standard": {"n": [2048], "batch": [1, 16], "fragments": [8, 128]},
        "full": {"n": [2048, 4096], "batch": [1, 16], "fragments": [2, 8, 32, 128]},
        "published": {},
    },
    about="nn.Linear against FragmentedLinear, n to n features, with Adam; soft and hard selection.",
)

COMPRESSION = 32
FLOAT = 4
ADAM = 5
"""Copies of the parameters at the peak of an Adam step: weights, gradients, two moments, one temporary."""


def _step(module: nn.Module, c: Point) -> Step:
    return Step(
        module,
        inputs=randn(c.batch, c.n),
        target=randn(c.batch, c.n),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.Adam,
    )


def _needs(parameters: int, c: Point) -> Needs:
    copies = ADAM if c.mode is Mode.TRAIN else 1
    passes = 3 if c.mode is Mode.TRAIN else 1
    return Needs(
        memory=FLOAT * (copies * parameters + 8 * c.batch * c.n), flops=2.0 * passes * c.batch * parameters
    )


def _linear_needs(c: Point) -> Needs:
    return _needs(c.n * c.n + c.n, c)


def _fragmented_needs(c: Point) -> Needs:
    return _needs(c.n * c.n + c.n + 2 * c.n * (c.n // COMPRESSION), c)


def _fragmented(c: Point, selection: Selection) -> FragmentedLinear:
    narrow = c.n // COMPRESSION
    return FragmentedLinear(c.n, c.n, c.fragments, narrow, selection=selection, device=c.device)


@suite.variant(baseline=True, needs=_linear_needs)
def linear(c: Point) -> Step:
    """nn.Linear with its bias."""
    return _step(nn.Linear(c.n, c.n, device=c.device), c)


@suite.variant(needs=_fragmented_needs)
def fragmented(c: Point) -> Step:
    """Soft selection where it is trained, hard selection in inference."""
    return _step(_fragmented(c, "auto"), c)


@suite.variant(needs=_fragmented_needs, accepts=["parameter-without-gradient"])
def fragmented_hard(c: Point) -> Step:
    """Hard selection inside a training loop: what the published result calls inference.

    Through a hard choice no gradient reaches the selector.
    """
    if c.mode is Mode.FORWARD:
        raise Unsupported("in inference the selection is hard anyway: see fragmented")
    return _step(_fragmented(c, "hard"), c)
