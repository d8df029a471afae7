"""The quantisers: nearest codes, exact maxima, and rows of noughts without a division by zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from stepmark.zoo.quantize import (
    BLOCK,
    LEAST,
    dequantize_rowwise,
    quantize_columnwise,
    quantize_columnwise_transpose,
    quantize_global,
    quantize_global_transpose,
    quantize_rowwise,
)
from tests.support.properties import steady
from tests.zoo.agreement import DEVICES

Quantizer = Callable[[Tensor], tuple[Tensor, Tensor]]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
ALL: list[Quantizer] = [
    quantize_rowwise,
    quantize_columnwise,
    quantize_columnwise_transpose,
    quantize_global,
    quantize_global_transpose,
]


@st.composite
def matrices(draw: st.DrawFn) -> Tensor:
    """Matrices of any magnitude and dtype, some rows nought, some elements where halves are decided."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    dtype = draw(st.sampled_from(DTYPES))
    magnitude = 2.0 ** draw(st.integers(-14, 10))
    values = draw(
        st.lists(
            st.floats(-1.0, 1.0, width=16) | st.sampled_from([0.0, 0.5, -0.5, 1.0, -1.0]),
            min_size=rows * columns,
            max_size=rows * columns,
        )
    )
    matrix = (torch.tensor(values) * magnitude).to(dtype).view(rows, columns)
    matrix[draw(st.lists(st.integers(0, rows - 1), max_size=1))] = 0.0
    return matrix


@steady
@given(matrices())
def test_rows_are_the_formula(x: Tensor) -> None:
    """Against NumPy in the arithmetic that the formula names; its rint rounds halves to even."""
    codes, scale = quantize_rowwise(x)
    wide = x.double().numpy() if x.dtype == torch.float64 else x.float().numpy()
    largest = np.abs(wide).max(1)
    assert np.array_equal(scale.numpy(), largest)
    for row, top, found in zip(wide, largest, codes.tolist(), strict=True):
        one = wide.dtype.type(1)
        wanted = np.rint(row * (one / top * 127)) if top > LEAST else np.zeros_like(row)
        assert found == wanted.tolist()


