"""Norms of rows: every tiling, against float64; sums over rows that do not depend on who takes which."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.kernels import norm
from stepmark.zoo.kernels.norm import Gradients, Parameters, Tiling
from stepmark.zoo.norms import TOLERANCES, layer_norm_reference, rms_norm_reference
from tests.zoo.kernels.rows import assert_near, drawn

EPS = 1e-5
TILINGS = [
    Tiling(8, 1, 1),
    Tiling(16, 4, 2, stages=3, share=1),
    Tiling(64, 2, 4, stages=2, share=2),
    Tiling(64, 16, 4),
]


def computed(
    x: Tensor, parameters: Parameters, gradient: Tensor, tiling: Tiling, *, centred: bool
) -> tuple[Tensor, Gradients]:
    y, moments = norm.forward(x, parameters, eps=EPS, centred=centred, kept=True, tiling=tiling)
    assert moments is not None
    weight, bias = parameters
    wanted = weight is not None, bias is not None
    return y, norm.backward(gradient, x, parameters, moments, wanted=wanted, tiling=tiling)


def expected(
    x: Tensor, parameters: Parameters, gradient: Tensor, *, centred: bool
) -> tuple[Tensor, list[Tensor | None]]:
    wide = [None if one is None else one.detach().double().requires_grad_() for one in (x, *parameters)]
    rows, weight, bias = wide
    assert rows is not None
    y = (
        layer_norm_reference(rows, weight, bias, eps=EPS)
        if centred
        else rms_norm_reference(rows, weight, eps=EPS)
    )
    torch.autograd.backward(y, gradient.double())
    return y, [None if one is None else one.grad for one in wide]


@settings(max_examples=12)
@given(
    st.integers(1, 9),
    st.integers(1, 60),
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
    st.sampled_from(["nothing", "weight", "both"]),
    st.sampled_from(TILINGS),
)
@pytest.mark.parametrize("centred", [True, False])
def test_every_tiling_against_float64(
    device: str, centred: bool, num_rows: int, width: int, dtype: torch.dtype, affine: str, tiling: Tiling
) -> None:
    x, gradient = (drawn(num_rows, width, dtype=dtype, device=device, seed=seed).detach() for seed in (0, 1))
    weight = drawn(width, dtype=dtype, device=device, seed=2).detach() if affine != "nothing" else None
    biased = affine == "both" and centred
    bias = drawn(width, dtype=dtype, device=device, seed=3).detach() if biased else None
    found = computed(x, Parameters(weight, bias), gradient, tiling, centred=centred)
    right = expected(x, Parameters(weight, bias), gradient, centred=centred)
    # Nearly equal features are divided by next to nothing, and so are their errors.
    spread = float(x.double().std(-1, correction=0).min()) if centred else 1.0
    tolerance = TOLERANCES[dtype] * max(1.0, 0.3 / max(spread, EPS**0.5))
    assert_near(found[0], right[0], tolerance)
    for one, other in zip(found[1], right[1], strict=True):
        if one is not None:
            assert other is not None
            assert_near(one, other, tolerance, beside=float(gradient.abs().max()) / max(spread, EPS**0.5))


@pytest.mark.parametrize("centred", [True, False])
def test_twice_the_same_is_the_same_to_the_bit(device: str, centred: bool) -> None:
    x, gradient = (drawn(40, 24, dtype=torch.float32, device=device, seed=seed).detach() for seed in (0, 1))
    parameters = Parameters(x[0].clone(), x[1].clone() if centred else None)
    first, second = (computed(x, parameters, gradient, TILINGS[1], centred=centred) for _ in range(2))
    assert torch.equal(first[0], second[0])
    for one, other in zip(first[1], second[1], strict=True):
        assert one is other is None or (
            isinstance(one, Tensor) and isinstance(other, Tensor) and torch.equal(one, other)
        )


def test_more_partial_sums_than_are_added_at_a_time(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norm, "DEPTH", 4)
    monkeypatch.setattr(norm, "_processors", lambda _: 6)
    x, gradient = (drawn(50, 20, dtype=torch.float32, device=device, seed=seed).detach() for seed in (0, 1))
    parameters = Parameters(x[0].clone(), x[1].clone())
    _, found = computed(x, parameters, gradient, Tiling(32, 2, 1, share=3), centred=True)
    _, right = expected(x, parameters, gradient, centred=True)
    for one, other in zip(found, right, strict=True):
        assert one is not None
        assert other is not None
        assert_near(one, other, TOLERANCES[torch.float32])
