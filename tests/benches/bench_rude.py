"""Bench files do not know about each other's manners: printing, closing and redirecting everything."""

import os
import sys

from torch import nn

import stepmark as sm

suite = sm.Suite("rude", modes=["forward"])


def step(before):
    layer = nn.Linear(4, 4)

    def run(x):
        before()
        return layer(x)

    return sm.Step(run, inputs=sm.randn(4, 4))


@suite.variant(baseline=True)
def polite(c):
    return step(lambda: None)


@suite.variant
def prints(c):
    def shout():
        print("{" + "x" * 500)
        os.write(2, b"\x00\xff not text \n")

    return step(shout)


@suite.variant
def closes(c):
    def close():
        os.closerange(0, 256)

    return step(close)


@suite.variant
def redirects(c):
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    return step(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 1))
