"""Products of int8 codes: exact sums by every route, and scales applied to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo import int8
from stepmark.zoo.int8 import (
    EXACT_IN_INT32,
    float_product,
    int8_linear_global,
    int8_linear_rowwise,
    int8_product,
)
from tests.support.properties import steady
from tests.zoo.agreement import DEVICES, largest_error

Product = Callable[[Tensor, Tensor], Tensor]
ROUNDING = {torch.float64: 1e-15, torch.float32: 4e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""One rounding to the dtype, after a few in float32."""


def codes(*shape: int, seed: int, extreme: bool = False) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(-128, 128, shape, generator=generator)
    return (torch.where(drawn < 0, -128, 127) if extreme else drawn).to(torch.int8)


def exact(x8: Tensor, w8: Tensor) -> Tensor:
    return (x8.long() @ w8.long().t()).int()


shapes = st.tuples(*[st.integers(0, 40)] * 3)


@steady
@given(shapes, st.integers(0, 2**31), st.booleans(), st.booleans())
def test_sums_are_exact(shape: tuple[int, int, int], seed: int, extreme: bool, turned: bool) -> None:
    m, k, n = shape
    x8 = codes(m, k, seed=seed, extreme=extreme)
    w8 = codes(k, n, seed=seed + 1, extreme=extreme).t() if turned else codes(n, k, seed=seed + 1)
    found = int8_product(x8, w8)
    assert found.dtype == torch.int32
    assert torch.equal(found, exact(x8, w8))


@pytest.mark.parametrize("product", [int8_product, float_product, int8._padded_product])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 1, 1),
        (1, 83, 332),
        (13, 332, 83),
        (17, 8, 8),
        (3, 1024, 5),
        (3, 1025, 5),
        (2, 5000, 9),
        (40, 64, 72),
    ],
)
def test_every_route_is_exact_with_the_largest_codes(product: Product, m: int, k: int, n: int) -> None:
    for extreme in (False, True):
        x8, w8 = codes(m, k, seed=m, extreme=extreme), codes(n, k, seed=n, extreme=extreme)
        assert torch.equal(product(x8, w8), exact(x8, w8))
        assert torch.equal(product(x8, x8), exact(x8, x8))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 83, 332), (13, 332, 83), (32, 64, 48)])
def test_sums_are_exact_on_every_device(device: str, m: int, k: int, n: int) -> None:
    x8, w8 = codes(m, k, seed=0), codes(n, k, seed=1)
    assert torch.equal(int8_product(x8.to(device), w8.to(device)).cpu(), exact(x8, w8))
    turned = w8.t().contiguous().to(device).t()
    assert torch.equal(int8_product(x8.to(device), turned).cpu(), exact(x8, w8))


@pytest.mark.parametrize("repeated", ["row", "column", "both"])
def test_strides_do_not_matter(repeated: str) -> None:
    """Dimensions of one element with a stride of nought have gone wrong in torch (pytorch/pytorch#195066)."""
    x8, w8 = codes(1, 6, seed=0), codes(1, 6, seed=1)
    if repeated in ("row", "both"):
        x8 = x8[0].expand(1, 6)
    if repeated in ("column", "both"):
        w8 = w8[:, :1].expand(1, 6)
    assert torch.equal(int8_product(x8, w8), exact(x8, w8))
    assert torch.equal(int8_product(x8.expand(5, 6), w8.expand(3, 6)), exact(x8, w8).expand(5, 3))
    assert torch.equal(int8_product(x8[:, ::2], w8[:, ::2]), exact(x8[:, ::2], w8[:, ::2]))


def by_definition(x8: Tensor, w8: Tensor, x_scale: Tensor, w_scale: Tensor, bias: Tensor | None) -> Tensor:
    sums = x8.double() @ w8.double().t()
    y = x_scale.double().unsqueeze(-1) * w_scale.double() / 127.0**2 * sums
    return y if bias is None else y + bias.double()


