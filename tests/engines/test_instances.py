"""Instances of a case: other values each time, the same for all variants of a cell, and the suite once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.engines.instances import Instances, suite_of
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.source import FileSource

CELL = Cell(suite="drawing", mode=Mode.FORWARD)
DRAWS = """
import stepmark as sm
import torch
from torch import nn

with open({log!r}, "a") as log:
    log.write("x")
drawn = []
suite = sm.Suite("drawing", modes=["forward"])

def draw(c):
    drawn.append(torch.rand(4))
    return sm.Step(nn.Linear(4, 4), inputs=sm.randn(2, 4))

for name in "ab":
    suite.variant(baseline=name == "a", name=name)(draw)
suite.drawn = drawn
"""


def drawn(folder: Path, variant: str, seed: str, times: int) -> tuple[list[list[float]], int]:
    """What so many instances drew, and how often the bench file was imported for it."""
    log, bench = folder / "imports", folder / "bench_drawing.py"
    log.write_text("")
    bench.write_text(DRAWS.format(log=str(log)))
    suite = suite_of(FileSource(path=str(bench)), Case(variant=variant, cell=CELL))
    instances = Instances(suite, Case(variant=variant, cell=CELL), seed)
    for _ in range(times):
        instances()
    values: list[torch.Tensor] = suite().drawn  # type: ignore[attr-defined]
    return [one.tolist() for one in values], len(log.read_text())


@given(st.text(max_size=20))
def test_values_follow_from_seed_and_instance_and_from_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, seed: str
) -> None:
    folder = tmp_path_factory.mktemp("drawing")
    first, imports = drawn(folder, "a", seed, 3)
    other, _ = drawn(folder, "b", seed, 3)
    assert first == other
    assert len({tuple(values) for values in first}) == 3
    assert imports == 1
