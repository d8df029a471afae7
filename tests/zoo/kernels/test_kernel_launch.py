"""Launching again gives the same as launching at first, whatever sizes and alignments come."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.kernels import launch
from stepmark.zoo.kernels.launch import Launcher, dependent_launch, is_launchable, key_of
from tests.zoo.kernels.stands_in import StandsIn


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


def test_a_known_kernel_is_not_asked_for_again(stands_in: StandsIn) -> None:
    launcher = Launcher(stands_in)
    x = stands_in.tensor(64)
    for size in (64, 32, 33, 1, 64, 1):
        launcher((4, 1, 1), x, size, 2.0, None, key="float32", BLOCK=16)
    assert stands_in.asked == [64, 33, 1], "what Triton compiles for"
    assert [grid[:4] + values[:4] for grid, values in stands_in.launched] == [
        (4, 1, 1, 7, x.data_ptr(), size, 2.0, None) for size in (32, 64, 1)
    ]
    launcher((4, 1, 1), x, 64, 2.0, None, key="bfloat16", BLOCK=16)
    launcher((4, 1, 1), stands_in.tensor(65)[1:], 64, 2.0, None, key="float32", BLOCK=16)
    assert stands_in.asked == [64, 33, 1, 64, 64]


def test_a_launch_is_on_its_tensors_device(stands_in: StandsIn) -> None:
    launcher = Launcher(stands_in)
    for device in (0, 1, 1, 0):
        launcher((1, 1, 1), stands_in.tensor(64, device=device), 64, key="float32")
    assert stands_in.on == [0, 1, 1, 0]
    assert stands_in.asked == [64, 64], "a kernel is compiled for a device"
    assert stands_in.current == 0
    descriptor = SimpleNamespace(base=stands_in.tensor(64, device=1))
    launcher((1, 1, 1), descriptor, 64, key="descriptors")
    assert stands_in.on[-1] == 1


@pytest.mark.parametrize(
    ("grid", "fits"),
    [((1 << 20, 1, 1), True), ((1, 65535, 65535), True), ((1, 65536, 1), False), ((1, 1, 65536), False)],
)
def test_the_second_and_third_side_of_a_grid_are_short(grid: tuple[int, int, int], fits: bool) -> None:
    assert is_launchable(grid) is fits


def test_equal_configurations_have_one_key_and_others_another() -> None:
    assert key_of(("a", 1)) == key_of(("a", 1))
    assert len({key_of(("a", 1)), key_of(("a", 2)), key_of(("b", 1))}) == 3


def test_another_thread_may_ask_for_a_key_meanwhile() -> None:
    asked: list[int] = []

    class Slow:
        def __hash__(self) -> int:
            if not asked:
                asked.append(key_of(("asked for by another thread",)))
            return 0

    assert key_of((Slow(),)) not in asked


def test_without_a_hopper_no_launch_is_dependent(monkeypatch: pytest.MonkeyPatch) -> None:
    for capability, is_there in (((8, 0), False), ((9, 0), True)):
        launch._has_dependent_launch.cache_clear()
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("torch.cuda.get_device_capability", lambda capability=capability: capability)
        assert dependent_launch() == ({"PDL": True, "launch_pdl": True} if is_there else {"PDL": False})
    launch._has_dependent_launch.cache_clear()
