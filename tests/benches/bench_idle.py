"""One lane works, the other notes how much processor time its process has used while it waited."""

import os
import time

import stepmark as sm

suite = sm.Suite("idle", modes=["forward"])


def spin(x):
    end = time.perf_counter() + 0.03
    while time.perf_counter() < end:
        pass


def note(x):
    with open(os.environ["IDLE_LOG"], "a") as log:
        log.write(f"{time.perf_counter()} {time.process_time()}\n")
    time.sleep(0.005)


@suite.variant(baseline=True)
def working(c):
    return sm.Step(spin, inputs=sm.randn(1))


@suite.variant
def waiting(c):
    return sm.Step(note, inputs=sm.randn(1))