@steady
@given(
    shapes.filter(lambda shape: shape[1] > 0),
    st.integers(0, 2**31),
    st.sampled_from(list(ROUNDING)),
    st.booleans(),
    st.booleans(),
)
def test_scales_and_bias_are_applied_to_the_sums(
    shape: tuple[int, int, int], seed: int, dtype: torch.dtype, with_bias: bool, whole: bool
) -> None:
    m, k, n = shape
    torch.manual_seed(seed)
    wide = torch.promote_types(dtype, torch.float32)
    x8, w8 = codes(m, k, seed=seed), codes(n, k, seed=seed + 1)
    x_scale, w_scale = torch.rand(m, dtype=wide), torch.rand(() if whole else (n,), dtype=wide)
    bias = torch.randn(n, dtype=dtype) if with_bias else None
    linear = int8_linear_global if whole else int8_linear_rowwise
    y = linear(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype)
    assert y.dtype == dtype
    assert largest_error(y, by_definition(x8, w8, x_scale, w_scale, bias)) <= ROUNDING[dtype]


@pytest.mark.parametrize("leading", [(), (3,), (2, 1, 3)])
def test_rows_may_have_any_leading_dimensions(leading: tuple[int, ...]) -> None:
    x8, w8 = codes(*leading, 5, seed=0), codes(4, 5, seed=1)
    x_scale, w_scale = torch.rand(leading), torch.rand(4)
    y = int8_linear_rowwise(x8, w8, x_scale, w_scale, dtype=torch.float32)
    assert y.shape == (*leading, 4)
    flat = int8_linear_rowwise(x8.view(-1, 5), w8, x_scale.view(-1), w_scale, dtype=torch.float32)
    assert torch.equal(y.reshape(-1, 4), flat)


def test_large_and_small_scales_neither_overflow_nor_vanish() -> None:
    """The product of the scales alone would."""
    x8, w8 = codes(2, 8, seed=0), codes(3, 8, seed=1)
    x_scale, w_scale = torch.tensor([1e30, 1e-30]), torch.full((3,), 1e10)
    y = int8_linear_rowwise(x8, w8, x_scale, w_scale, dtype=torch.float64)
    truth = by_definition(x8, w8, x_scale, w_scale, None)
    torch.testing.assert_close(y[1], truth[1], rtol=1e-6, atol=0.0)
    assert (y[1] != 0).all()


def test_what_does_not_fit_is_refused() -> None:
    x8, w8, three, four = codes(3, 5, seed=0), codes(4, 5, seed=1), torch.rand(3), torch.rand(4)
    with pytest.raises(ValueError, match=r"a scale for each of 4 rows, got \(3,\)"):
        int8_linear_rowwise(x8, w8, three, three, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"scales of shape \(3,\) for x8, got \(4,\)"):
        int8_linear_rowwise(x8, w8, four, four, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"one scale of shape \(\), got \(4,\)"):
        int8_linear_global(x8, w8, three, four, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"a bias for each of 4 rows of w8, got \(1,\)"):
        int8_linear_rowwise(x8, w8, three, four, bias=torch.rand(1), dtype=torch.float32)
    with pytest.raises(ValueError, match="tensors on one device, got some on cpu and some on meta"):
        int8_linear_rowwise(x8, w8, three, four.to("meta"), dtype=torch.float32)
    with pytest.raises(ValueError, match=r"int8 codes, got torch.int8 and torch.uint8"):
        int8_product(x8, w8.to(torch.uint8))
    with pytest.raises(ValueError, match=r"\(m, k\) and \(n, k\), got \(3, 5\) and \(5, 4\)"):
        int8_product(x8, w8.t())
    long = torch.zeros(1, EXACT_IN_INT32 + 1, dtype=torch.int8)
    with pytest.raises(ValueError, match="at most 131071 summed features, got 131072"):
        int8_product(long, long)


def test_the_longest_sum_that_is_taken_is_exact() -> None:
    lowest = torch.full((1, EXACT_IN_INT32), -128, dtype=torch.int8)
    assert int8_product(lowest, lowest).item() == EXACT_IN_INT32 * 2**14
    assert float_product(lowest, lowest).item() == EXACT_IN_INT32 * 2**14


def test_sums_are_exact_under_autocast() -> None:
    """Which makes products of float32 ones of 16 bits: sums of thousands would keep their first 8 bits."""
    x8, w8 = codes(5, 1500, seed=1), codes(7, 1500, seed=2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(float_product(x8, w8), exact(x8, w8))
        assert torch.equal(int8_product(x8, w8), exact(x8, w8))
