"""Steps with a slow start of a known cause, and one that never gets that far."""

import threading
import time

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("slow_start", modes=["forward"])
training = sm.Suite("slow_training", modes=["train"])
WORK = 0.002


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def step(first, num_first=2):
    """Every call works for 2 ms; the first ones do something else before."""
    calls = []

    def run(x):
        calls.append(None)
        if len(calls) <= num_first:
            first(len(calls))
        spin(WORK)
        return x + 1

    return sm.Step(run, inputs=sm.randn(4))


@suite.variant(baseline=True)
def flat(c):
    return step(lambda call: None)


@suite.variant
def works(c):
    return step(lambda call: spin(0.03))


@suite.variant
def imports(c):
    def first(call):
        import wsgiref.simple_server  # noqa: F401
        import xml.dom.minidom  # noqa: F401

        spin(0.03)

    return step(first, 1)


@suite.variant
def allocates(c):
    kept = []
    return step(lambda call: kept.append(torch.ones(8 << 20)), 3)


@suite.variant
def threads(c):
    done = threading.Event()

    def first(call):
        threading.Thread(target=done.wait, daemon=True).start()
        spin(0.03)

    return step(first)


@suite.variant
def raises(c):
    def first(call):
        if call == 4:
            raise RuntimeError("not a fourth time")

    return step(first, 10)


@suite.variant
def compiled(c):
    module = nn.Linear(4, 4)
    return sm.Step(module, inputs=sm.randn(4, 4), compile={"backend": "inductor"})


@suite.variant
def mistaken(c):
    return None


@training.variant(baseline=True)
def adam(c):
    return sm.Step(
        nn.Sequential(*[nn.Linear(256, 256) for _ in range(24)]),
        inputs=sm.randn(2, 256),
        optimizer=torch.optim.AdamW,
    )
