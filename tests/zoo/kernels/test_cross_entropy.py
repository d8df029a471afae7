"""Cross-entropy by the kernels: loss and gradient against float64, no overflow, and bad labels."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from stepmark.zoo.losses import TOLERANCES, cross_entropy
from tests.support.properties import steady

NEAR = {torch.float32: 2e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
"""Of the gradient: twice the rounding, because Triton's interpreter cuts bits off where a GPU rounds."""


def check(logits: Tensor, labels: Tensor) -> None:
    own, wide = logits.detach().requires_grad_(), logits.detach().cpu().double().requires_grad_()
    found = cross_entropy(own, labels, backend="triton")
    exact = functional.cross_entropy(wide.reshape(-1, wide.shape[-1]), labels.cpu().reshape(-1))
    torch.autograd.backward(
        [found, exact], [torch.tensor(3.0, device=own.device), torch.tensor(3.0).double()]
    )
    assert found.dtype == torch.float32
    assert own.grad is not None
    assert wide.grad is not None
    assert own.grad.dtype == logits.dtype
    precise = TOLERANCES[torch.float32]
    torch.testing.assert_close(found.detach().cpu().double(), exact.detach(), rtol=precise, atol=precise)
    atol = NEAR[logits.dtype] * max(float(wide.grad.abs().max()), 3.0 / labels.numel())
    torch.testing.assert_close(own.grad.cpu().double(), wide.grad, rtol=0.0, atol=atol)


@settings(steady, max_examples=12)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple),
    st.sampled_from([1, 2, 11, 2049, 4099]),
    st.sampled_from([*NEAR]),
    st.sampled_from([3.0, 0.0, 1e-4, 100.0]),
)
def test_loss_and_gradient_against_float64(
    device: str, lead: tuple[int, ...], classes: int, dtype: torch.dtype, size: float
) -> None:
    random = torch.Generator().manual_seed(classes)
    logits = (size * torch.randn(*lead, classes, generator=random)).to(device, dtype)
    check(logits, torch.randint(classes, lead, generator=random).to(device))


@pytest.mark.parametrize("shift", [-1e30, -1e4, 1e4, 1e30])
def test_no_exponential_overflows(device: str, shift: float) -> None:
    logits = torch.full((2, 5000), shift, device=device)
    logits[1, :4500] = -torch.inf
    loss = cross_entropy(logits, torch.tensor([7, 4600], device=device), backend="triton")
    expected = (torch.tensor(5000.0).log() + torch.tensor(500.0).log()) / 2
    assert loss.item() == pytest.approx(float(expected), rel=1e-3) if abs(shift) < 1e5 else loss.isfinite()


def test_strides_do_not_matter(device: str) -> None:
    labels = torch.tensor([1, 0, 3, 2], device=device)
    check(torch.randn(5, 4, device=device).T, labels)
    check(torch.randn(4, 9, device=device)[:, :5], labels)


@pytest.mark.parametrize("label", [-1, -100, 5])
def test_a_label_outside_makes_the_loss_nan(device: str, label: int) -> None:
    loss = cross_entropy(
        torch.randn(2, 5, device=device), torch.tensor([0, label], device=device), backend="triton"
    )
    assert loss.isnan()
