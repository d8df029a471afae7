"""Launching again gives the same as launching at first, whatever sizes and alignments come."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.kernels import launch
from stepmark.zoo.kernels.launch import Launcher, dependent_launch, key_of


@pytest.fixture(scope="module")
def launcher() -> Launcher:
    return Launcher(importlib.import_module("doubling_kernels").doubled)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 70), st.integers(0, 5)), min_size=1, max_size=4))
def test_every_launch_computes(launcher: Launcher, device: str, shapes: list[tuple[int, int]]) -> None:
    for size, offset in shapes:
        memory = torch.randn(size + offset, device=device)
        x, y = memory[offset:], torch.full((size,), torch.nan, device=device)
        launcher((-(-size // 16), 1, 1), x, y, size, 2.0, key="float32", BLOCK=16, num_warps=1)
        assert torch.equal(y, 2.0 * x)


@pytest.mark.gpu
def test_a_known_kernel_is_launched_directly_in_the_current_stream(launcher: Launcher, device: str) -> None:
    x, y = torch.randn(64, device=device), torch.empty(64, device=device)

    def launch(into: Any) -> None:
        launcher((4, 1, 1), x, into, 64, 2.0, key="float32", BLOCK=16, num_warps=1)

    launch(y)
    assert launcher._known, "this Triton is one that is known to work"
    graph = torch.cuda.CUDAGraph()
    y.zero_()
    with torch.cuda.graph(graph):
        launch(y)
    assert not y.any(), "captured, not run"
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, 2.0 * x)


def test_equal_configurations_have_one_key_and_others_another() -> None:
    assert key_of(("a", 1)) == key_of(("a", 1))
    assert len({key_of(("a", 1)), key_of(("a", 2)), key_of(("b", 1))}) == 3


def test_without_a_hopper_no_launch_is_dependent(monkeypatch: pytest.MonkeyPatch) -> None:
    for capability, is_there in (((8, 0), False), ((9, 0), True)):
        launch._has_dependent_launch.cache_clear()
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("torch.cuda.get_device_capability", lambda capability=capability: capability)
        assert dependent_launch() == ({"PDL": True, "launch_pdl": True} if is_there else {"PDL": False})
    launch._has_dependent_launch.cache_clear()
