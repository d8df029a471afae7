"""A lane that changes a global setting under its neighbours."""

import torch

import stepmark as sm

suite = sm.Suite("flags", modes=["forward"])


@suite.variant(baseline=True)
def watching(c):
    def run(x):
        assert torch.get_float32_matmul_precision() == "highest"
        return x + 1

    return sm.Step(run, inputs=sm.randn(4))


@suite.variant
def changing(c):
    def run(x):
        torch.set_float32_matmul_precision("high")
        return x + 1

    return sm.Step(run, inputs=sm.randn(4))
