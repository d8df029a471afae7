"""Yesterday's search for slow Python is still in the file: every call of every function is recorded."""

import cProfile

from torch import nn

import stepmark as sm

FINDING = "profiler-attached"
VARIANT = "deep"

suite = sm.Suite("layers", axes={"features": [32]}, modes=["forward"])
profile = cProfile.Profile()
profile.enable()


@suite.variant(baseline=True)
def wide(c):
    return sm.Step(nn.Linear(c.features, 8 * c.features), inputs=sm.randn(16, c.features))


@suite.variant
def deep(c):
    layers = [nn.Linear(c.features, c.features) for _ in range(8)]
    return sm.Step(nn.Sequential(*layers), inputs=sm.randn(16, c.features))
