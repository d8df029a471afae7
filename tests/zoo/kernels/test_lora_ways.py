"""Plans of LoRA layers: which ways they have, what they remember, and what they leave to torch."""

from __future__ import annotations

import re
from functools import partial

import pytest
import torch

from stepmark.zoo.kernels import lora_ways
from stepmark.zoo.kernels.launch import Launcher, is_launchable
from stepmark.zoo.kernels.lora_sizes import Adapted, Sizes
from stepmark.zoo.kernels.lora_ways import Plan, backward_ways, dense_in_rows, forward_ways, plan_for
from tests.zoo.kernels.lora_cases import drawn


def sizes(rows: int, *, precision: str = "bf16", weight: bool = True, inputs: int = 64) -> Sizes:
    return Sizes((rows,), inputs, 32, 8, precision, weight, weight)


def test_the_plain_way_is_always_among_them_and_first() -> None:
    for rows in (0, 1, 64, 1000, 5000):
        for weight in (True, False):
            assert next(iter(forward_ways(sizes(rows, weight=weight)))) == "torch"
            for needs_dx in (True, False):
                assert next(iter(backward_ways(sizes(rows, weight=weight), needs_dx=needs_dx))) == "torch"


def test_ways_change_with_the_rows() -> None:
    def kinds(rows: int) -> set[str]:
        names = [*forward_ways(sizes(rows)), *backward_ways(sizes(rows), needs_dx=True)]
        return {re.sub(r"\d.*", "", name) for name in names}

    assert kinds(0) == {"torch", "torch_spread"}
    assert {"whole", "once", "spread"} <= kinds(64)
    assert not {"fused", "rows"} & kinds(64)
    assert {"whole", "fused", "rows"} <= kinds(700)
    assert "once" not in kinds(700)
    assert "whole" not in kinds(4096)


def test_rows_up_to_a_power_of_two_have_the_same_ways() -> None:
    for rows in (3, 33, 300, 513, 1025):
        most = sizes(rows).most_rows
        assert [*forward_ways(sizes(rows))] == [*forward_ways(sizes(most))]
        for needs_dx in (True, False):
            few, many = (backward_ways(sizes(one), needs_dx=needs_dx) for one in (rows, most))
            assert [*few] == [*many]


@pytest.mark.parametrize("rows", [1 << 21, (1 << 21) + 1, 1 << 22])
@pytest.mark.parametrize("needs_dx", [True, False])
def test_every_way_has_grids_that_a_device_takes(
    rows: int, needs_dx: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A choice is shared by all rows up to a power of two; nothing is computed of tensors on "meta"."""
    grids: list[tuple[int, int, int]] = []
    monkeypatch.setattr(Launcher, "__call__", lambda _, grid, *__, **___: grids.append(grid))
    empty = partial(torch.empty, dtype=torch.bfloat16, device="meta")
    layer = Adapted(empty(32, 64), empty(32), empty(64, 8), empty(8, 32), 1.0)
    x, g, s = empty(rows, 64), empty(rows, 32), empty(rows, 8)
    for make in forward_ways(sizes(rows)).values():
        make()(x, layer)
    for make_back in backward_ways(sizes(rows), needs_dx=needs_dx).values():
        make_back()(g, x, s, layer)
    assert grids
    assert all(map(is_launchable, grids))
    assert any(name.startswith("spread") for name in forward_ways(sizes(rows))) == (rows == 1 << 21)


def test_float32_and_odd_features_have_no_descriptors() -> None:
    assert not lora_ways.fused_tiles(sizes(4096, precision="ieee"))
    assert not lora_ways.fused_tiles(sizes(4096, inputs=60))
    assert lora_ways.fused_tiles(sizes(4096))


def test_a_plan_is_remembered_by_its_sizes(device: str) -> None:
    case = drawn((5,), 16, 32, 4, dtype=torch.bfloat16, device=device)
    other = drawn((6,), 16, 32, 4, dtype=torch.bfloat16, device=device)
    assert plan_for(case.x, case.layer) is plan_for(case.x.clone(), case.layer)
    assert plan_for(case.x, case.layer) is not plan_for(other.x, other.layer)
    assert plan_for(case.x, case.layer) is not plan_for(case.x, case.layer, only_kernels=True)
    assert plan_for(case.x, case.layer) is not plan_for(case.x.half(), case.layer)


@pytest.mark.parametrize("precision", ["highest", "high"])
def test_factors_of_float32_are_rounded_where_torch_rounds_them(precision: str) -> None:
    case = drawn((5,), 16, 32, 4, dtype=torch.float32, device="cpu")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        assert plan_for(case.x, case.layer).sizes.precision == {"highest": "ieee", "high": "tf32"}[precision]
    finally:
        torch.set_float32_matmul_precision(before)


def test_plans_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lora_ways, "MOST_PLANS", 3)
    monkeypatch.setattr(lora_ways, "_plans", {})
    for rows in range(1, 10):
        case = drawn((rows,), 4, 4, 2, dtype=torch.float32, device="cpu")
        plan_for(case.x, case.layer)
        assert len(lora_ways._plans) <= 3


def test_a_plan_of_kernels_only_has_no_way_of_torch() -> None:
    asked = [*Plan(sizes(64), only_kernels=True)._eligible(forward_ways(sizes(64)))]
    assert asked
    assert not any(name.startswith("torch") for name in asked)
    assert [*Plan(sizes(0), only_kernels=True)._eligible(forward_ways(sizes(0)))] == ["torch", "torch_spread"]


def test_rows_are_split_where_strips_are_few() -> None:
    assert lora_ways.strip_splits(sizes(64)) == 1
    assert lora_ways.strip_splits(sizes(4096, inputs=1024)) > 1
    assert lora_ways.strip_splits(sizes(4096, inputs=16384)) == 1


def test_dense_rows_are_left_where_they_are() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    assert dense_in_rows(x) is x
    part = torch.arange(24.0).view(4, 6)[:, :3]
    assert dense_in_rows(part).data_ptr() == part.data_ptr()
    turned = x.transpose(0, 1)
    assert torch.equal(dense_in_rows(turned), turned.reshape(6, 4))
    assert dense_in_rows(x.view(4, 6).t()).stride(1) == 1
    assert dense_in_rows(torch.ones(4)).shape == (1, 4)
