"""Every way a case can fail at once, beside one that does not."""

import ctypes
import os
import sys
import time

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("failing", modes=["forward"])


def step(function):
    return sm.Step(function, inputs=sm.randn(4, 4))


@suite.variant(baseline=True)
def fine(c):
    return step(nn.Linear(4, 4))


@suite.variant
def raises_building(c):
    raise RuntimeError("no such layer")


@suite.variant
def raises_running(c):
    def run(x):
        print("about to divide")
        return x / (1 // 0)

    return step(run)


@suite.variant
def exits(c):
    return step(lambda x: os._exit(7))


@suite.variant
def exits_fine(c):
    return step(lambda x: os._exit(0))


@suite.variant
def leaves(c):
    return step(lambda x: sys.exit("enough"))


@suite.variant
def segfaults(c):
    return step(lambda x: ctypes.string_at(0))


@suite.variant
def hangs(c):
    return step(lambda x: time.sleep(3600))


@suite.variant
def python_memory(c):
    return step(lambda x: bytearray(1 << 60))


@suite.variant
def torch_memory(c):
    return step(lambda x: torch.empty(1 << 60, dtype=torch.uint8))


@suite.variant
def unsupported(c):
    raise sm.Unsupported("only for wide layers")


@suite.variant
def returns_nothing(c):
    nn.Linear(4, 4)
