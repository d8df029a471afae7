"""A variant that says it needs more memory than any machine has, and one that would take for ever."""

from torch import nn

import stepmark as sm

suite = sm.Suite("greedy", modes=["forward"])


@suite.variant(baseline=True)
def modest(c):
    return sm.Step(nn.Linear(16, 16), inputs=sm.randn(4, 16))


@suite.variant(needs=lambda c: sm.Needs(memory=2.0**60))
def greedy(c):
    raise AssertionError("built all the same")


@suite.variant(needs=lambda c: sm.Needs(memory=1.0, flops=1e18))
def endless(c):
    raise AssertionError("built all the same")
