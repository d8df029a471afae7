"""The shortcut is taken by a call like the one before, and by no other."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.zoo import FragmentedLinear
from stepmark.zoo.kernels.dispatch import rehearsing
from stepmark.zoo.kernels.fragmented_shortcut import Shortcut, _Call

DEVICE = -1
"""What a tensor on the CPU says."""
STREAM = 7


class Launched:
    """Stands for a chain's launches."""

    def __init__(self) -> None:
        self.places: list[tuple[int | None, ...]] = []

    def __call__(self, *places: int | None) -> None:
        self.places.append(places)


@dataclass
class Card:
    """What torch says of the device."""

    stream: int = STREAM
    is_capturing: bool = False


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    now = Card()
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: DEVICE, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: now.stream, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: now.is_capturing, raising=False)
    return now


def prepared(*, bias: bool = True) -> tuple[FragmentedLinear, Tensor, Launched]:
    """A layer that has just been called with this input."""
    layer = FragmentedLinear(64, 32, 4, bias=bias).eval()
    x, launched = torch.randn(3, 64), Launched()
    some = tuple(one for one in layer._own_parameters() if one is not None)
    places = [one.data_ptr() for one in some]
    own, arguments = tuple(layer._parameters.values()), (*places, *([] if bias else [None]))
    layer._shortcut._before = _Call(
        "auto", x.dtype, DEVICE, STREAM, x.shape, own, some, places, arguments, (3, 32), launched
    )
    return layer, x, launched


def take(layer: FragmentedLinear, x: Tensor) -> Tensor | None:
    with torch.no_grad():
        return layer._shortcut(x, layer._parameters, layer.backend)


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize("bias", [True, False])
def test_a_call_like_the_one_before_launches_by_addresses(bias: bool) -> None:
    layer, x, launched = prepared(bias=bias)
    y = take(layer, x)
    assert y is not None
    assert y.shape == (3, 32)
    addresses = [None if one is None else one.data_ptr() for one in (x, *layer._own_parameters(), y)]
    assert launched.places == [tuple(addresses)]


def other_stream(_: FragmentedLinear, x: Tensor, card: Card) -> Tensor:
    card.stream += 1
    return x


def captured(_: FragmentedLinear, x: Tensor, card: Card) -> Tensor:
    card.is_capturing = True
    return x


def other_backend(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    layer.backend = "torch"
    return x


def parametrised(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    nn.utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
    return x


def turned_by_data(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    layer.selector.data = layer.selector.data.view(16, 4).t()
    return x


def another_weight(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    layer.weight = nn.Parameter(layer.weight.detach().view(layer.weight.shape))
    return x


def moved_weight(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    layer.weight.data = layer.weight.data.clone()
    return x


def narrower_layer(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    layer.bfloat16()
    return x


def other_dtype_in_the_same_place(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    for one in layer.parameters():
        one.data = one.data.view(torch.float16)
    return x


def no_bias_any_more(layer: FragmentedLinear, x: Tensor, _: Card) -> Tensor:
    layer.bias = None
    return x


def unaligned(_: FragmentedLinear, x: Tensor, __: Card) -> Tensor:
    return torch.randn(3 * 64 + 1)[1:].view(3, 64)


CHANGES: list[Callable[..., Tensor]] = [
    other_stream,
    captured,
    other_backend,
    parametrised,
    turned_by_data,
    another_weight,
    moved_weight,
    narrower_layer,
    other_dtype_in_the_same_place,
    no_bias_any_more,
    unaligned,
    lambda _, x, __: x[:2],
    lambda _, x, __: x.bfloat16(),
    lambda _, x, __: x.view(1, 3, 64),
    lambda _, x, __: torch.randn(64, 3).t(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_differs_goes_the_long_way(change: Callable[..., Any], card: Card) -> None:
    layer, x, launched = prepared()
    assert take(layer, change(layer, x, card)) is None
    assert not launched.places


@pytest.mark.usefixtures("card")
def test_gradients_graphs_and_autocast_go_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x, launched = prepared()
    assert layer._shortcut(x, layer._parameters, layer.backend) is None
    with rehearsing():
        assert take(layer, x) is None
    # Where there is no CUDA torch.autocast("cuda") does nothing but warn.
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: kind == "cuda")
    assert take(layer, x) is None
    assert not launched.places


@pytest.mark.usefixtures("card")
def test_copies_and_other_threads_begin_with_none() -> None:
    layer, x, _ = prepared()
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer._shortcut))):
        shortcut = copied if isinstance(copied, Shortcut) else copied._shortcut
        assert shortcut._before is None
    found: list[Tensor | None] = []
    thread = threading.Thread(target=lambda: found.append(take(layer, x)))
    thread.start()
    thread.join()
    assert found == [None]
    assert take(layer, x) is not None


@pytest.mark.usefixtures("card")
def test_training_and_soft_selection_never_take_it() -> None:
    layer, x, launched = prepared()
    with torch.no_grad():
        layer.train()(x)
        layer.eval().selection = "soft"
        layer(x)
        assert not launched.places
        layer.selection = "auto"
        layer(x)
    assert len(launched.places) == 1


def test_on_a_cpu_nothing_is_remembered() -> None:
    layer, x = FragmentedLinear(64, 32, 4).eval(), torch.randn(3, 64)
    with torch.no_grad():
        layer(x)
        layer._shortcut.remember(x, layer._own_parameters(), layer._parameters, "auto")
    assert layer._shortcut._before is None


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_second_call_is_the_first_and_sees_new_weights(rows: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = FragmentedLinear(1024, 512, 16, device="cuda", dtype=dtype).eval()
    x = torch.randn(rows, 1024, device="cuda", dtype=dtype)
    with torch.no_grad():
        first = layer(x)
        assert layer._shortcut._before is not None
        assert torch.equal(layer(x), first)
        assert torch.equal(layer(x.view(1, rows, 1024)).view_as(first), first)
        layer.weight.mul_(2.0)
        layer.decompressor.mul_(2.0)
        torch.testing.assert_close(layer(x), 2 * first)
        layer.weight.data = layer.weight.data.clone().mul_(0.5)
        layer.decompressor.data = layer.decompressor.data.clone().mul_(0.5)
        torch.testing.assert_close(layer(x), first)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(side):
            assert torch.equal(layer(x), first)
        torch.cuda.synchronize()
