"""SwitchBackLinear: the definition's numbers in every dtype, within its bound, in a layer one can train."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.zoo.quantize import quantize_global, quantize_rowwise
from stepmark.zoo.switchback import TOLERANCES, SwitchBackLinear
from stepmark.zoo.switchback_reference import (
    Gradients,
    backward_reference,
    error_bound,
    forward_reference,
)
from stepmark.zoo.switchback_steps import Quantization
from tests.support.properties import steady
from tests.zoo.agreement import DEVICES, largest_error

KINDS: list[tuple[Quantization, bool]] = [("vector", False), ("global", False), ("global", True)]


@st.composite
def layers(draw: st.DrawFn) -> tuple[SwitchBackLinear, Tensor, Tensor]:
    """A layer of any shape and dtype, an input with any leading dimensions, and a gradient of the output."""
    n, o = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    leading = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(list(TOLERANCES)))
    quantization, memory_efficient = draw(st.sampled_from(KINDS))
    torch.manual_seed(draw(st.integers(0, 2**31)))
    layer = SwitchBackLinear(n, o, draw(st.booleans()), quantization, memory_efficient, dtype=dtype)
    x = torch.randn(*leading, n, dtype=dtype)
    if x.numel() and draw(st.booleans()):
        x.view(-1, n)[0] = 0.0
    return layer, x, torch.randn(*leading, o, dtype=dtype)


def by_definition(layer: SwitchBackLinear, x: Tensor, grad: Tensor) -> tuple[Tensor, Gradients]:
    rows, weight = x.detach().reshape(-1, layer.in_features).cpu(), layer.weight.detach().cpu()
    bias = None if layer.bias is None else layer.bias.detach().cpu()
    y = forward_reference(rows, weight, bias, quantization=layer.quantization)
    found = backward_reference(
        grad.reshape(-1, layer.out_features).cpu(),
        rows,
        weight,
        quantization=layer.quantization,
        memory_efficient=layer.memory_efficient,
    )
    return y.view(*x.shape[:-1], -1) if rows.numel() else y.new_zeros(grad.shape), found


def compare(layer: SwitchBackLinear, x: Tensor, grad: Tensor, *, least: float = 0.0) -> None:
    x = x.requires_grad_()
    y = layer(x)
    y.backward(grad)
    truth, gradients = by_definition(layer, x, grad)
    tolerance = TOLERANCES[x.dtype]
    assert y.dtype == x.dtype
    assert largest_error(y, truth, least=least) <= tolerance
    assert largest_error(x.grad, gradients.x.view(x.shape), least=least) <= tolerance
    assert largest_error(layer.weight.grad, gradients.weight, least=least) <= tolerance
    if layer.bias is not None:
        assert largest_error(layer.bias.grad, gradients.bias, least=least) <= tolerance


@steady
@given(layers())
def test_values_and_gradients_are_the_definitions(drawn: tuple[SwitchBackLinear, Tensor, Tensor]) -> None:
    compare(*drawn, least=1.0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
@pytest.mark.parametrize(("n", "o", "rows"), [(83, 332, 13), (332, 83, 13), (8096, 24, 3)])
def test_values_and_gradients_at_odd_sizes(
    device: str,
    dtype: torch.dtype,
    quantization: Quantization,
    memory_efficient: bool,
    n: int,
    o: int,
    rows: int,
) -> None:
    torch.manual_seed(0)
    layer = SwitchBackLinear(n, o, True, quantization, memory_efficient, device=device, dtype=dtype)
    grad = torch.randn(rows, o, device=device, dtype=dtype)
    compare(layer, torch.randn(rows, n, device=device, dtype=dtype), grad)


@steady
@given(layers())
def test_the_error_against_the_plain_layer_is_within_its_bound(
    drawn: tuple[SwitchBackLinear, Tensor, Tensor],
) -> None:
    """Element by element: the bound from the scales, and the rounding of the output's own dtype."""
    layer, x, grad = drawn
    x.requires_grad_()
    y = layer(x)
    y.backward(grad)
    assert x.grad is not None
    rows, g = x.detach().reshape(-1, layer.in_features), grad.reshape(-1, layer.out_features)
    weight = layer.weight.detach()
    whole = weight.abs().max().reshape(1, 1)
    vector = layer.quantization == "vector"

    def check(found: Tensor, left: Tensor, right: Tensor, right_scale: Tensor, plus: Tensor | float) -> None:
        truth = left.double() @ right.double() + plus
        bound = error_bound(left, right, left.abs().amax(1, keepdim=True), right_scale)
        rounding = torch.finfo(found.dtype).eps * (truth.abs() + bound)
        smallest = torch.finfo(found.dtype).tiny
        distance = (found.detach().reshape(truth.shape).double() - truth).abs()
        assert (distance <= bound * 1.0002 + rounding + smallest).all()

    bias = 0.0 if layer.bias is None else layer.bias.detach().double()
    check(y, rows, weight.T, weight.abs().amax(1, keepdim=True).T if vector else whole, bias)
    check(x.grad, g, weight, weight.abs().amax(0, keepdim=True) if vector else whole, 0.0)


