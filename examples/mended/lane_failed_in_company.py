"""The layer replaces what is registered under its name."""

from torch import nn

import stepmark as sm

suite = sm.Suite("registry", axes={"features": [64]}, modes=["forward"])
KERNELS = {}


def registered(name, kernel, *, replace=False):
    if name in KERNELS and not replace:
        raise RuntimeError(f"a kernel named '{name}' is registered already")
    KERNELS[name] = kernel
    return kernel


@suite.variant(baseline=True)
def first(c):
    dense = nn.Linear(c.features, c.features)
    return sm.Step(registered("linear", dense, replace=True), inputs=sm.randn(32, c.features))


@suite.variant
def second(c):
    thin = nn.Sequential(nn.Linear(c.features, 8), nn.Linear(8, c.features))
    return sm.Step(registered("linear", thin, replace=True), inputs=sm.randn(32, c.features))
