"""Steps and operations whose profile one can guess, and some that never get that far."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("profiled", axes={"features": [64]}, modes=["train"])
parts = sm.Suite("profiled_parts", modes=["ops"])


def step(module, features):
    return sm.Step(
        module,
        inputs=sm.randn(32, features),
        target=sm.randn(32, features),
        loss=nn.functional.mse_loss,
        optimizer=torch.optim.SGD,
    )


@suite.variant(baseline=True)
def dense(c):
    return step(nn.Sequential(nn.Linear(c.features, c.features), nn.ReLU()), c.features)


@suite.variant
def raises(c):
    class Tired(nn.Linear):
        calls = 0

        def forward(self, x):
            self.calls += 1
            if self.calls > 2:
                raise RuntimeError("not a third time")
            return super().forward(x)

    return step(Tired(c.features, c.features), c.features)


@suite.variant
def dies_under_the_profiler(c):
    """A library that cannot be profiled."""

    class Shy(nn.Linear):
        def forward(self, x):
            if torch.autograd.profiler._is_profiler_enabled:
                raise RuntimeError("do not look at me")
            return super().forward(x)

    return step(Shy(c.features, c.features), c.features)


@suite.variant
def mistaken(c):
    return None


@parts.variant(baseline=True)
def two(c):
    left, right = torch.randn(48, 48), torch.randn(48, 48)
    return sm.Ops(
        {"product": lambda: left @ right, "sum": lambda: left + right}, totals={"both": ["product", "sum"]}
    )