@steady
@given(layers())
def test_the_codes_are_the_definitions_to_the_last(drawn: tuple[SwitchBackLinear, Tensor, Tensor]) -> None:
    """With a float64 epilogue nothing but the exact integer sums is left to differ."""
    layer, x, _ = drawn
    x, weight = x.float(), layer.weight.detach().float()
    rows = x.reshape(-1, layer.in_features)
    vector = layer.quantization == "vector"
    x8, x_scale = quantize_rowwise(rows)
    w8, w_scale = quantize_rowwise(weight) if vector else quantize_global(weight)
    y = x8.double() @ w8.double().t() * (x_scale.double().unsqueeze(-1) * w_scale.double() / 127.0**2)
    truth = forward_reference(rows, weight, quantization=layer.quantization)
    torch.testing.assert_close(y, truth, rtol=1e-15, atol=0.0)


@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
def test_only_what_asks_for_a_gradient_gets_one(quantization: Quantization, memory_efficient: bool) -> None:
    torch.manual_seed(0)
    layer = SwitchBackLinear(6, 4, True, quantization, memory_efficient)
    x = torch.randn(3, 6, requires_grad=True)
    leaves = [x, layer.weight, layer.bias]
    layer(x).sum().backward()
    wanted = [leaf.grad for leaf in leaves]
    for asked in range(1, 8):
        for place, leaf in enumerate(leaves):
            leaf.grad = None
            leaf.requires_grad_(bool(asked >> place & 1))
        layer(x).sum().backward()
        for place, leaf in enumerate(leaves):
            if asked >> place & 1:
                assert largest_error(leaf.grad, wanted[place]) == 0.0
            else:
                assert leaf.grad is None


def saved(layer: SwitchBackLinear, x: Tensor) -> list[Tensor]:
    """What the layer keeps for backward."""
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        layer(x)
    return kept


def test_memory_efficient_keeps_codes_and_nothing_else() -> None:
    x = torch.randn(10, 6, requires_grad=True)
    layer = SwitchBackLinear(6, 4, quantization="global")
    assert {tensor.data_ptr() for tensor in saved(layer, x)} == {x.data_ptr(), layer.weight.data_ptr()}
    layer = SwitchBackLinear(6, 4, quantization="global", memory_efficient=True)
    kept = [(tensor.dtype, tuple(tensor.shape)) for tensor in saved(layer, x)]
    assert kept == [
        (torch.int8, (10, 6)),
        (torch.float32, (10,)),
        (torch.int8, (4, 6)),
        (torch.float32, ()),
    ]