@pytest.mark.parametrize("shape", [(1, BLOCK + 1), (BLOCK // 100 + 3, 100), (7, BLOCK // 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_are_quantised_block_by_block_and_no_otherwise(
    shape: tuple[int, int], dtype: torch.dtype
) -> None:
    """Only matrices are; with one more dimension the same is computed in one go."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    assert torch.equal(quantize_rowwise(x)[0], quantize_rowwise(x.unsqueeze(0))[0][0])
    assert torch.equal(quantize_global(x)[0], quantize_global(x.unsqueeze(0))[0][0])
    assert torch.equal(quantize_columnwise(x)[0], quantize_rowwise(x.t().unsqueeze(0))[0][0].t())


@steady
@given(matrices())
def test_a_code_is_at_most_half_a_step_from_its_value(x: Tensor) -> None:
    codes, scale = quantize_rowwise(x)
    back = dequantize_rowwise(codes, scale, torch.float64)
    assert ((back - x.double()).abs() <= scale.double().unsqueeze(-1) / 254.0 * 1.0001).all()


@steady
@given(matrices())
def test_the_largest_of_a_row_has_the_largest_code(x: Tensor) -> None:
    codes, scale = quantize_rowwise(x)
    assert codes.dtype == torch.int8
    assert torch.equal(codes.int().abs().amax(1) == 127, scale > LEAST)


@steady
@given(matrices())
def test_columns_are_rows_of_the_transpose(x: Tensor) -> None:
    codes, scale = quantize_rowwise(x.t().contiguous())
    turned, own = quantize_columnwise_transpose(x)
    assert torch.equal(turned, codes)
    assert turned.is_contiguous()
    assert torch.equal(own, scale)
    assert torch.equal(quantize_columnwise(x)[0], codes.t())


@steady
@given(matrices())
def test_the_whole_is_one_long_row(x: Tensor) -> None:
    codes, scale = quantize_rowwise(x.reshape(1, -1))
    whole, own = quantize_global(x)
    assert own.shape == ()
    assert torch.equal(own, scale[0])
    assert torch.equal(whole, codes.view(x.shape))
    turned, same = quantize_global_transpose(x)
    assert torch.equal(turned, whole.t())
    assert turned.is_contiguous()
    assert torch.equal(same, own)


@steady
@given(matrices(), st.integers(-8, 8))
def test_a_power_of_two_moves_the_scale_and_not_the_codes(x: Tensor, power: int) -> None:
    x = x.float()
    moved = x * 2.0**power
    for quantize in ALL:
        (codes, scale), (same, other) = quantize(x), quantize(moved)
        assert torch.equal(codes, same)
        assert torch.equal(scale * 2.0**power, other)
        assert torch.equal(quantize(-x)[0], -codes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("quantize", ALL)
@pytest.mark.parametrize("device", DEVICES)
def test_noughts_stay_nought(quantize: Quantizer, dtype: torch.dtype, device: str) -> None:
    codes, scale = quantize(torch.zeros(3, 4, dtype=dtype, device=device))
    assert not codes.any()
    assert not scale.any()


def test_a_row_of_noughts_among_others() -> None:
    codes, scale = quantize_rowwise(torch.tensor([[0.0, 0.0], [3.0, -6.0]]))
    assert codes.tolist() == [[0, 0], [64, -127]]
    assert scale.tolist() == [0.0, 6.0]


def test_halves_go_to_the_even_code() -> None:
    x = torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5]])
    assert quantize_rowwise(x)[0].tolist() == [[127, 0, 2, 2, 0, -2, -2]]


def test_values_too_small_for_an_inverse_are_nought() -> None:
    codes, scale = quantize_rowwise(torch.tensor([[1e-38, -2e-38], [4e-36, 3e-36]]))
    assert codes.tolist() == [[0, 0], [127, 95]]
    assert scale.isfinite().all()


class _Casts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees what becomes int8: of what is not finite, the result differs from machine to machine."""

    seen = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor) and out.dtype == torch.int8 and args[-1].is_floating_point():
            assert args[-1].isfinite().all()
            self.seen += 1
        return out


@pytest.mark.parametrize("quantize", ALL)
@pytest.mark.parametrize("value", [0.0, 1e-44, 1e-38, 1.0, 1e38])
def test_only_finite_numbers_become_codes(quantize: Quantizer, value: float) -> None:
    with _Casts() as casts:  # type: ignore[no-untyped-call]
        quantize(torch.full((3, 4), value))
    assert casts.seen == 1


@pytest.mark.parametrize("quantize", ALL)
def test_sixteen_bits_are_quantised_in_thirty_two(quantize: Quantizer) -> None:
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.randn(40, 50, generator=generator).to(dtype)
        codes, scale = quantize(x)
        wide_codes, wide_scale = quantize(x.float())
        assert scale.dtype == torch.float32
        assert torch.equal(codes, wide_codes)
        assert torch.equal(scale, wide_scale)


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_what_is_not_finite_is_seen_in_the_scale_of_its_row(bad: float) -> None:
    scale = quantize_rowwise(torch.tensor([[1.0, bad], [1.0, 2.0]]))[1]
    assert scale.isfinite().tolist() == [False, True]


def test_rows_may_have_any_leading_dimensions() -> None:
    x = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    codes, scale = quantize_rowwise(x)
    flat, flat_scale = quantize_rowwise(x.view(6, 5))
    assert torch.equal(codes, flat.view(2, 3, 5))
    assert torch.equal(scale, flat_scale.view(2, 3))


@pytest.mark.parametrize("quantize", ALL)
def test_nothing_is_differentiated_and_the_input_stays(quantize: Quantizer) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    before = x.detach().clone()
    codes, scale = quantize(x)
    assert not scale.requires_grad
    assert torch.equal(x.detach(), before)
    assert torch.equal(quantize(x.detach().t().contiguous().t())[0], codes)


@pytest.mark.parametrize("quantize", ALL)
def test_whole_numbers_and_scalars_are_refused(quantize: Quantizer) -> None:
    with pytest.raises(ValueError, match=r"floating-point tensor to quantise, got torch.int32"):
        quantize(torch.ones(2, 2, dtype=torch.int32))
    with pytest.raises(ValueError, match=r"to quantise, got shape \(\)"):
        quantize(torch.tensor(1.0))


@pytest.mark.parametrize(
    "quantize", [quantize_columnwise, quantize_columnwise_transpose, quantize_global_transpose]
)
def test_only_matrices_have_columns(quantize: Quantizer) -> None:
    with pytest.raises(ValueError, match=r"2 dimensions to quantise, got shape \(2, 2, 2\)"):
        quantize(torch.ones(2, 2, 2))
