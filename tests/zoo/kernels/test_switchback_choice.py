"""The choice of a SwitchBack layer: made once, between ways that compute the same, timed as they are used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.zoo.kernels import dispatch, switchback_autograd, switchback_choice
from stepmark.zoo.kernels.dispatch import choices, rehearsing
from stepmark.zoo.kernels.switchback import PLAIN, Needs, Way, backward
from stepmark.zoo.kernels.switchback_choice import OPERATION, Passes, chosen

WAYS = {"int8": Way("int8", False, False, False)}
ALL = Needs(x=True, weight=True, bias=True)
NONE = Needs(x=False, weight=False, bias=False)
EVERY = [Needs(*(bool(asked >> place & 1) for place in range(3))) for asked in range(8)]


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And a few calls are enough."""
    monkeypatch.setattr(dispatch, "MOST_CALLS", 1)
    monkeypatch.setattr(dispatch, "ROUNDS", 1)
    monkeypatch.setattr(switchback_choice, "_known", {})
    choices.cache_clear()
    yield
    choices.cache_clear()


def drawn(device: str, rows: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return tuple(torch.randn(*size, device=device) for size in ((rows, 16), (8, 16), (8,)))  # type: ignore[return-value]


def test_a_choice_is_made_once_and_is_one_of_the_candidates(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []

    def choose(operation: str, key: Any, candidates: Any, *, default: str, through_autograd: Any) -> str:
        for candidate in (*candidates.values(), *through_autograd.values()):
            candidate()
        calls.append((operation, key, [*candidates], [*through_autograd], default))
        return "int8"

    monkeypatch.setattr(switchback_choice, "choose", choose)
    for rows in (5, 7, 8):
        x, w, _ = drawn(device, rows)
        assert chosen(x, w, None, ways=WAYS, needs=ALL) == "int8"
    names = [PLAIN, "int8"]
    assert calls == [(OPERATION, (8, 8, 16, "float32", "110-int800"), names, names, PLAIN)]
    assert chosen(x, w, None, ways=WAYS, needs=ALL._replace(x=False)) == "int8"
    assert len(calls) == 2


@pytest.mark.parametrize("needs", EVERY)
@pytest.mark.parametrize("biased", [True, False])
def test_all_ways_give_the_same_things_in_the_same_order(device: str, needs: Needs, biased: bool) -> None:
    x, w, b = drawn(device)
    passes = Passes(x, w, b if biased else None, needs=needs, codes_of=None)
    plain = passes.alone(None)
    asked = {(5, 16): needs.x, (8, 16): needs.weight, (8,): needs.bias and biased}
    assert [tuple(one.shape) for one in plain] == [(5, 8), *(shape for shape in asked if asked[shape])]
    others = [passes.alone(WAYS["int8"])]
    if any(asked.values()):
        others += [passes.through_autograd(None), passes.through_autograd(WAYS["int8"])]
    for other in others:
        assert dispatch._agree([*other], [*plain])
        assert not any(one.requires_grad for one in other)


def test_nobodys_gradient_grows(device: str) -> None:
    x, w, b = (one.requires_grad_() for one in drawn(device))
    chosen(x, w, b, ways=WAYS, needs=ALL)
    assert (x.grad, w.grad, b.grad) == (None, None, None)


def test_without_gradients_autograd_is_not_asked(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def choose(*_: Any, through_autograd: Any, default: str) -> str:
        asked.append(through_autograd)
        return default

    monkeypatch.setattr(switchback_choice, "choose", choose)
    x, w, b = drawn(device)
    assert chosen(x, w, b, ways=WAYS, needs=NONE) == PLAIN
    assert asked == [None]


class Timed:
    """A clock that only the passes move, by what each of them is said to take."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self._patch = monkeypatch
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(dispatch, "_graphs", lambda calls: {})

    def takes(self, module: Any, name: str, seconds: float) -> None:
        plain = getattr(module, name)

        def act(*args: Any, **more: Any) -> Any:
            self.now += seconds
            return plain(*args, **more)

        self._patch.setattr(module, name, act)


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Timed:
    """16 bits take 0.3 ms, 8 bits 0.2 ms by their kernels and 1 ms through autograd: 0.8 ms to go back."""
    clock = Timed(monkeypatch)
    clock.takes(nn.functional, "linear", 3e-4)
    clock.takes(switchback_choice, "forward", 2e-4)
    clock.takes(switchback_autograd, "forward", 2e-4)
    clock.takes(switchback_autograd, "backward", 8e-4)
    return clock


@pytest.mark.parametrize("around", [torch.no_grad, torch.enable_grad, torch._C._AutoDispatchBelowAutograd])
@pytest.mark.usefixtures("timed")
def test_an_expensive_backward_pass_leaves_plain_products_from_python(device: str, around: Any) -> None:
    x, w, b = drawn(device)
    shipped = {*choices()}  # none but on the card of the tables
    with around():
        assert chosen(x, w, b, ways=WAYS, needs=ALL) == PLAIN
        with rehearsing():
            assert chosen(x, w, b, ways=WAYS, needs=ALL) == "int8", "in a graph nobody waits for the host"
        assert chosen(x, w, b, ways=WAYS, needs=NONE) == "int8", "where nothing goes back"
    (name,) = (name for name in {*choices()} - shipped if "110-" in name)
    assert choices()[name] == (PLAIN, "int8")


def test_a_cheap_one_does_not(device: str, timed: Timed) -> None:
    timed.takes(nn.functional, "linear", 1e-2)
    x, w, b = drawn(device)
    assert chosen(x, w, b, ways=WAYS, needs=ALL) == "int8"
    assert OPERATION == "switchback-layer/2", "what was chosen without autograd is void"


@pytest.mark.usefixtures("timed")
def test_passes_that_are_wrong_are_out(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any, **more: Any) -> tuple[Tensor | None, ...]:
        of_x, *rest = backward(*args, **more)
        assert of_x is not None
        return -of_x, *rest

    monkeypatch.setattr(switchback_choice, "backward", wrong)
    x, w, b = drawn(device)
    with rehearsing():
        assert chosen(x, w, b, ways=WAYS, needs=ALL) == PLAIN


def test_tensors_of_inference_mode_can_be_measured(device: str) -> None:
    """An operator under torch.compile measures for training whatever its caller is about."""
    with torch.inference_mode():
        x, w, b = drawn(device)
        assert chosen(x, w, b, ways=WAYS, needs=ALL) in (PLAIN, "int8")
    assert choices()
