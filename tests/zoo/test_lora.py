"""LoRA layers: outputs and every gradient against the reference, merging, state, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from stepmark.zoo.lora import TOLERANCES, LoRAAdapter, LoRALinear, cheaper_order
from stepmark.zoo.lora_reference import (
    lora_adapter_reference,
    lora_gradients_reference,
    lora_linear_reference,
)
from tests.support.properties import steady

DTYPES = list(TOLERANCES)
sizes = st.integers(1, 17)
ranks = st.integers(1, 9)
leading = st.lists(st.integers(0, 4), max_size=3).map(tuple)
PRODUCT: dict[str, Any] = {"in_features": 4, "out_features": 3, "rank": 8}
"""Sizes at which (A B) is cheaper from a few tokens on, in training and alone as well."""


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


FEW = 16


def close(found: Tensor | None, expected: Tensor, dtype: torch.dtype) -> None:
    """A handful of sums of numbers of size 1 may all cancel to nothing; their rounding does not."""
    assert found is not None
    assert found.dtype == dtype
    least = 1.0 if expected.numel() < FEW else 0.0
    largest = max(least, float(expected.abs().max())) if expected.numel() else 0.0
    torch.testing.assert_close(found.double(), expected, rtol=0.0, atol=TOLERANCES[dtype] * largest)


def check_against_reference(layer: LoRALinear | LoRAAdapter, x: Tensor, dtype: torch.dtype) -> None:
    """Output and gradients of the layer against float64 on the same values."""
    adapter = layer if isinstance(layer, LoRAAdapter) else layer.adapter
    y = layer(x)
    g = torch.randn_like(y)
    y.backward(g)
    wide = [one.detach().double() for one in (x, adapter.A, adapter.B)]
    if isinstance(layer, LoRAAdapter):
        weight = None
        expected = lora_adapter_reference(*wide, scale=adapter.scale)
    else:
        weight = layer.base.weight.double()
        bias = None if layer.base.bias is None else layer.base.bias.double()
        expected = lora_linear_reference(wide[0], weight, bias, *wide[1:], scale=adapter.scale)
        assert layer.base.weight.grad is None
        assert layer.base.bias is None or layer.base.bias.grad is None
    gradients = lora_gradients_reference(g.double(), wide[0], weight, *wide[1:], scale=adapter.scale)
    close(y.detach(), expected, dtype)
    close(x.grad, gradients.x, dtype)
    close(adapter.A.grad, gradients.a, dtype)
    close(adapter.B.grad, gradients.b, dtype)


@steady
@given(leading, sizes, sizes, ranks, st.booleans(), st.sampled_from(DTYPES))
def test_the_layer_is_the_reference(
    lead: tuple[int, ...], inputs: int, outputs: int, rank: int, bias: bool, dtype: torch.dtype
) -> None:
    layer = LoRALinear(
        in_features=inputs, out_features=outputs, rank=rank, zero_b=False, bias=bias, dtype=dtype
    )
    x = torch.randn(*lead, inputs, dtype=dtype, requires_grad=True)
    check_against_reference(layer, x, dtype)


@steady
@given(leading, sizes, sizes, ranks, st.sampled_from(DTYPES))
def test_the_adapter_is_the_reference(
    lead: tuple[int, ...], inputs: int, outputs: int, rank: int, dtype: torch.dtype
) -> None:
    adapter = LoRAAdapter(inputs, outputs, rank, alpha=3.0, zero_b=False, dtype=dtype)
    check_against_reference(adapter, torch.randn(*lead, inputs, dtype=dtype, requires_grad=True), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", [LoRALinear, LoRAAdapter])
def test_both_orders_are_the_reference(kind: type[LoRALinear | LoRAAdapter], dtype: torch.dtype) -> None:
    layer = kind(**PRODUCT, zero_b=False, dtype=dtype)
    for tokens, order in ((1, "factored"), (200, "product")):
        base = kind is LoRALinear
        assert cheaper_order(tokens, **PRODUCT, base=base, training=True) == order
        layer.zero_grad()
        check_against_reference(layer, torch.randn(tokens, 4, dtype=dtype, requires_grad=True), dtype)


def test_without_gradients_the_order_changes_and_the_output_does_not() -> None:
    layer = LoRALinear(in_features=16, out_features=16, rank=2, zero_b=False, dtype=torch.float64)
    x = torch.randn(64, 16, dtype=torch.float64)
    assert cheaper_order(64, 16, 16, 2, base=True, training=True) == "factored"
    assert cheaper_order(64, 16, 16, 2, base=True, training=False) == "product"
    expected = layer(x)
    with torch.no_grad():
        torch.testing.assert_close(layer(x), expected.detach(), rtol=1e-12, atol=1e-12)


def multiply_adds(layer: nn.Module, x: Tensor) -> int:
    """As torch counts them, forward and, where there is a graph, backward; it knows addmm but not addmm_."""

    def in_place(_: torch.Size, left: torch.Size, right: torch.Size, **_kwargs: Any) -> int:
        return 2 * left[0] * left[1] * right[1]

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: in_place}) as counter:
        y = layer(x)
        if y.requires_grad:
            y.sum().backward()
    return int(counter.get_total_flops()) // 2


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize(("inputs", "outputs", "rank", "tokens"), [
    (32, 24, 4, 5), (32, 24, 4, 500), (8, 6, 16, 5), (8, 6, 16, 500), (32, 24, 12, 100),
])  # fmt: skip
def test_the_chosen_order_costs_what_the_formula_says_and_never_more_than_the_other(
    base: bool, training: bool, inputs: int, outputs: int, rank: int, tokens: int
) -> None:
    layer: nn.Module = LoRAAdapter(inputs, outputs, rank, zero_b=False)
    if base:
        layer = LoRALinear(in_features=inputs, out_features=outputs, rank=rank, zero_b=False)
    x = torch.randn(tokens, inputs, requires_grad=True)
    with torch.set_grad_enabled(training):
        found = multiply_adds(layer, x)
    passes = 3 if training else 1
    thin, dense = tokens * (inputs + outputs), inputs * outputs
    shared = tokens * dense * (2 if training else 1) if base else 0
    factored = passes * rank * thin
    extra = tokens * dense * (passes if not base else int(training))
    product = passes * rank * dense + extra
    assert found == shared + min(factored, product)


def test_half_precision_is_always_factored() -> None:
    adapter = LoRAAdapter(4, 3, 8, dtype=torch.bfloat16)
    assert adapter.order(torch.zeros(500, 4, dtype=torch.bfloat16), base=True) == "factored"
    assert adapter.float().order(torch.zeros(500, 4), base=True) == "product"


@pytest.mark.parametrize("kind", [LoRALinear, LoRAAdapter])
@pytest.mark.parametrize("tokens", [2, 50])
def test_gradcheck(kind: type[LoRALinear | LoRAAdapter], tokens: int) -> None:
    layer = kind(in_features=4, out_features=3, rank=8, zero_b=False, dtype=torch.float64)
    x = torch.randn(tokens, 4, dtype=torch.float64, requires_grad=True)
    trained = {name: one for name, one in layer.named_parameters() if one.requires_grad}

    def call(x: Tensor, *values: Tensor) -> Tensor:
        result: Tensor = torch.func.functional_call(layer, dict(zip(trained, values, strict=True)), (x,))
        return result

    assert torch.autograd.gradcheck(call, (x, *trained.values()), fast_mode=True)


def test_a_new_layer_is_its_base() -> None:
    base = nn.Linear(6, 5)
    x = torch.randn(3, 6)
    expected = base(x)
    layer = LoRALinear(base)
    torch.testing.assert_close(layer(x), expected, rtol=0.0, atol=0.0)
    assert layer.adapter.B.count_nonzero() == 0
    assert {name for name, one in layer.named_parameters() if one.requires_grad} == {"adapter.A", "adapter.B"}


def test_a_and_b_start_as_documented() -> None:
    adapter = LoRAAdapter(2000, 2000, rank=16, zero_b=False)
    for factor in (adapter.A, adapter.B):
        assert factor.std().item() == pytest.approx(0.25, rel=0.03)
        assert factor.mean().abs().item() < 0.01
    before = adapter.A.detach().clone()
    adapter.reset_parameters()
    assert not torch.equal(adapter.A, before)


def test_dropout_scales_what_the_adapter_sees_and_the_base_sees_all() -> None:
    layer = LoRALinear(in_features=4, out_features=4, rank=2, dropout=0.5, zero_b=False, dtype=torch.float64)
    x = torch.ones(4000, 4, dtype=torch.float64)
    torch.manual_seed(1)
    dropped = layer(x)
    torch.manual_seed(1)
    seen = nn.functional.dropout(x, 0.5)
    adapter = layer.adapter
    expected = layer.base(x) + lora_adapter_reference(seen, adapter.A, adapter.B, scale=adapter.scale)
    torch.testing.assert_close(dropped, expected)
    torch.testing.assert_close(dropped.mean(0), layer.eval()(x).mean(0), rtol=0.1, atol=0.5)
    assert torch.equal(layer(x), layer(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_merging_is_the_same_function_and_can_be_undone(dtype: torch.dtype) -> None:
    layer = LoRALinear(in_features=12, out_features=9, rank=3, zero_b=False, dtype=dtype)
    x = torch.randn(5, 12, dtype=dtype)
    weight, expected = layer.base.weight.detach().clone(), layer(x).detach()
    layer.merge()
    close(layer(x).detach(), expected.double(), dtype)
    layer.unmerge()
    largest = float(layer.adapter.delta().detach().abs().max() + weight.abs().max())
    difference = (layer.base.weight.detach().double() - weight.double()).abs().max()
    assert float(difference) <= TOLERANCES[dtype] * largest


def test_merging_twice_and_taking_out_nothing_are_refused() -> None:
    layer = LoRALinear(in_features=3, out_features=3, rank=1)
    with pytest.raises(ValueError, match="nothing to take out"):
        layer.unmerge()
    layer.merge()
    with pytest.raises(ValueError, match="merged already"):
        layer.merge()


def test_a_merged_layer_trains_nothing() -> None:
    layer = LoRALinear(in_features=3, out_features=3, rank=1)
    layer.merge()
    x = torch.randn(2, 3, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    assert all(parameter.grad is None for parameter in layer.parameters())


@pytest.mark.parametrize("merged", [False, True])
def test_the_state_makes_a_round_trip(merged: bool) -> None:
    layer = LoRALinear(in_features=5, out_features=4, rank=2, zero_b=False)
    if merged:
        layer.merge()
    other = LoRALinear(in_features=5, out_features=4, rank=2)
    other.load_state_dict(layer.state_dict())
    x = torch.randn(3, 5)
    assert other.merged is merged
    assert torch.equal(other(x), layer(x))
    assert all(isinstance(value, Tensor) for value in layer.state_dict().values())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
@pytest.mark.parametrize("layer", [
    LoRALinear(in_features=5, out_features=4, rank=2, zero_b=False), LoRAAdapter(5, 4, 2, zero_b=False),
])  # fmt: skip
def test_a_copy_is_the_same_and_its_own(copied: object, layer: nn.Module) -> None:
    assert callable(copied)
    other = copied(layer)
    x = torch.randn(3, 5)
    assert torch.equal(other(x), layer(x))
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    assert not torch.equal(other(x), layer(x))


@pytest.mark.parametrize("kind", [LoRALinear, LoRAAdapter])
@pytest.mark.parametrize("tokens", [3, 200])
def test_compiled_it_is_the_same_without_a_break(kind: type[LoRALinear | LoRAAdapter], tokens: int) -> None:
    layer = kind(**PRODUCT, zero_b=False)
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    check_against_reference(layer, torch.randn(tokens, 4, requires_grad=True), torch.float32)
    x = torch.randn(tokens, 4, requires_grad=True)
    y = compiled(x)
    torch.testing.assert_close(y, layer(x))
    adapter = layer.adapter if isinstance(layer, LoRALinear) else layer
    for found, expected in zip(
        torch.autograd.grad(y.sum(), (x, adapter.A, adapter.B)),
        torch.autograd.grad(layer(x).sum(), (x, adapter.A, adapter.B)),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [LoRALinear, LoRAAdapter])
def test_autocast_computes_in_half_and_keeps_gradients_in_float32(
    kind: type[LoRALinear | LoRAAdapter],
) -> None:
    layer = kind(in_features=12, out_features=9, rank=3, zero_b=False)
    x = torch.randn(5, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    adapter = layer.adapter if isinstance(layer, LoRALinear) else layer
    assert adapter.A.grad is not None
    assert adapter.A.grad.dtype == torch.float32
    close(y.detach(), layer(x).detach().double(), torch.bfloat16)


@pytest.mark.parametrize("layer", [LoRALinear(in_features=5, out_features=4), LoRAAdapter(5, 4)])
def test_a_wrong_input_is_named(layer: nn.Module) -> None:
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 5\), got \(2, 6\)"):
        layer(torch.randn(2, 6))
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 5\), got \(\)"):
        layer(torch.tensor(1.0))
    with pytest.raises(ValueError, match=r"expected torch\.float32, as the layer has, got torch\.float64"):
        layer(torch.randn(2, 5, dtype=torch.float64))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "rank must be at least 1, got 0"),
        ({"alpha": float("nan")}, "alpha must be a finite number"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LoRAAdapter(5, 4, **settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        LoRALinear(nn.Linear(5, 4), **settings)  # type: ignore[arg-type]


def test_a_base_that_contradicts_the_rest_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a base, or in_features and out_features"):
        LoRALinear(in_features=4)
    with pytest.raises(ValueError, match="the base maps 5 features to 4, not 6 to 4"):
        LoRALinear(nn.Linear(5, 4), in_features=6)
    with pytest.raises(ValueError, match="brings its own device and dtype"):
        LoRALinear(nn.Linear(5, 4), dtype=torch.float64)
