"""Launches of LoRA's kernels: options and their keys, and launches that are not asked for again."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepmark.zoo.kernels import lora_launch
from stepmark.zoo.kernels.launch import Launcher
from stepmark.zoo.kernels.lora_launch import FixedLaunch, options_of, padded
from stepmark.zoo.kernels.lora_products import whole
from stepmark.zoo.kernels.lora_sizes import Sizes, Tile
from tests.zoo.kernels.lora_cases import assert_near, drawn, truth_of
from tests.zoo.kernels.stands_in import STREAM, StandsIn

SIZES = Sizes((5,), 32, 48, 4, "ieee", True, True)
TILE = Tile(16, 16, 32, 4, 3)


class Recorded(Launcher):
    """Says what it was asked."""

    def __init__(self) -> None:
        super().__init__(None)
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, grid: tuple[int, int, int], *args: Any, key: Any = None, **options: Any) -> None:
        self.asked.append((grid, args, key, options))


def test_ranks_are_padded_to_what_matrix_units_take() -> None:
    assert [padded(rank) for rank in (1, 4, 16, 17, 33, 64)] == [16, 16, 16, 32, 64, 64]


def test_every_set_of_options_has_a_key_of_its_own() -> None:
    first, second = (options_of(TILE, SIZES, 32, FORWARD=True) for _ in range(2))
    assert first["key"] != second["key"]
    assert {**first, "key": 0} == {**second, "key": 0}
    assert first["EVEN_K"]
    assert not options_of(TILE, SIZES, 48, FORWARD=True)["EVEN_K"]


def test_a_fixed_launch_asks_with_tensors_then_numbers_then_the_scale() -> None:
    launcher = Recorded()
    launch = FixedLaunch(launcher, (1, 2, 3), (7, 8), {"key": 5, "BM": 16})
    x, y = torch.ones(2), torch.ones(3)
    launch(x, y, scale=0.5)
    launch(x, y, scale=0.25)
    assert launcher.asked == [
        ((1, 2, 3), (x, y, 7, 8, 0.5), 5, {"BM": 16}),
        ((1, 2, 3), (x, y, 7, 8, 0.25), 5, {"BM": 16}),
    ]


def test_a_kernel_without_a_scale_is_given_none() -> None:
    launcher, x = Recorded(), torch.ones(2)
    FixedLaunch(launcher, (1, 1, 1), (7,), {"key": 5})(x)
    assert launcher.asked == [((1, 1, 1), (x, 7), 5, {})]


class Counted(Launcher):
    asked = 0

    def __call__(self, *args: Any, **options: Any) -> None:
        self.asked += 1
        super().__call__(*args, **options)


@pytest.mark.parametrize("scale", [None, 0.5])
def test_a_fixed_launch_goes_round_the_launcher_once_that_has_launched(
    stands_in: StandsIn, scale: float | None
) -> None:
    launcher = Counted(stands_in)
    launch = FixedLaunch(launcher, (4, 1, 1), (64, 7, 1), {"key": 5, "BLOCK": 16})
    tensors = [stands_in.tensor(64) for _ in range(4)]
    for one in tensors:
        launch(one, one, scale=scale)
    assert (launcher.asked, stands_in.asked[1:]) == (1, [])
    scales = () if scale is None else (scale,)
    assert stands_in.launched == [
        ((4, 1, 1, STREAM), (one.data_ptr(), one.data_ptr(), 64, 7, 1, *scales, 16)) for one in tensors[1:]
    ]


def test_a_fixed_launch_asks_for_what_is_not_aligned_or_on_another_device(stands_in: StandsIn) -> None:
    launcher = Counted(stands_in)
    launch = FixedLaunch(launcher, (4, 1, 1), (64,), {"key": 5, "BLOCK": 16})
    here, there = stands_in.tensor(64), stands_in.tensor(64, device=1)
    launch(here)
    launch(stands_in.tensor(65)[1:])
    assert launcher.asked == 2
    launch(here)
    assert launcher.asked == 2
    launch(there)
    asked = launcher.asked
    launch(there)
    assert launcher.asked > asked > 2, "the device is another"
    asked = launcher.asked
    with stands_in.on_device(1):
        launch(there)
    assert launcher.asked == asked
    assert stands_in.on == [0, 0, 0, 1, 1, 1]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="launches directly on a GPU alone")
def test_a_fixed_launch_asks_once_and_again_for_what_is_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn((5,), 32, 48, 4, dtype=torch.float32, device="cuda")
    asked: list[int] = []
    ask = FixedLaunch._ask

    def counted(*given: Any) -> None:
        asked.append(1)
        ask(*given)

    monkeypatch.setattr(FixedLaunch, "_ask", counted)
    way = whole(case.sizes, TILE, forward=True)
    for _ in range(3):
        y, _ = way(case.x, case.layer)
        assert_near(y, truth_of(case).y, torch.float32)
    assert len(asked) == 1
    shifted = torch.empty(5 * 32 + 1, device="cuda")[1:].view(5, 32).copy_(case.x)
    y, _ = way(shifted, case.layer)
    assert_near(y, truth_of(case).y, torch.float32)
    assert len(asked) == 2
    assert lora_launch.launchers().whole._known