@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
def test_nothing_is_kept_for_a_gradient_that_nobody_asks_for(
    quantization: Quantization, memory_efficient: bool
) -> None:
    layer = SwitchBackLinear(6, 4, True, quantization, memory_efficient)
    x = torch.randn(10, 6)
    assert {tensor.shape[0] for tensor in saved(layer, x)} == {10}, "x alone, for the weight"
    layer.weight.requires_grad_(False)
    assert saved(layer, x) == []
    shapes = {tuple(tensor.shape) for tensor in saved(layer, x.requires_grad_())}
    assert shapes <= {(4, 6), ()}, "the weight alone, for x"


def test_a_row_of_noughts_gives_the_bias_and_no_gradient() -> None:
    layer = SwitchBackLinear(6, 4)
    x = torch.zeros(2, 6, requires_grad=True)
    y = layer(x)
    assert torch.equal(y, layer.bias.expand(2, 4))
    y.backward(torch.zeros(2, 4))
    assert x.grad is not None
    assert not x.grad.any()


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_what_is_not_finite_does_not_get_lost(bad: float) -> None:
    """A gradient scaler looks for it."""
    layer = SwitchBackLinear(6, 4)
    x = torch.randn(2, 6, requires_grad=True)
    spoilt = x.detach().clone()
    spoilt[0, 1] = bad
    assert layer(spoilt).isfinite().all(1).tolist() == [False, True]
    grad = torch.randn(2, 4)
    grad[1, 0] = bad
    layer(x).backward(grad)
    assert x.grad is not None
    assert x.grad.isfinite().all(1).tolist() == [True, False]


def test_training_comes_down_as_the_plain_layer_does() -> None:
    torch.manual_seed(0)
    truth = nn.Linear(24, 8)
    x = torch.randn(64, 24)
    target = truth(x).detach()
    start = nn.Linear(24, 8)
    losses = []
    for layer in (copy.deepcopy(start), SwitchBackLinear.from_linear(copy.deepcopy(start))):
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
        for _ in range(150):
            optimizer.zero_grad()
            nn.functional.mse_loss(layer(x), target).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        losses.append(nn.functional.mse_loss(layer(x), target).item())
    first = nn.functional.mse_loss(start(x), target).item()
    assert losses[0] < 1e-3 * first
    assert losses[1] < 2e-3 * first, "down to the codes' own noise"


@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
@pytest.mark.parametrize("bias", [True, False])
def test_from_and_to_linear_share_the_parameters(
    quantization: Quantization, memory_efficient: bool, bias: bool
) -> None:
    linear = nn.Linear(6, 4, bias=bias, dtype=torch.bfloat16).eval()
    layer = SwitchBackLinear.from_linear(linear, quantization, memory_efficient)
    assert (layer.quantization, layer.memory_efficient) == (quantization, memory_efficient)
    assert layer.weight is linear.weight
    assert layer.bias is linear.bias
    assert not layer.training
    back = layer.train().to_linear()
    assert type(back) is nn.Linear
    assert back.training
    assert back.weight is linear.weight
    assert back.bias is linear.bias


def test_state_is_that_of_a_linear_layer() -> None:
    layer, linear = SwitchBackLinear(6, 4), nn.Linear(6, 4)
    layer.load_state_dict(linear.state_dict())
    linear.load_state_dict(layer.prepare_for_eval().state_dict())
    assert torch.equal(layer.weight, linear.weight)


@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
def test_prepared_layers_compute_the_same_until_they_train(
    quantization: Quantization, memory_efficient: bool
) -> None:
    torch.manual_seed(0)
    layer = SwitchBackLinear(6, 4, True, quantization, memory_efficient)
    x = torch.randn(3, 6, requires_grad=True)
    before = layer(x)
    layer.prepare_for_eval()
    assert not layer.training
    assert torch.equal(layer(x), before)
    assert torch.equal(copy.deepcopy(layer)(x), before)
    layer(x).sum().backward()
    assert x.grad is not None
    with torch.no_grad():
        layer.weight.neg_()
    assert torch.equal(layer(x), before), "the codes are kept"
    layer.train()
    assert not torch.equal(layer(x), before), "the codes are gone"


