"""The quantising kernels: codes and scales of the plain operations, to the last, in every layout."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo import quantize as plain
from stepmark.zoo.kernels.quantize import (
    LONGEST,
    PITCH,
    dequantize_rows,
    quantize_rows,
    quantize_turned,
    quantize_weight,
    quantize_whole,
)

few = settings(max_examples=15)
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
FP8 = torch.float8_e4m3fn


def matrix(rows: int, columns: int, *, dtype: torch.dtype, seed: int, device: str) -> Tensor:
    """A row of noughts, one of tiny numbers, one with a huge one, where there are so many."""
    x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    x[:1] = 0.0
    x[1:2] *= 1e-6
    x[2:3, -1] = 6e4
    return x.to(dtype).to(device)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, torch.dtype, int]:
    """Few sizes, one of each kind that a kernel is compiled for: one, a multiple of 16, another."""
    sides = st.sampled_from([1, 16, 33, 83, 130])
    return draw(sides), draw(sides), draw(st.sampled_from(DTYPES)), draw(st.integers(0, 99))


@few
@given(cases())
def test_rows_are_those_of_the_plain_operations(device: str, case: tuple[int, int, torch.dtype, int]) -> None:
    rows, columns, dtype, seed = case
    x = matrix(rows, columns, dtype=dtype, seed=seed, device=device)
    (codes, scale), (wanted, largest) = quantize_rows(x), plain.quantize_rowwise(x, backend="torch")
    assert torch.equal(codes, wanted)
    assert torch.equal(scale, largest)
    assert scale.dtype == torch.float32
    assert codes.stride(0) % PITCH == 0


@few
@given(cases())
def test_a_weight_is_quantised_both_ways_round(device: str, case: tuple[int, int, torch.dtype, int]) -> None:
    rows, columns, dtype, seed = case
    w = matrix(rows, columns, dtype=dtype, seed=seed, device=device)
    found = quantize_weight(w, one_scale=False)
    codes, scale = plain.quantize_rowwise(w, backend="torch")
    turned, turned_scale = plain.quantize_columnwise_transpose(w, backend="torch")
    assert all(map(torch.equal, found, (codes, scale, turned, turned_scale)))
    assert all(map(torch.equal, quantize_turned(w, one_scale=False), (turned, turned_scale)))
    found = quantize_weight(w, one_scale=True)
    codes, scale = plain.quantize_global(w, backend="torch")
    assert all(map(torch.equal, found, (codes, scale, codes.t(), scale)))
    assert all(map(torch.equal, quantize_whole(w), (codes, scale)))
    assert all(map(torch.equal, quantize_turned(w, one_scale=True), (codes.t(), scale)))


@few
@given(cases())
def test_codes_are_the_definition_in_float64(device: str, case: tuple[int, int, torch.dtype, int]) -> None:
    """At most half a step from the value; half a step is decided in float32, hence the little more."""
    rows, columns, dtype, seed = case
    x = matrix(rows, columns, dtype=dtype, seed=seed, device=device)
    codes, scale = quantize_rows(x)
    exact = x.double().abs().amax(1)
    assert torch.equal(scale.double(), exact)
    steps = x.double() / exact.clamp_min(1e-300).unsqueeze(1) * 127
    assert ((codes.double() - steps).abs() <= 0.5 + 1e-4).all()


def test_rows_too_long_for_registers(device: str) -> None:
    x = torch.randn(1, LONGEST + 1000, generator=torch.Generator().manual_seed(0)).half().to(device)
    (codes, scale), (wanted, largest) = quantize_rows(x), plain.quantize_rowwise(x, backend="torch")
    assert torch.equal(codes, wanted)
    assert torch.equal(scale, largest)


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered:RuntimeWarning")  # NumPy
def test_what_is_not_finite_is_in_its_scales(device: str, bad: float) -> None:
    x = torch.ones(3, 4, device=device)
    x[1, 2] = bad
    assert quantize_rows(x)[1].isfinite().tolist() == [True, False, True]
    found = quantize_weight(x, one_scale=False)
    assert found.scale.isfinite().tolist() == [True, False, True]
    assert found.turned_scale.isfinite().tolist() == [True, True, False, True]
    assert not quantize_weight(x, one_scale=True).scale.isfinite()


@pytest.mark.parametrize("value", [0.0, 1e-44, 1e-38])
def test_values_too_small_for_an_inverse_are_nought(device: str, value: float) -> None:
    codes, scale = quantize_rows(torch.full((2, 5), value, device=device))
    assert not codes.any()
    assert scale.tolist() == torch.full((2,), value).tolist()


def test_strides_do_not_matter(device: str) -> None:
    x = torch.randn(24, 40, generator=torch.Generator().manual_seed(0)).to(device)
    assert torch.equal(quantize_rows(x[:, 3:20])[0], quantize_rows(x[:, 3:20].clone())[0])
    assert torch.equal(quantize_rows(x.t())[0], quantize_rows(x.t().contiguous())[0])
    assert torch.equal(quantize_weight(x.t(), one_scale=False).codes, quantize_rows(x.t())[0])


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_nothing_is_quantised_to_nothing(device: str, shape: tuple[int, int]) -> None:
    x = torch.empty(shape, device=device)
    codes, scale = quantize_rows(x)
    assert codes.shape == shape
    assert scale.tolist() == [0.0] * shape[0]
    assert quantize_weight(x, one_scale=False).turned.shape == shape[::-1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_back_from_codes(device: str, dtype: torch.dtype) -> None:
    """The interpreter cuts bfloat16 off where a GPU rounds: a unit in the last place."""
    x = matrix(9, 50, dtype=dtype, seed=1, device=device)
    codes, scale = quantize_rows(x)
    found, wanted = dequantize_rows(codes, scale, dtype), plain.dequantize_rowwise(codes, scale, dtype)
    torch.testing.assert_close(found, wanted, rtol=torch.finfo(dtype).eps, atol=0.0)


def test_fp8_codes_are_torchs_own_casts(device: str) -> None:
    """All of them on a GPU. Triton 3.6's interpreter loses the carry where rounding reaches the next power of
    two, in one value of fifty."""
    x = matrix(12, 40, dtype=torch.float32, seed=2, device=device)
    codes, scale = quantize_rows(x, code=FP8)
    assert torch.equal(scale, x.abs().amax(1))
    wanted = (x * torch.where(scale > 0, 448.0 / scale, 0.0).unsqueeze(1)).to(FP8)
    same = (codes.float() == wanted.float()).float().mean()
    assert same == 1.0 if device == "cuda" else same > 0.95


@pytest.mark.parametrize("one_scale", [False, True])
@pytest.mark.parametrize("shape", [(32, 48), (130, 200)])
def test_fp8_codes_of_a_weight_both_ways_round(device: str, one_scale: bool, shape: tuple[int, int]) -> None:
    w = torch.randn(shape, generator=torch.Generator().manual_seed(3)).to(device)
    found = quantize_weight(w, one_scale=one_scale, code=FP8)
    for codes, scale, values in ((found.codes, found.scale, w), (found.turned, found.turned_scale, w.t())):
        wanted = (values * (448.0 / scale).reshape(-1, 1)).to(FP8)
        same = (codes.float() == wanted.float()).float().mean()
        assert same > (0.99 if device == "cuda" else 0.95)
