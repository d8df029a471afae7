"""An environment variable from a search for a bug is set in the bench file: kernels run one at a time."""

import os

from torch import nn

import stepmark as sm

FINDING = "debug-build"
VARIANT = "plain"

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
suite = sm.Suite("layer", axes={"features": [64]})


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(32, c.features))
