"""Variants that pass alone and fail in company: in their 50th step."""

import ctypes
import os
import time

import torch
from torch import nn

import stepmark as sm

STEPS = 50


def late(failure):
    count = 0
    layer = nn.Linear(4, 4)

    def run(x):
        nonlocal count
        count += 1
        if count == STEPS:
            failure()
        time.sleep(0.001)
        return layer(x)

    return sm.Step(run, inputs=sm.randn(4, 4))


def make(name, failure):
    suite = sm.Suite(f"late_{name}", modes=["forward"])

    @suite.variant(baseline=True)
    def fine(c):
        return late(lambda: None)

    @suite.variant
    def also_fine(c):
        return late(lambda: None)

    @suite.variant
    def culprit(c):
        return late(failure)

    return suite


def fail():
    raise ValueError("the fiftieth step")


raising = make("raise", fail)
exiting = make("exit", lambda: os._exit(3))
crashing = make("segfault", lambda: ctypes.string_at(0))
hanging = make("hang", lambda: time.sleep(3600))
running_out = make("memory", lambda: bytearray(1 << 60))
torch_running_out = make("torch_memory", lambda: torch.empty(1 << 60, dtype=torch.uint8))
