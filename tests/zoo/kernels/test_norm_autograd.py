"""Norms by Triton as users call them: all kinds of rows, layouts and dtypes; second derivatives; compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from stepmark.zoo.norms import (
    TOLERANCES,
    LayerNorm,
    RMSNorm,
    layer_norm,
    layer_norm_reference,
    rms_norm,
    rms_norm_reference,
)
from tests.zoo.kernels.rows import KINDS, assert_near, drawn
from tests.zoo.kernels.thinning import covering

HALVES = (torch.bfloat16, torch.float16)
NORMS = [(rms_norm, rms_norm_reference), (layer_norm, layer_norm_reference)]
EPS = 1e-5


def compare(
    function: Callable[..., Tensor], reference: Callable[..., Tensor], given: list[Tensor], g: Tensor
) -> None:
    """Outputs and all gradients. Errors of a mean are relative to it, and count beside the deviations."""
    x = given[0]
    wide = [one.detach().double().requires_grad_() for one in given]
    y, right = function(*given, eps=EPS, backend="triton"), reference(*wide, eps=EPS)
    assert y.dtype == x.dtype
    assert y.shape == x.shape
    rows = wide[0].detach()
    if reference is layer_norm_reference:
        scale = (rows.var(-1, correction=0) + EPS).sqrt()
        condition = float(((rows.mean(-1).abs() + scale) / scale).max())
    else:
        scale, condition = (rows.square().mean(-1) + EPS).sqrt(), 1.0
    assert_near(y, right, TOLERANCES[x.dtype] * condition)
    found = torch.autograd.grad(y, given, g)
    correct = torch.autograd.grad(right, wide, g.double())
    for index, (one, other, source) in enumerate(zip(found, correct, given, strict=True)):
        assert one.dtype == source.dtype
        beside = float(g.abs().max()) * (float((1 / scale).max()) if index == 0 else 1.0)
        assert_near(one, other, TOLERANCES[source.dtype] * condition, beside=beside)


@pytest.mark.parametrize(("function", "reference"), NORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_all_kinds_of_rows(
    device: str,
    function: Callable[..., Tensor],
    reference: Callable[..., Tensor],
    kind: str,
    dtype: torch.dtype,
) -> None:
    x = drawn(5, 48, dtype=dtype, device=device, kind=kind)
    weight = drawn(48, dtype=dtype, device=device, seed=1)
    g = drawn(5, 48, dtype=dtype, device=device, seed=2).detach()
    compare(function, reference, [x, weight], g)


@pytest.mark.parametrize(("function", "reference"), NORMS)
@pytest.mark.parametrize(
    ("width", "dtype"), covering([1, 7, 768, 1600, 5000], [torch.float32, torch.bfloat16])
)
def test_widths(
    device: str,
    function: Callable[..., Tensor],
    reference: Callable[..., Tensor],
    width: int,
    dtype: torch.dtype,
) -> None:
    x = drawn(3, width, dtype=dtype, device=device)
    vectors = [drawn(width, dtype=dtype, device=device, seed=seed) for seed in (1, 2)]
    number = 1 if function is rms_norm else 2
    g = drawn(3, width, dtype=dtype, device=device, seed=3).detach()
    compare(function, reference, [x, *vectors[:number]], g)


@pytest.mark.parametrize(("function", "reference"), NORMS)
def test_layouts_that_are_not_contiguous(
    device: str, function: Callable[..., Tensor], reference: Callable[..., Tensor]
) -> None:
    x = drawn(6, 4, 9, dtype=torch.float32, device=device).detach().transpose(0, 2).requires_grad_()
    weight = drawn(12, dtype=torch.float32, device=device, seed=1).detach()[::2].requires_grad_()
    g = drawn(6, dtype=torch.float32, device=device, seed=2).detach().expand(9, 4, 6)
    compare(function, reference, [x, weight], g)
    unaligned = drawn(1 + 4 * 16, dtype=torch.bfloat16, device=device).detach()[1:].view(4, 16)
    compare(function, reference, [unaligned.requires_grad_()], torch.ones_like(unaligned))


@pytest.mark.parametrize(("function", "reference"), NORMS)
def test_a_wide_weight_beside_half_rows(
    device: str, function: Callable[..., Tensor], reference: Callable[..., Tensor]
) -> None:
    x = drawn(4, 32, dtype=torch.bfloat16, device=device)
    weight = drawn(32, dtype=torch.float32, device=device, seed=1)
    g = drawn(4, 32, dtype=torch.bfloat16, device=device, seed=2).detach()
    y = function(x, weight, backend="triton")
    right = reference(x, weight)
    assert_near(y, right, TOLERANCES[torch.bfloat16])
    found, correct = (torch.autograd.grad(one, [x, weight], g) for one in (y, right))
    assert found[1].dtype == torch.float32
    assert_near(found[0], correct[0], TOLERANCES[torch.bfloat16])
    assert_near(found[1], correct[1], 1e-5)


@pytest.mark.parametrize("frozen", [(True, False, False), (False, True, True), (False, False, True)])
def test_only_what_is_wanted(device: str, frozen: tuple[bool, bool, bool]) -> None:
    given = [drawn(*shape, dtype=torch.float32, device=device) for shape in ((5, 12), (12,), (12,))]
    for one, still in zip(given, frozen, strict=True):
        one.requires_grad_(not still)
    found, right = (layer_norm(*given, backend=backend) for backend in ("triton", "torch"))
    wanted = [one for one in given if one.requires_grad]
    g = torch.randn_like(found)
    for one, other in zip(*(torch.autograd.grad(y, wanted, g) for y in (found, right)), strict=True):
        assert_near(one, other, 1e-5)


@pytest.mark.parametrize("function", [rms_norm, layer_norm])
def test_no_rows(device: str, function: Callable[..., Tensor]) -> None:
    x = drawn(2, 0, 8, dtype=torch.float32, device=device)
    weight = drawn(8, dtype=torch.float32, device=device)
    y = function(x, weight, backend="triton")
    assert y.shape == (2, 0, 8)
    gradients = torch.autograd.grad(y, [x, weight], torch.ones_like(y))
    assert gradients[0].shape == (2, 0, 8)
    assert gradients[1].tolist() == [0.0] * 8


@pytest.mark.parametrize(("function", "reference"), NORMS)
def test_second_derivatives(
    device: str, function: Callable[..., Tensor], reference: Callable[..., Tensor]
) -> None:
    """Of the sum of the squares of all first ones."""
    x, weight = (drawn(*shape, dtype=torch.float32, device=device) for shape in ((3, 6), (6,)))
    found = []
    for one in (partial(function, backend="triton"), reference):
        first = torch.autograd.grad(one(x, weight).square().sum(), [x, weight], create_graph=True)
        penalty = sum(gradient.square().sum() for gradient in first)
        assert isinstance(penalty, Tensor)
        found.append(torch.autograd.grad(penalty, [x, weight]))
    for one, other in zip(*found, strict=True):
        assert_near(one, other, 1e-4)


@pytest.mark.parametrize("make", [RMSNorm, LayerNorm])
def test_compiled_it_is_the_same(device: str, make: type[RMSNorm | LayerNorm]) -> None:
    torch.compiler.reset()
    module = make(12, device=device, backend="triton")
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    x, g = (drawn(2, 3, 12, dtype=torch.float32, device=device, seed=seed) for seed in (0, 1))
    given = [x, *module.parameters()]
    found, right = compiled(x), module(x)
    assert_near(found, right, 1e-6)
    gradients = (torch.autograd.grad(y, given, g) for y in (found, right))
    for one, other in zip(*gradients, strict=True):
        assert_near(one, other, 1e-6)


@pytest.mark.parametrize("function", [rms_norm, layer_norm])
def test_what_the_kernel_refuses(device: str, function: Callable[..., Tensor]) -> None:
    with pytest.raises(ValueError, match=r"backend='triton' cannot be used: .* a tensor is torch.float64"):
        function(torch.ones(2, 3, dtype=torch.float64, device=device), backend="triton")
    with pytest.raises(ValueError, match="a row of 20000 entries; the kernel takes up to 16384"):
        function(torch.ones(1, 20000, device=device), backend="triton")
    with pytest.raises(ValueError, match="expected backend 'auto', 'triton' or 'torch', got 'cuda'"):
        function(torch.ones(2, 3), backend="cuda")