def test_prepared_codes_follow_a_cast_and_a_load() -> None:
    torch.manual_seed(0)
    layer = SwitchBackLinear(6, 4).prepare_for_eval()
    layer.to(torch.float64)
    assert layer.weight_scale is not None
    assert layer.weight_scale.dtype == torch.float64
    layer.half()
    assert layer.weight_scale.dtype == torch.float32
    other = SwitchBackLinear(6, 4, dtype=torch.float16)
    layer.load_state_dict(other.state_dict())
    x = torch.randn(3, 6, dtype=torch.float16)
    assert torch.equal(layer(x), other(x))


@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch itself
def test_compiled_layers_compute_the_same(
    quantization: Quantization, memory_efficient: bool, backend: str
) -> None:
    torch.manual_seed(0)
    layer = SwitchBackLinear(12, 5, True, quantization, memory_efficient)
    twin = copy.deepcopy(layer)
    compiled: Any = torch.compile(twin, backend=backend, fullgraph=True)
    x = torch.randn(4, 12, requires_grad=True)
    same = x.detach().clone().requires_grad_()
    plain, ours = layer(x), compiled(same)
    torch.testing.assert_close(ours, plain)
    plain.square().sum().backward()
    ours.square().sum().backward()
    torch.testing.assert_close(same.grad, x.grad)
    for one, other in zip(twin.parameters(), layer.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_copies_and_stored_layers_compute_the_same() -> None:
    layer = SwitchBackLinear(12, 5, quantization="global")
    x = torch.randn(4, 12)
    for prepared in (layer, copy.deepcopy(layer).prepare_for_eval()):
        assert torch.equal(pickle.loads(pickle.dumps(prepared))(x), layer(x))
        assert torch.equal(copy.deepcopy(prepared)(x), layer(x))


@pytest.mark.parametrize(("quantization", "memory_efficient"), KINDS)
def test_autocast_narrows_the_output_as_it_does_of_a_linear_layer(
    quantization: Quantization, memory_efficient: bool
) -> None:
    torch.manual_seed(0)
    layer = SwitchBackLinear(12, 5, True, quantization, memory_efficient)
    x = torch.randn(4, 12, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32
    assert x.grad is not None
    assert largest_error(y, layer(x).detach()) <= 2 * TOLERANCES[torch.bfloat16]


def test_autocast_leaves_float64_alone_as_it_does_of_a_linear_layer() -> None:
    layer = SwitchBackLinear(12, 5, dtype=torch.float64)
    x = torch.randn(4, 12, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(x), layer.eval()(x))
        assert layer(x).dtype is layer.to_linear()(x).dtype is torch.float64


def test_strides_do_not_matter() -> None:
    layer = SwitchBackLinear(6, 5)
    x = torch.randn(6, 2, 4).permute(2, 1, 0)
    assert torch.equal(layer(x), layer(x.contiguous()))
    x = torch.randn(1, 6).expand(3, 6).requires_grad_()
    layer(x).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad[0], x.grad[2])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="'vector' or 'global', got 'row'"):
        SwitchBackLinear(6, 4, quantization="row")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'global' with memory_efficient, got 'vector'"):
        SwitchBackLinear(6, 4, memory_efficient=True)
    layer = SwitchBackLinear(6, 4)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 6\), got \(3, 5\)"):
        layer(torch.randn(3, 5))
    with pytest.raises(ValueError, match=r"torch.float32, the layer's own, got torch.float16"):
        layer(torch.randn(3, 6, dtype=torch.float16))
    with pytest.raises(ValueError, match="an input on meta, as the layer is, got one on cpu"):
        SwitchBackLinear(6, 4, device="meta")(torch.randn(3, 6))
    with pytest.raises(ValueError, match="prepared codes are int8, and this layer has precision='fp8'"):
        SwitchBackLinear(6, 4, precision="fp8").prepare_for_eval()


def test_what_it_says_of_itself() -> None:
    text = repr(SwitchBackLinear(6, 4, quantization="global", memory_efficient=True))
    assert "in_features=6, out_features=4, bias=True" in text
    assert "quantization='global', memory_efficient=True" in text
