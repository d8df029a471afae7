"""SwitchBack under torch.compile: whole graphs, and the numbers of eager mode."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from stepmark.zoo.switchback_steps import Quantization
from tests.zoo.kernels.switchback_cases import KINDS, both_passes, layer_of


@pytest.fixture(autouse=True)
def from_the_start() -> None:
    """Eight compilations of one function are the most, in one process."""
    torch.compiler.reset()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["int8", "fp8"])
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch itself
def test_compiled_layers_compute_the_same(
    device: str, kind: tuple[Quantization, bool], precision: str
) -> None:
    torch.manual_seed(0)
    layer = layer_of(24, 16, kind, device=device, precision=precision)
    compiled: Any = torch.compile(copy.deepcopy(layer), backend="aot_eager", fullgraph=True)
    x, grad = torch.randn(2, 5, 24, device=device), torch.randn(2, 5, 16, device=device)
    for one, wanted in zip(both_passes(compiled, x, grad), both_passes(layer, x, grad), strict=True):
        torch.testing.assert_close(one, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch itself
def test_compiled_layers_give_the_gradients_that_are_asked_for(
    device: str, kind: tuple[Quantization, bool]
) -> None:
    torch.manual_seed(0)
    layer = layer_of(24, 16, kind, device=device)
    layer.weight.requires_grad_(False)
    compiled: Any = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = torch.randn(3, 24, device=device, requires_grad=True)
    twin = x.detach().clone().requires_grad_()
    compiled(x).sum().backward()
    layer(twin).sum().backward()
    assert layer.weight.grad is None
    assert x.grad is not None
    torch.testing.assert_close(x.grad, twin.grad)
