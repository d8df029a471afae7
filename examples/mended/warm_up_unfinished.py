"""The layer waits for its compiler when it is built; every call that is timed takes the fast path."""

import threading
import time

from torch import nn

import stepmark as sm

LAUNCHES = 6

suite = sm.Suite("tiers", axes={"features": [128]}, modes=["forward"])
COMPILER = threading.Thread(target=time.sleep, args=[0.15], daemon=True)
"""Stands for a compiler that takes 150 ms."""


class Tiered(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        if COMPILER.ident is None:
            COMPILER.start()
        COMPILER.join()


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(256, c.features))


@suite.variant(accepts=["same-work-as-baseline"])
def tiered(c):
    return sm.Step(Tiered(c.features, c.features), inputs=sm.randn(256, c.features))
