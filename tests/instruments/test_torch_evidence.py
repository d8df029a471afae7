"""Evidence: counted from the real thing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
from torch import nn

from stepmark.instruments.torch_evidence import evidence_of, tensor_facts
from stepmark.records.evidence import Evidence, TensorFacts
from stepmark.records.sample import Layout

LAYOUT = Layout(phases=("forward",), primary="forward")


def evidence(module: nn.Module, optimizer: object = None, output: object = None, *inputs: object) -> Evidence:
    return evidence_of(LAYOUT, list(module.parameters()), inputs, optimizer, lambda: output)


def test_parameters_are_counted_and_weighed() -> None:
    module = nn.Sequential(nn.Linear(10, 4), nn.Linear(4, 2, bias=False).to(torch.float64))
    module[1].weight.requires_grad_(False)
    found = evidence(module)
    assert (found.layout, found.parameters, found.trainable_parameters) == (LAYOUT, 44 + 8, 44)
    assert found.parameter_bytes == 44 * 4 + 8 * 8


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
@pytest.mark.parametrize(("layout", "shape"), [(torch.strided, (9,)), (torch.jagged, (3, 3))])
def test_a_nested_tensor_has_the_shape_of_what_it_holds(layout: torch.layout, shape: tuple[int, ...]) -> None:
    nested = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(1, 3)], layout=layout)
    facts = tensor_facts(nested)
    assert (facts.shape, facts.dtype) == (shape, "float32")
    assert msgspec.json.decode(msgspec.json.encode(facts), type=TensorFacts) == facts


def test_the_state_of_an_optimizer_is_weighed_after_its_first_step() -> None:
    module = nn.Linear(10, 4)
    optimizer = torch.optim.AdamW(module.parameters())
    assert evidence(module, optimizer).optimizer_state_bytes == 0
    module(torch.ones(1, 10)).sum().backward()
    optimizer.step()
    moments, counters = 2 * 44 * 4, 2 * 4
    assert evidence(module, optimizer).optimizer_state_bytes == moments + counters
    assert evidence(module, None).optimizer_state_bytes == 0


@pytest.mark.parametrize("state", [{}, None])
def test_an_optimizer_of_the_users_own_may_have_no_state(state: object) -> None:
    class Own:
        pass

    own = Own()
    if state is not None:
        own.state = state  # type: ignore[attr-defined]
    assert evidence(nn.Linear(2, 2), own).optimizer_state_bytes == 0


MOMENTA = [torch.ones(4), torch.ones(2)]


@pytest.mark.parametrize("state", [MOMENTA, {"momenta": MOMENTA}, {"momentum": MOMENTA[0], 1: MOMENTA[1]}])
def test_an_optimizer_of_the_users_own_keeps_its_state_as_it_likes(state: Any) -> None:
    own = SimpleNamespace(state=state)
    assert evidence(nn.Linear(2, 2), own).optimizer_state_bytes == (4 + 2) * 4


def test_inputs_and_output_are_described() -> None:
    found = evidence(nn.Linear(2, 2), None, torch.ones(3, 2, dtype=torch.bfloat16), torch.ones(3, 4), "mean")
    assert found.inputs == (TensorFacts(shape=(3, 4), dtype="float32", device="cpu"),)
    assert found.output == TensorFacts(shape=(3, 2), dtype="bfloat16", device="cpu")
    assert evidence(nn.Linear(2, 2), None, ("not", "a tensor")).output is None


def test_the_output_is_looked_at_without_gradients() -> None:
    seen: list[bool] = []
    evidence_of(LAYOUT, [], [], None, lambda: seen.append(torch.is_grad_enabled()))
    assert seen == [False]
    assert torch.is_grad_enabled()


def test_the_peak_of_the_process_is_in_bytes() -> None:
    assert 10 << 20 < evidence(nn.Linear(2, 2)).peak_rss_bytes < 1 << 40


def test_tensor_facts_are_plain() -> None:
    assert tensor_facts(torch.ones((), device="meta")) == TensorFacts(
        shape=(), dtype="float32", device="meta"
    )
