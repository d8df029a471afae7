"""fp8 through torch's own product, where a device has it."""

from __future__ import annotations

import pytest
import torch

from stepmark.zoo.kernels.fp8 import CODE, has_fp8, scaled_mm
from stepmark.zoo.kernels.quantize import quantize_rows, quantize_whole


def test_the_interpreter_has_fp8() -> None:
    assert has_fp8(torch.device("cpu"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("one_scale", [False, True])
def test_codes_are_multiplied_and_scaled(dtype: torch.dtype, one_scale: bool) -> None:
    """bfloat16's rounding, and sums of about 14 bits."""
    torch.manual_seed(0)
    x, w = torch.randn(64, 128, device="cuda"), torch.randn(96, 128, device="cuda")
    bias = torch.randn(96, device="cuda", dtype=dtype)
    x8, x_scale = quantize_rows(x, code=CODE)
    w8, w_scale = (quantize_whole if one_scale else quantize_rows)(w, code=CODE)
    y = scaled_mm(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype)
    truth = x8.double() @ w8.double().t() * x_scale.double().unsqueeze(1) * w_scale.double() / 448**2
    truth = truth + bias.double()
    assert y.dtype == dtype
    assert (y.double() - truth).abs().max() <= 1e-2 * truth.abs().max()
