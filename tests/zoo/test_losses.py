"""Cross-entropy: both ways against float64, where a naive one overflows, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.losses import TOLERANCES, cross_entropy, cross_entropy_reference
from tests.support.properties import steady

BOTH = [cross_entropy, cross_entropy_reference]
Loss = Callable[[Tensor, Tensor], Tensor]
leading = st.lists(st.integers(1, 5), max_size=3).map(tuple)


def drawn(lead: tuple[int, ...], classes: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(classes)
    logits = (3.0 * torch.randn(*lead, classes, generator=generator)).to(dtype).requires_grad_()
    return logits, torch.randint(classes, lead, generator=generator)


def by_definition(logits: Tensor, labels: Tensor) -> Tensor:
    """In float64, from the probabilities themselves."""
    exponentials = logits.double().exp()
    probabilities = exponentials / exponentials.sum(-1, keepdim=True)
    return -probabilities.gather(-1, labels[..., None]).log().mean()


@steady
@given(leading, st.integers(1, 12), st.sampled_from(BOTH), st.sampled_from(list(TOLERANCES)))
def test_loss_and_gradient_against_float64(
    lead: tuple[int, ...], classes: int, loss: Loss, dtype: torch.dtype
) -> None:
    logits, labels = drawn(lead, classes, dtype)
    wide = logits.detach().double().requires_grad_()
    found, expected = loss(logits, labels), by_definition(wide, labels)
    torch.autograd.backward((found, expected))
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    assert logits.grad is not None
    assert logits.grad.dtype == dtype
    assert wide.grad is not None
    exact = TOLERANCES[found.dtype]
    torch.testing.assert_close(found.detach().double(), expected.detach(), rtol=exact, atol=exact)
    # With one class the gradient is zero but for rounding, of entries of 1 over the number of labels.
    atol = TOLERANCES[dtype] * max(float(wide.grad.abs().max()), 1.0 / labels.numel())
    torch.testing.assert_close(logits.grad.double(), wide.grad, rtol=0.0, atol=atol)


@pytest.mark.parametrize("loss", BOTH)
def test_gradcheck(loss: Loss) -> None:
    logits, labels = drawn((2, 3), 5, torch.float64)
    assert torch.autograd.gradcheck(lambda logits: loss(logits, labels), (logits,))


@pytest.mark.parametrize("loss", BOTH)
@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_equal_logits_cost_the_logarithm_of_their_number(loss: Loss, shift: float) -> None:
    found = loss(torch.full((4, 32000), shift), torch.tensor([0, 1, 2, 31999]))
    assert found.item() == pytest.approx(log(32000), rel=1e-3 if shift else 1e-6)


@pytest.mark.parametrize("loss", BOTH)
def test_huge_logits_stay_finite(loss: Loss) -> None:
    logits = torch.tensor([[1e30, 0.0], [0.0, 1e4]])
    assert loss(logits[:1], torch.tensor([0])).item() == 0.0
    assert loss(logits[1:], torch.tensor([0])).item() == 1e4


@pytest.mark.parametrize("loss", BOTH)
def test_no_label_is_ignored(loss: Loss) -> None:
    logits = torch.randn(2, 3)
    with pytest.raises((IndexError, RuntimeError), match=r"out of bounds"):
        loss(logits, torch.tensor([0, -100]))


@pytest.mark.parametrize("loss", BOTH)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_narrow_labels_count_the_same(loss: Loss, dtype: torch.dtype) -> None:
    logits, labels = drawn((6,), 4, torch.float32)
    assert torch.equal(loss(logits, labels.to(dtype)), loss(logits, labels))


@pytest.mark.parametrize("loss", BOTH)
def test_compiled_it_is_the_same(loss: Loss) -> None:
    torch.compiler.reset()
    logits, labels = drawn((5, 3), 7, torch.float32)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(logits, labels), loss(logits, labels))


@pytest.mark.parametrize("loss", BOTH)
def test_what_is_refused(loss: Loss) -> None:
    logits = torch.randn(2, 3, 5)
    with pytest.raises(ValueError, match=r"need labels of shape \(2, 3\), not \(6,\)"):
        loss(logits, torch.zeros(6, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"labels must be whole numbers, not torch\.float32"):
        loss(logits, torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"logits must be floating-point numbers, not torch\.int64"):
        loss(logits.long(), torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match="logits are on cpu, and labels on meta"):
        loss(logits, torch.zeros(2, 3, dtype=torch.int64, device="meta"))
    with pytest.raises(ValueError, match="nothing to average"):
        loss(torch.randn(0, 5), torch.zeros(0, dtype=torch.int64))
