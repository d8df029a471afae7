"""A layer raises where it is called inside another tool's hooks: stepmark cannot look inside and says so."""

from torch import nn
from torch.overrides import _get_current_function_mode_stack

import stepmark as sm

FINDING = "not-audited"
VARIANT = "guarded"

suite = sm.Suite("guards", axes={"features": [64]}, modes=["forward"])


class Guarded(nn.Linear):
    def forward(self, x):
        if _get_current_function_mode_stack():
            raise RuntimeError("this layer does not run under a function mode")
        return super().forward(x)


@suite.variant(baseline=True)
def guarded(c):
    return sm.Step(Guarded(c.features, c.features), inputs=sm.randn(32, c.features))
