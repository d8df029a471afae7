"""One number is negated: the loop around the call takes a visible part of what the clock reads."""

import torch

import stepmark as sm

FINDING = "clock-dominates"
VARIANT = "negated"

suite = sm.Suite("negation", axes={"numbers": [1]}, modes=["forward"])


@suite.variant(baseline=True)
def negated(c):
    return sm.Step(torch.neg, inputs=sm.randn(c.numbers))
