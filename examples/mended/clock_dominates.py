"""Enough numbers for the loop not to matter."""

import torch

import stepmark as sm

suite = sm.Suite("negation", axes={"numbers": [1_000_000]}, modes=["forward"])


@suite.variant(baseline=True)
def negated(c):
    return sm.Step(torch.neg, inputs=sm.randn(c.numbers))
