"""Dataflow: work that nothing uses, outputs that do not follow the inputs, noise and data."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from stepmark.authoring.inputs import randint, randn
from stepmark.authoring.workload import Ops, Step
from stepmark.instruments.inspection.dataflow import dead_flops, reached
from stepmark.instruments.inspection.operation_log import Operation
from stepmark.records.case import Mode
from tests.instruments.inspection.bound import inspected, phase

PRODUCT = 2 * 8 * 16 * 16
"""Of a batch of 8 with a square layer of 16."""


def operation(reads: set[int], writes: set[int], flops: float = 1.0, leaves: bool = False) -> Operation:
    return Operation("any", tuple(reads), tuple(writes), flops, False, leaves)


numbers = st.sets(st.integers(0, 6), max_size=3)
operations = st.lists(st.builds(operation, numbers, numbers, leaves=st.booleans()), max_size=12)


@given(operations, numbers)
def test_dead_work_never_grows_when_more_is_alive(found: list[Operation], alive: set[int]) -> None:
    everything = set(range(7))
    dead = dead_flops(found, alive)
    assert dead_flops(found, everything) <= dead <= sum(one.flops for one in found)
    assert dead_flops(found, everything) == sum(
        1.0 for one in found if not one.writes and not one.leaves_torch
    )


@given(operations, numbers, numbers)
def test_what_sources_reach_grows_with_the_sources(
    found: list[Operation], one: set[int], other: set[int]
) -> None:
    apart, together = reached(found, one), reached(found, one | other)
    assert apart is None or one <= apart
    assert together is None or (apart is not None and apart <= together)


def forward(function: Any, **inputs: Any) -> Any:
    return inspected(Step(function, inputs=randn(8, 16)), Mode.FORWARD)


def test_a_product_that_nobody_uses_is_dead() -> None:
    layer = nn.Linear(16, 16)

    def wasteful(x: Tensor) -> Any:
        layer(x)
        return layer(x).relu()

    found = phase(forward(wasteful), "forward")
    assert (found.flops, found.dead_flops) == (2 * PRODUCT, PRODUCT)


def test_chains_that_end_nowhere_are_dead_from_their_beginning() -> None:
    layer = nn.Linear(16, 16)

    def wasteful(x: Tensor) -> Tensor:
        layer(layer(x).relu()).sum()
        return x + 1

    assert phase(forward(wasteful), "forward").dead_flops == 2 * PRODUCT


kept: list[Any] = [None]
buffer = torch.zeros(8, 16)
other = nn.Linear(16, 16)


def keeps(x: Tensor) -> Tensor:
    kept[0] = other(x)
    return x


def writes(x: Tensor) -> Tensor:
    buffer.copy_(other(x))
    return x


def decides(x: Tensor) -> Tensor:
    return x if other(x).sum().item() > 0 else -x


def lists(x: Tensor) -> Tensor:
    return x * len(other(x).tolist())


def compares(x: Tensor) -> Tensor:
    return x if torch.equal(other(x), x) else -x


@pytest.mark.parametrize("function", [keeps, writes, decides, lists, compares, other.forward])
def test_work_that_outlives_the_phase_or_steers_it_is_not_dead(function: Any) -> None:
    assert phase(forward(function), "forward").dead_flops == 0


def test_what_is_saved_for_the_backward_pass_is_not_dead() -> None:
    found = inspected(
        Step(
            nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16)),
            inputs=randn(8, 16),
            loss=torch.sum,
        )
    )
    assert all(one.dead_flops == 0 for one in found.phases)


class Wasteful(torch.autograd.Function):
    """Computes a gradient of its input whether anybody wants it or not."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        return gradients[0] @ w.t(), x.t() @ gradients[0]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 16))

    def forward(self, x: Tensor) -> Tensor:
        return Wasteful.apply(x, self.weight)  # type: ignore[no-any-return, no-untyped-call]


@pytest.mark.parametrize("wanted", [False, True])
def test_a_gradient_that_nobody_wants_is_dead_work_of_the_backward_pass(wanted: bool) -> None:
    backward = phase(inspected(Step(Layer(), inputs=randn(8, 16, requires_grad=wanted))), "backward")
    assert backward.flops == 2 * PRODUCT
    assert backward.dead_flops == (0 if wanted else PRODUCT)


# ── whether the output follows the inputs ───────────────────────────────────────────────────────────


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)
        self.cache: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.cache is None:
            self.cache = self.layer(x)
        return self.cache


class CachedByAddress(nn.Module):
    """Takes what it computed for the same memory, whatever is in it by now."""

    def __init__(self) -> None:
        super().__init__()
        self.results: dict[int, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        if x.data_ptr() not in self.results:
            self.results[x.data_ptr()] = other(x).detach()
        return self.results[x.data_ptr()]


class Saturated(nn.Module):
    """A kernel that torch does not see writes the same memory again, with numbers that any input gives."""

    def __init__(self) -> None:
        super().__init__()
        self.result = torch.zeros(8, 16)
        self.address = self.result.data_ptr()

    def forward(self, x: Tensor) -> Tensor:
        first = ctypes.c_float.from_address(x.data_ptr()).value
        ctypes.memset(self.address, 1 if first > 1e9 else 0, self.result.nbytes)
        return self.result


somewhere = torch.randn(8, 16)


@pytest.mark.parametrize(
    "function",
    [
        Cached(),
        CachedByAddress(),
        lambda x: other(somewhere),
        lambda x: torch.zeros(x.shape),
        lambda x: torch.ones_like(x),
        lambda x: other(torch.randn_like(x)),
    ],
)
def test_an_output_that_ignores_its_input_is_known(function: Any) -> None:
    assert forward(function).depends is False


@pytest.mark.parametrize(
    "function",
    [
        other,
        lambda x: x,
        lambda x: x.detach().clone(),
        lambda x: x * 0,
        lambda x: torch.zeros(8, 16).copy_(x),
        lambda x: torch.from_numpy(x.numpy() * 2),
        lambda x: torch.full((4,), x.sum().item()),
        lambda x: torch.tensor(x.tolist()),
        lambda x: functional.dropout(x),
        lambda x: (x.data_ptr(), x)[1],
        Saturated(),
    ],
)
def test_an_output_that_follows_its_input_is_known_too(function: Any) -> None:
    assert forward(function).depends is True


def test_whole_numbers_are_followed() -> None:
    table = nn.Embedding(10, 4)
    assert inspected(Step(table, inputs=randint(10, 8)), Mode.FORWARD).depends is True


def test_where_nothing_is_known_to_be_an_input_nothing_is_said() -> None:
    x = torch.randn(4, 4)
    assert inspected(Ops({"product": lambda: x @ x}), Mode.OPS).depends is None


def test_the_inputs_have_their_numbers_again_after_the_check() -> None:
    x = torch.randn(8, 16)
    before = x.clone()
    inspected(Step(lambda x: other(somewhere), inputs=[x]), Mode.FORWARD)
    assert torch.equal(x, before)


@settings(max_examples=8)
@given(st.integers(1, 3), st.booleans())
def test_correct_networks_of_any_depth_have_no_dead_work_and_follow_their_input(
    depth: int, norm: bool
) -> None:
    layers = [
        one for _ in range(depth) for one in (nn.Linear(16, 16), nn.LayerNorm(16) if norm else nn.Tanh())
    ]
    found = inspected(Step(nn.Sequential(*layers), inputs=randn(8, 16), optimizer=torch.optim.SGD))
    assert found.depends is True
    assert all(one.dead_flops == 0 and not one.unseen for one in found.phases)
