"""Variants that have dealings with other processes: with some they start, and with the one they come from."""

import os
import signal
import subprocess
import time
from pathlib import Path

from torch import nn

import stepmark as sm

suite = sm.Suite("family", modes=["forward"])


def step(function):
    return sm.Step(function, inputs=sm.randn(4, 4))


@suite.variant(baseline=True)
def plain(c):
    return step(nn.Linear(4, 4))


@suite.variant
def leaves_a_child(c):
    subprocess.Popen(["sleep", "300"])
    return step(nn.Linear(4, 4))


@suite.variant
def leaves_a_daemon(c):
    subprocess.Popen(["sh", "-c", "sleep 300 & sleep 300"], start_new_session=True)
    return step(nn.Linear(4, 4))


@suite.variant
def stays_with_a_daemon(c):
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    return step(lambda x: time.sleep(300))


@suite.variant
def stays_with_a_child(c):
    subprocess.Popen(["sleep", "300"])
    return step(lambda x: time.sleep(300))


@suite.variant
def kills_the_server(c):
    def run(x):
        parent = os.getppid()
        assert b"forkserver" in Path(f"/proc/{parent}/cmdline").read_bytes(), "it has another parent"
        os.kill(parent, signal.SIGKILL)
        time.sleep(300)

    return step(run)
