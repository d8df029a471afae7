"""Variants that watchers see something of: one leaks, one is compiled again and again."""

from itertools import count

import torch

import stepmark as sm

suite = sm.Suite("watched", modes=["forward"])


@suite.variant(baseline=True)
def quiet(c):
    return sm.Step(lambda x: x + 1, inputs=sm.randn(256))


@suite.variant
def leaking(c):
    kept = []

    def run(x):
        kept.append(torch.ones(1024))
        return x + 1

    return sm.Step(run, inputs=sm.randn(256))


@suite.variant
def recompiling(c):
    calls = count()

    @torch.compile(backend="eager", dynamic=False)
    def add(x, number):
        return x + number

    torch._dynamo.config.cache_size_limit = 10_000
    return sm.Step(lambda x: add(x, next(calls) // 20), inputs=sm.randn(256))
