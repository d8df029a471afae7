"""SwitchBackLinear by kernels: the definition's numbers, and a layer like any other."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.kernels.switchback import Layer, Way, possible_ways
from stepmark.zoo.switchback import TOLERANCES, SwitchBackLinear
from stepmark.zoo.switchback_reference import backward_reference, forward_reference
from stepmark.zoo.switchback_steps import Quantization
from tests.zoo.agreement import largest_error
from tests.zoo.kernels.switchback_cases import KINDS, both_passes, layer_of

few = settings(max_examples=10)
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
FP8_ERRORS = {"cuda": 0.08, "cpu": 0.2}
"""Of the largest output, against the layer without quantisation: codes with three bits behind the point. The
interpreter halves a value now and then (test_quantize_kernels.py)."""


def by_definition(layer: SwitchBackLinear, x: Tensor, grad: Tensor) -> list[Tensor]:
    x, grad, weight, bias = (one.detach().cpu() for one in (x, grad, layer.weight, layer.bias))
    gradients = backward_reference(
        grad, x, weight, quantization=layer.quantization, memory_efficient=layer.memory_efficient
    )
    return [forward_reference(x, weight, bias, quantization=layer.quantization), *gradients]


sides = st.sampled_from([1, 16, 40, 83])


@few
@given(sides, sides, st.sampled_from([1, 20]), st.sampled_from(KINDS), st.sampled_from(DTYPES))
def test_values_and_gradients_are_the_definitions(
    device: str, n: int, o: int, rows: int, kind: tuple[Quantization, bool], dtype: torch.dtype
) -> None:
    torch.manual_seed(n)
    layer = layer_of(n, o, kind, device=device, dtype=dtype)
    x, grad = torch.randn(rows, n, device=device).to(dtype), torch.randn(rows, o, device=device).to(dtype)
    x[0] = 0.0
    found = both_passes(layer, x, grad)
    for one, truth in zip(found, by_definition(layer, x, grad), strict=True):
        assert largest_error(one, truth, least=1.0) <= TOLERANCES[dtype]


@pytest.mark.parametrize("kind", KINDS)
def test_the_published_odd_size(device: str, kind: tuple[Quantization, bool]) -> None:
    torch.manual_seed(0)
    layer = layer_of(83, 332, kind, device=device, dtype=torch.float16)
    x = torch.randn(13, 83, device=device, dtype=torch.float16)
    grad = torch.randn(13, 332, device=device, dtype=torch.float16)
    for one, truth in zip(both_passes(layer, x, grad), by_definition(layer, x, grad), strict=True):
        assert largest_error(one, truth) <= TOLERANCES[torch.float16]


@pytest.mark.parametrize("kind", KINDS)
def test_fp8_is_near_the_plain_layer(device: str, kind: tuple[Quantization, bool]) -> None:
    torch.manual_seed(0)
    layer = layer_of(48, 32, kind, device=device, precision="fp8")
    x, grad = torch.randn(20, 48, device=device), torch.randn(20, 32, device=device)
    truth = both_passes(layer.to_linear(), x, grad)
    for one, wanted in zip(both_passes(layer, x, grad), truth, strict=True):
        assert largest_error(one, wanted) <= FP8_ERRORS[device]


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_asks_for_a_gradient_gets_one(device: str, kind: tuple[Quantization, bool]) -> None:
    torch.manual_seed(0)
    layer = layer_of(16, 8, kind, device=device)
    x = torch.randn(3, 16, device=device, requires_grad=True)
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


def test_memory_efficient_keeps_codes_and_nothing_else(device: str) -> None:
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    x = torch.randn(10, 16, device=device, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        layer_of(16, 4, ("global", True), device=device)(x)
    found = [(tensor.dtype, tuple(tensor.shape)) for tensor in kept]
    codes, numbers = torch.int8, torch.float32
    assert found == [(codes, (10, 16)), (numbers, (10,)), (codes, (16, 4)), (numbers, ())]


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered:RuntimeWarning")  # NumPy
def test_what_is_not_finite_does_not_get_lost(device: str, bad: float) -> None:
    layer = layer_of(6, 4, ("vector", False), device=device)
    x = torch.randn(2, 6, device=device)
    x[0, 1] = bad
    assert layer(x).isfinite().all(1).tolist() == [False, True]


def test_prepared_codes_are_used_and_float64_is_computed_plainly(device: str) -> None:
    layer = layer_of(6, 4, ("vector", False), device=device)
    x = torch.randn(3, 6, device=device)
    before = layer(x)
    torch.testing.assert_close(layer.prepare_for_eval()(x), before)
    torch.testing.assert_close(layer.train().double()(x.double()).float(), before)


def test_ways_follow_from_the_precision(device: str) -> None:
    x = torch.empty(1, device=device)
    auto = Layer("auto", True, False, True)
    assert [*possible_ways(auto, x)] == ["int8", "fp8"]
    assert possible_ways(auto._replace(precision="fp8"), x) == {"fp8": Way("fp8", True, False, True)}
    assert Layer.from_word(auto.in_a_word()) == auto


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_a_captured_layer_follows_its_weight(kind: tuple[Quantization, bool]) -> None:
    """Replays quantise the weight as it is then, codes kept or not."""
    torch.manual_seed(0)
    layer = layer_of(64, 48, kind, device="cuda", dtype=torch.float16, keep_codes=True)
    x, grad = torch.randn(32, 64, device="cuda").half(), torch.randn(32, 48, device="cuda").half()
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(side):
        for _ in range(3):
            both_passes(layer, x, grad)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    layer.zero_grad()
    leaf = x.clone().requires_grad_()
    with torch.cuda.graph(graph):
        y = layer(leaf)
        y.backward(grad)
    with torch.no_grad():
        layer.weight.mul_(2.0)
    graph.replay()
    torch.cuda.synchronize()
    found = [y.detach().clone(), leaf.grad.clone() if leaf.grad is not None else x]
    for one, wanted in zip(found, both_passes(layer, x, grad)[:2], strict=True):
        torch.testing.assert_close(one, wanted)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="'int8', 'fp8' or 'auto', got 'int4'"):
        SwitchBackLinear(6, 4, precision="int4")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="backend 'auto', 'triton' or 'torch', got 'cuda'"):
        SwitchBackLinear(6, 4, backend="cuda")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"precision='fp8' needs a GPU and 16 or 32 bits"):
        SwitchBackLinear(6, 4, precision="fp8", backend="torch")(torch.randn(2, 6))
