"""Created data: random numbers and Python's data made inside a phase; noise of a model is its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Ops, Step
from stepmark.records.case import Mode
from stepmark.records.inspection import Creation, CreationKind
from tests.instruments.inspection.bound import inspected, phase

layer = nn.Linear(16, 16)
numbers = np.ones((32, 16), dtype=np.float32)
place = torch.empty(32, 16)


def created(function: Any, mode: Mode = Mode.FORWARD) -> tuple[Creation, ...]:
    found = inspected(Step(function, inputs=randn(32, 16, requires_grad=mode is Mode.TRAIN)), mode)
    return phase(found, "forward").created


@pytest.mark.parametrize(
    ("function", "kind", "call"),
    [
        (lambda x: layer(torch.randn(32, 16)), CreationKind.RANDOM, "torch.randn"),
        (lambda x: layer(torch.rand(32, 16)), CreationKind.RANDOM, "torch.rand"),
        (lambda x: layer(torch.randn_like(x)), CreationKind.RANDOM, "torch.randn_like"),
        (lambda x: functional.layer_norm(torch.randn(32, 16), (16,)), CreationKind.RANDOM, "torch.randn"),
        (lambda x: layer(place.normal_()), CreationKind.RANDOM, "Tensor.normal_"),
        (lambda x: layer(torch.normal(0.0, 1.0, (32, 16))), CreationKind.RANDOM, "torch.normal"),
        (lambda x: layer(torch.from_numpy(numbers)), CreationKind.HOST, "torch.from_numpy"),
        (lambda x: layer(torch.tensor(numbers)), CreationKind.HOST, "torch.tensor"),
        (lambda x: layer(torch.as_tensor(numbers)), CreationKind.HOST, "torch.as_tensor"),
        (lambda x: layer(x.new_tensor(numbers)), CreationKind.HOST, "Tensor.new_tensor"),
    ],
)
def test_data_made_inside_is_listed(function: Any, kind: CreationKind, call: str) -> None:
    assert created(function) == (Creation(kind=kind, call=call, bytes=32 * 16 * 4),)


@pytest.mark.parametrize(
    "function",
    [
        layer,
        lambda x: functional.dropout(layer(x)),
        lambda x: layer(x) * (torch.rand_like(x) > 0.5),
        lambda x: layer(x) * torch.rand(32, 1).gt(0.2),
        lambda x: layer(x) + torch.randn(x.shape) * 0.1,
        lambda x: functional.gumbel_softmax(layer(x)),
        lambda x: layer(x) * torch.tensor(0.5),
        lambda x: layer(x) + torch.tensor([1.0] * 16),
        lambda x: layer(x) + torch.zeros(32, 16) + torch.arange(16),
        lambda x: torch.as_tensor(layer(x)),
    ],
)
@pytest.mark.parametrize("mode", [Mode.FORWARD, Mode.TRAIN])
def test_noise_of_a_model_and_small_numbers_are_not(function: Any, mode: Mode) -> None:
    assert created(function, mode) == ()


def test_the_result_of_a_kernel_in_numpy_is_no_created_data() -> None:
    assert created(lambda x: torch.from_numpy(x.numpy() @ numbers.T)) == ()


def test_operations_are_looked_at_as_steps_are() -> None:
    found = inspected(
        Ops({"made": lambda: layer(torch.randn(32, 16)), "given": lambda: layer(place)}), Mode.OPS
    )
    assert [one.bytes for one in phase(found, "made").created] == [32 * 16 * 4]
    assert phase(found, "given").created == ()


def test_autocast_is_noticed_wherever_it_is_entered() -> None:
    def inside(x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x)  # type: ignore[no-any-return]

    step = Step(layer, inputs=randn(4, 16), autocast="bfloat16")
    assert inspected(Step(inside, inputs=randn(4, 16)), Mode.FORWARD).autocast == ("bfloat16",)
    assert inspected(step, Mode.FORWARD).autocast == ("bfloat16",)
    assert inspected(Step(layer, inputs=randn(4, 16)), Mode.FORWARD).autocast == ()


def test_functions_of_torch_are_their_own_again_afterwards() -> None:
    before = torch.from_numpy, torch.frombuffer
    created(lambda x: layer(torch.from_numpy(numbers)))
    assert (torch.from_numpy, torch.frombuffer) == before
