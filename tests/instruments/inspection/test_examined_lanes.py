"""A step that was examined is timed like one that was not: stepmark compares them in real launches."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite, Variant
from stepmark.authoring.workload import Step
from stepmark.instruments.torch_binding import bind
from stepmark.library import run
from stepmark.records.case import Case, Cell
from stepmark.records.verdict import VerdictKind

MARGIN = 0.05
"""Wide enough for a few launches on a busy machine; instruments left in place cost several times that."""
suite = Suite("examined", axes={"features": [128]})


def make(c: Point) -> Step:
    layer = nn.Sequential(nn.Linear(c.features, c.features), nn.GELU(), nn.Linear(c.features, c.features))
    return Step(layer, inputs=randn(256, c.features), optimizer=torch.optim.SGD)


@suite.variant(baseline=True)
def plain(c: Point) -> Step:
    return make(c)


@suite.variant
def examined(c: Point) -> Step:
    """The very module that is timed afterwards, taken apart in the same process."""
    step = make(c)
    case = Case(variant="examined", cell=Cell(suite="examined", axes=(("features", c.features),)))
    program = bind(Variant(name="examined", build=lambda _: step, baseline=False), case, seed=0)
    for _ in range(3):
        program.iterate()
    assert program.examine is not None
    assert program.examine().problem == ""
    return step


@pytest.mark.process
def test_an_audit_before_does_not_change_what_is_measured() -> None:
    result = run(suite, launches=40, margin=MARGIN, audit=False)
    (verdict,) = result.verdicts
    assert verdict.ratio is not None
    # On a loaded machine 40 launches may not be enough to call it EQUIVALENT, but to see instruments.
    assert verdict.kind in (VerdictKind.EQUIVALENT, VerdictKind.INCONCLUSIVE), verdict.ratio
    assert abs(verdict.ratio.point - 1.0) <= 3 * MARGIN, verdict.ratio
