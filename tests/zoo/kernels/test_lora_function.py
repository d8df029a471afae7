"""LoRA as one node of autograd: layers by kernels against float64, and what else a layer goes through."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.zoo.kernels.lora_function import has_kernels, lora_linear
from stepmark.zoo.kernels.lora_sizes import Adapted
from stepmark.zoo.lora import LoRAAdapter, LoRALinear
from tests.zoo.kernels.lora_cases import Case, assert_near, drawn, truth_of
from tests.zoo.kernels.stands_in import StandsIn

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
KINDS = ["biased", "linear", "adapter"]


def trained(case: Case, *, x: bool = True, a: bool = True, b: bool = True) -> Case:
    for one, wanted in ((case.x, x), (case.layer.a, a), (case.layer.b, b)):
        one.requires_grad_(wanted)
    return case


def layer_of(
    device: str, *, dtype: torch.dtype = torch.float32, kind: str = "biased", **more: Any
) -> nn.Module:
    torch.manual_seed(0)
    common: dict[str, Any] = {"rank": 4, "zero_b": False, "backend": "triton", **more}
    if kind == "adapter":
        return LoRAAdapter(32, 48, device=device, dtype=dtype, **common)
    base = nn.Linear(32, 48, bias=kind == "biased", device=device, dtype=dtype)
    return LoRALinear(base, **common)


def plain_twin(layer: nn.Module) -> nn.Module:
    other = copy.deepcopy(layer)
    adapter = other.adapter if isinstance(other, LoRALinear) else other
    assert isinstance(adapter, LoRAAdapter)
    adapter.backend = "torch"
    return other


@settings(max_examples=8)
@given(st.lists(st.integers(0, 4), max_size=3).map(tuple), st.sampled_from(KINDS), st.sampled_from(DTYPES))
def test_outputs_and_gradients_are_the_reference(
    lead: tuple[int, ...], kind: str, dtype: torch.dtype
) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    case = trained(drawn(lead, 32, 48, 4, dtype=dtype, device=device, kind=kind))
    truth = truth_of(case)
    y = lora_linear(case.x, case.layer, only_kernels=True)
    torch.autograd.backward(y, case.g)
    assert_near(y, truth.y, dtype)
    assert_near(case.x.grad, truth.x, dtype)
    assert_near(case.layer.a.grad, truth.a, dtype)
    assert_near(case.layer.b.grad, truth.b, dtype)
    assert case.layer.weight is None or case.layer.weight.grad is None


@pytest.mark.parametrize(("x", "a", "b"), [
    (True, False, False), (False, True, True), (False, False, True), (False, True, False),
])  # fmt: skip
def test_only_wanted_gradients_are_there(x: bool, a: bool, b: bool, device: str) -> None:
    case = trained(drawn((6,), 32, 48, 4, dtype=torch.float32, device=device), x=x, a=a, b=b)
    truth = truth_of(case)
    torch.autograd.backward(lora_linear(case.x, case.layer, only_kernels=True), case.g)
    for tensor, wanted, expected in (
        (case.x, x, truth.x), (case.layer.a, a, truth.a), (case.layer.b, b, truth.b),
    ):  # fmt: skip
        if wanted:
            assert_near(tensor.grad, expected, torch.float32)
        else:
            assert tensor.grad is None


def test_without_gradients_nothing_is_recorded(device: str) -> None:
    case = drawn((6,), 32, 48, 4, dtype=torch.float32, device=device)
    assert not lora_linear(case.x, case.layer, only_kernels=True).requires_grad
    trained(case)
    with torch.no_grad():
        assert not lora_linear(case.x, case.layer, only_kernels=True).requires_grad


@pytest.mark.parametrize("layout", ["turned", "part", "expanded"])
def test_inputs_and_gradients_may_lie_anyhow(layout: str, device: str) -> None:
    case = drawn((4, 5), 32, 48, 4, dtype=torch.float32, device=device)
    if layout == "turned":
        x, g = (one.transpose(0, 1).contiguous().transpose(0, 1) for one in (case.x, case.g))
    elif layout == "part":
        x, g = (torch.cat([one, one], dim=-1)[..., : one.shape[-1]] for one in (case.x, case.g))
    else:
        x, g = case.x, torch.ones((), device=device).expand(case.g.shape)
    case = trained(Case(x.detach(), g, case.layer))
    truth = truth_of(case)
    y = lora_linear(case.x, case.layer, only_kernels=True)
    torch.autograd.backward(y, g)
    assert_near(y, truth.y, torch.float32)
    assert_near(case.x.grad, truth.x, torch.float32)
    assert_near(case.layer.a.grad, truth.a, torch.float32)


def test_a_second_derivative_is_that_of_the_plain_layer(device: str) -> None:
    layer = layer_of(device)
    x = torch.randn(5, 32, device=device, requires_grad=True)
    found: list[Tensor] = []
    expected: list[Tensor] = []
    for one, results in ((layer, found), (plain_twin(layer), expected)):
        parameters = [p for p in one.parameters() if p.requires_grad]
        first = torch.autograd.grad(one(x).square().sum(), [x, *parameters], create_graph=True)
        penalty = sum((g.square().sum() for g in first), start=torch.zeros((), device=device))
        results += torch.autograd.grad(penalty, [x, *parameters])
    for second, plain in zip(found, expected, strict=True):
        torch.testing.assert_close(second, plain, rtol=1e-4, atol=1e-4 * float(plain.abs().max()))


def test_a_changed_input_is_noticed_in_the_backward_pass(device: str) -> None:
    case = trained(drawn((6,), 32, 48, 4, dtype=torch.float32, device=device), x=False)
    y = lora_linear(case.x, case.layer, only_kernels=True)
    case.x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.backward(y, case.g)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_by_kernels_are_the_plain_ones(kind: str, device: str) -> None:
    layer = layer_of(device, kind=kind)
    other = plain_twin(layer)
    x = torch.randn(2, 3, 32, device=device, requires_grad=True)
    assert_same(layer, other, x)
    assert "_LoRA" in type(layer(x).grad_fn).__name__


def assert_same(layer: nn.Module, other: nn.Module, x: Tensor) -> None:
    found, expected = ([run(x), *gradients(run, x)] for run in (layer, other))
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


def gradients(layer: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
    wanted = [x, *(one for one in layer.parameters() if one.requires_grad)]
    y = layer(x)
    return torch.autograd.grad(y, wanted, torch.ones_like(y))


def test_dropout_in_training_takes_the_plain_path_and_evaluation_the_kernels(device: str) -> None:
    layer = layer_of(device, dropout=0.5)
    x = torch.randn(5, 32, device=device, requires_grad=True)
    assert "_LoRA" not in type(layer(x).grad_fn).__name__
    assert "_LoRA" in type(layer.eval()(x).grad_fn).__name__


def test_a_merged_layer_is_its_base(device: str) -> None:
    layer = layer_of(device)
    assert isinstance(layer, LoRALinear)
    x = torch.randn(5, 32, device=device)
    expected = layer(x)
    layer.merge()
    torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.base.weight, layer.base.bias))
    torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-4)


def test_under_autocast_it_computes_in_half_and_gradients_stay_float32(device: str) -> None:
    layer = layer_of(device)
    x = torch.randn(5, 32, device=device, requires_grad=True)
    with torch.autocast(device, dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    found = torch.autograd.grad(
        y, [x, *(one for one in layer.parameters() if one.requires_grad)], torch.ones_like(y)
    )
    assert {one.dtype for one in found} == {torch.float32}
    for one, other in zip([y.float(), *found], [layer(x), *gradients(layer, x)], strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=3e-2 * float(other.detach().abs().max()))


@pytest.mark.parametrize("copied", [copy.deepcopy])
def test_a_copy_computes_the_same(copied: Any, device: str) -> None:
    layer = layer_of(device)
    x = torch.randn(5, 32, device=device)
    assert torch.equal(copied(layer)(x), layer(x))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wants_dx", [True, False])
def test_compiled_it_is_the_same_without_a_break(kind: str, wants_dx: bool, device: str) -> None:
    layer = layer_of(device, kind=kind)
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = torch.randn(3, 2, 32, device=device, requires_grad=wants_dx)
    wanted = [*([x] if wants_dx else []), *(one for one in layer.parameters() if one.requires_grad)]
    found, expected = (
        [y, *torch.autograd.grad(y, wanted, torch.ones_like(y))] for y in (compiled(x), layer(x))
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_what_kernels_do_not_know_goes_to_torch() -> None:
    x, a, b = torch.ones(3, 16), torch.ones(16, 4), torch.ones(4, 16)
    assert has_kernels(x, Adapted(None, None, a, b, 1.0))
    assert not has_kernels(x.double(), Adapted(None, None, a.double(), b.double(), 1.0))
    assert not has_kernels(x, Adapted(None, None, torch.ones(16, 65), torch.ones(65, 16), 1.0))
    assert not has_kernels(torch.ones(3, 24), Adapted(None, None, torch.ones(24, 4), b, 1.0))
    assert not has_kernels(x, Adapted(None, None, a, torch.ones(4, 20), 1.0))
    assert not has_kernels(x, Adapted(None, None, torch.ones(4, 16).t(), b, 1.0))
    assert not has_kernels(x, Adapted(torch.ones(16, 16, requires_grad=True), None, a, b, 1.0))
    assert not has_kernels(x, Adapted(torch.ones(16, 16), torch.ones(16, requires_grad=True), a, b, 1.0))
    assert not has_kernels(x, Adapted(torch.ones(32, 16).t(), None, a, torch.ones(4, 32), 1.0))


@pytest.mark.parametrize("name", ["x", "weight", "bias", "a", "b"])
def test_kernels_are_for_one_dtype(name: str) -> None:
    x = torch.ones(3, 16)
    layer = Adapted(torch.ones(16, 16), torch.ones(16), torch.ones(16, 4), torch.ones(4, 16), 1.0)
    assert has_kernels(x, layer)
    if name == "x":
        x = x.bfloat16()
    else:
        layer = layer._replace(**{name: getattr(layer, name).bfloat16()})
    assert not has_kernels(x, layer)


@pytest.mark.parametrize("name", ["x", "weight", "bias", "a", "b"])
def test_kernels_are_for_one_device(name: str, stands_in: StandsIn) -> None:
    """A plan that is remembered launches with addresses alone: another device's are not known on this one."""
    shapes = {"x": (3, 16), "weight": (16, 16), "bias": (16,), "a": (16, 4), "b": (4, 16)}
    tensors = {one: stands_in.tensor(*shape) for one, shape in shapes.items()}
    x = tensors.pop("x")
    assert has_kernels(x, Adapted(**tensors, scale=1.0))
    moved = {"x": x, **tensors, name: stands_in.tensor(*shapes[name], device=1)}
    x = moved.pop("x")
    assert not has_kernels(x, Adapted(**moved, scale=1.0))


def test_autocast_leaves_float64_alone_as_it_does_in_torch(device: str) -> None:
    layer = layer_of(device, dtype=torch.float64)
    x = torch.randn(5, 32, device=device, dtype=torch.float64)
    with torch.autocast(device, dtype=torch.bfloat16):
        y = layer(x)
    assert torch.equal(y, layer(x))


def test_layers_of_mixed_dtypes_say_what_torch_says(device: str) -> None:
    layer = LoRALinear(in_features=32, out_features=48, rank=4, device=device, backend="triton")
    layer.base.bfloat16()
    with pytest.raises(RuntimeError, match="dtype"):
        layer(torch.randn(3, 32, device=device))


def test_the_automatic_backend_is_torch_on_a_cpu() -> None:
    layer = LoRAAdapter(32, 48, 4, zero_b=False)
    assert "_LoRA" not in type(layer(torch.randn(3, 32)).grad_fn).__name__
    with pytest.raises(ValueError, match="expected backend 'auto', 'triton' or 'torch', got 'cuda'"):
        LoRAAdapter(32, 48, 4, backend="cuda")  # type: ignore[arg-type]
