"""A layer compiles itself in the background and runs the slow path until that is done: beyond any warm-up."""

import threading
import time

from torch import nn

import stepmark as sm

FINDING = "warm-up-unfinished"
VARIANT = "tiered"
LAUNCHES = 6

suite = sm.Suite("tiers", axes={"features": [128]}, modes=["forward"])
COMPILER = threading.Thread(target=time.sleep, args=[0.15], daemon=True)
"""Stands for a compiler that takes 150 ms from the first call on."""


class Tiered(nn.Linear):
    def forward(self, x):
        if COMPILER.ident is None:
            COMPILER.start()
        y = super().forward(x)
        if COMPILER.is_alive():
            y = super().forward(x)  # the slow path
        return y


@suite.variant(baseline=True)
def plain(c):
    return sm.Step(nn.Linear(c.features, c.features), inputs=sm.randn(256, c.features))


@suite.variant
def tiered(c):
    return sm.Step(Tiered(c.features, c.features), inputs=sm.randn(256, c.features))
