"""Instances of a case inside a worker: its suite, imported once, and the case, built anew each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import torch

from stepmark.authoring.load import load
from stepmark.authoring.suite import Suite
from stepmark.instruments.displacement import displace
from stepmark.instruments.graph_capture import REPEATS
from stepmark.instruments.torch_binding import bind
from stepmark.measure.program import Program
from stepmark.records.case import Case
from stepmark.records.source import Source


def suite_of(source: Source, case: Case) -> Callable[[], Suite]:
    """The case's suite; the bench file is imported when it is first asked for, and once."""
    return cache(lambda: next(suite for suite in load(source) if suite.name == case.cell.suite))


class Instances:
    """Builds one case, every time anew: the values and the place in memory differ from instance to instance,
    so that no result hangs on one draw. Values are the same for all variants of a cell, places are not."""

    def __init__(self, suite: Callable[[], Suite], case: Case, seed: str, *, repeats: int = REPEATS) -> None:
        """`repeats`: how often a graph holds a short call. Where ranges stand around calls, once."""
        self._suite, self._case, self._seed, self._repeats = suite, case, seed, repeats
        self._built = 0
        self.displacement: list[torch.Tensor] = []

    def __call__(self) -> Program:
        variant, instance = self._case.variant, f"{self._seed}/{self._built}"
        self._built += 1
        self.displacement = displace(random.Random(f"{instance}/{variant}"))
        seed = random.Random(instance).getrandbits(31)
        return bind(self._suite().variants[variant], self._case, seed=seed, repeats=self._repeats)
