"""The product by the fastest way: every way gives the same, and few choices are made."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.zoo.int8 import int8_linear_global, int8_linear_rowwise
from stepmark.zoo.kernels import product as products
from stepmark.zoo.kernels.dispatch import Call, FromPython
from stepmark.zoo.kernels.int8 import DEFAULT, TILES
from stepmark.zoo.kernels.product import MOST_ROWS, TORCH, product, rows_measured, torch_product
from tests.zoo.kernels.code_cases import codes, numbers


@pytest.mark.parametrize(("m", "k", "n"), [(0, 5, 4), (3, 5, 0), (3, 0, 4)])
def test_nothing_comes_of_nothing(device: str, m: int, k: int, n: int) -> None:
    x8, w8 = codes(m, k, seed=1, device=device), codes(n, k, seed=2, device=device)
    x_scale, w_scale = numbers(m, seed=3, device=device), numbers(n, seed=4, device=device)
    bias = numbers(n, seed=5, device=device)
    assert not product(x8, w8, x_scale, w_scale, dtype=torch.float32).any()
    assert torch.equal(product(x8, w8, x_scale, w_scale, bias=bias, dtype=torch.float32), bias.expand(m, n))


def test_public_functions_take_the_kernel(device: str) -> None:
    x8, w8 = codes(2, 5, 40, seed=1, device=device), codes(24, 40, seed=2, device=device)
    x_scale, w_scale = numbers(2, 5, seed=3, device=device), numbers(24, seed=4, device=device)
    for compute, scale in ((int8_linear_rowwise, w_scale), (int8_linear_global, w_scale[0])):
        found = compute(x8, w8, x_scale, scale, dtype=torch.float32, backend="triton")
        wanted = compute(x8, w8, x_scale, scale, dtype=torch.float32, backend="torch")
        torch.testing.assert_close(found, wanted)


@given(st.integers(1, 10**6))
def test_choices_are_made_for_few_sizes(rows: int) -> None:
    found = rows_measured(rows)
    assert found.bit_count() == 1
    assert found == MOST_ROWS or rows <= found < 2 * rows


def test_torchs_own_way_gives_the_same(device: str) -> None:
    x8, w8 = codes(20, 32, seed=1, device=device), codes(24, 32, seed=2, device=device)
    x_scale, w_scale = numbers(20, seed=3, device=device), numbers(24, seed=4, device=device)
    bias = numbers(24, seed=5, device=device)
    ours = product(x8, w8, x_scale, w_scale, bias=bias, dtype=torch.float32, measured=False)
    torchs = torch_product(x8, w8, x_scale, w_scale, bias=bias, dtype=torch.float32)
    torch.testing.assert_close(ours, torchs)


def test_a_choice_is_made_among_tiles_and_torch(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def choose(operation: str, key: Any, candidates: dict[str, Any], *, default: str) -> str:
        asked.append((operation, key, [*candidates], default))
        return TORCH

    monkeypatch.setattr(products, "choose", choose)
    monkeypatch.setattr(products, "_known", {})
    x8, w8 = codes(20, 32, seed=1, device=device), codes(24, 32, seed=2, device=device)
    x_scale, w_scale = numbers(20, seed=3, device=device), numbers(24, seed=4, device=device)
    for _ in range(2):
        assert products._way(x8, w8, x_scale, w_scale, torch.float16) == TORCH
    key = (32, 24, 32, "int8", "float16")
    assert asked == [(products.OPERATION, key, [*TILES, TORCH], DEFAULT)]


def test_long_candidates_are_timed_from_python_and_do_the_same() -> None:
    candidates: dict[str, Call] = {"one": lambda: 1, "other": lambda: 2}
    assert products.without_graphs(candidates, operations=products.LONG / 2) == candidates
    long = products.without_graphs(candidates, operations=products.LONG)
    assert {name: call() for name, call in long.items()} == {"one": 1, "other": 2}
    assert all(isinstance(call, FromPython) for call in long.values())
