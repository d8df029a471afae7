"""A layer that has chosen plain products goes straight to them, and only in calls like that one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.zoo import SwitchBackLinear
from stepmark.zoo.kernels import switchback_plain
from stepmark.zoo.kernels.dispatch import rehearsing


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Inputs for which a way was looked for; it is always the plain one."""
    seen: list[Tensor] = []

    def by_kernels(
        _: SwitchBackLinear, x: Tensor, weight: Tensor, bias: Tensor | None, *, when_plain: Any
    ) -> Tensor:
        seen.append(x)
        if when_plain is not None:
            when_plain()
        return nn.functional.linear(x, weight, bias)

    monkeypatch.setattr(SwitchBackLinear, "_uses_kernels", lambda *_: True)
    monkeypatch.setattr(SwitchBackLinear, "_by_kernels", by_kernels)
    return seen


@pytest.mark.parametrize("shape", [(5, 16), (2, 3, 16)])
def test_the_second_call_asks_nothing_and_gives_the_same(asked: list[Tensor], shape: tuple[int, ...]) -> None:
    layer, x = SwitchBackLinear(16, 8), torch.randn(shape)
    first, second = layer(x), layer(x)
    assert len(asked) == 1
    assert torch.equal(first, second)
    second.sum().backward()
    assert layer.weight.grad is not None


def test_shapes_are_forgotten_when_there_are_many(
    asked: list[Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switchback_plain, "MOST_CALLS", 3)
    layer = SwitchBackLinear(16, 8)
    for rows in range(1, 10):
        layer(torch.randn(rows, 16))
        layer(torch.randn(rows, 16))
        assert len(layer._plain._known) <= 3
    assert len(asked) == 9


def other_shape(_: SwitchBackLinear, x: Tensor) -> Tensor:
    return x[:3]


def other_dtype(layer: SwitchBackLinear, x: Tensor) -> Tensor:
    layer.bfloat16()
    return x.bfloat16()


def frozen(layer: SwitchBackLinear, x: Tensor) -> Tensor:
    layer.weight.requires_grad_(False)
    return x


def with_gradient(_: SwitchBackLinear, x: Tensor) -> Tensor:
    return x.requires_grad_()


def kept_codes(layer: SwitchBackLinear, x: Tensor) -> Tensor:
    layer.keep_codes = True
    return x


def fp8(layer: SwitchBackLinear, x: Tensor) -> Tensor:
    layer.precision = "fp8"
    return x


def prepared(layer: SwitchBackLinear, x: Tensor) -> Tensor:
    layer.prepare_for_eval()
    return x


def without_bias(layer: SwitchBackLinear, x: Tensor) -> Tensor:
    layer.bias = None  # type: ignore[assignment]
    return x


@pytest.mark.parametrize(
    "change",
    [other_shape, other_dtype, frozen, with_gradient, kept_codes, fp8, prepared, without_bias],
)
def test_another_call_is_asked_about(asked: list[Tensor], change: Callable[..., Tensor]) -> None:
    layer, x = SwitchBackLinear(16, 8), torch.randn(5, 16)
    layer(x)
    layer(change(layer, x))
    assert len(asked) == 2


def test_graphs_and_calls_without_gradients_are_asked_about(asked: list[Tensor]) -> None:
    layer, x = SwitchBackLinear(16, 8), torch.randn(5, 16)
    layer(x)
    with torch.no_grad():
        layer(x)
    assert len(asked) == 2
    with rehearsing():
        layer(x)
        layer(x)
    assert len(asked) == 4


def test_nothing_is_remembered_under_autocast(asked: list[Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = SwitchBackLinear(16, 8), torch.randn(5, 16)
    # Where there is no CUDA torch.autocast("cuda") does nothing but warn.
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind == "cuda")
    layer(x)
    layer(x)
    assert len(asked) == 2


def test_copies_begin_with_nothing(asked: list[Tensor]) -> None:
    layer, x = SwitchBackLinear(16, 8), torch.randn(5, 16)
    layer(x)
    copy.deepcopy(layer)(x)
    assert len(asked) == 2
    assert not pickle.loads(pickle.dumps(layer._plain))._known


def test_what_does_not_fit_is_still_refused(asked: list[Tensor]) -> None:
    layer = SwitchBackLinear(16, 8)
    layer(torch.randn(5, 16))
    with pytest.raises(ValueError, match="expected an input of shape"):
        layer(torch.randn(5, 12))
    assert len(asked) == 1


@pytest.mark.gpu
def test_on_a_gpu_small_layers_become_linear_ones() -> None:
    layer = SwitchBackLinear(64, 32, device="cuda", dtype=torch.float16)
    x = torch.randn(16, 64, device="cuda", dtype=torch.float16)
    first = layer(x)
    assert layer._plain._known
    assert torch.equal(layer(x), first)
    assert torch.equal(first, layer.to_linear()(x))
