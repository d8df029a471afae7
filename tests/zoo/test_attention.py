"""Causal attention: the formula, torch's kernels against it, and no look into the future."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.attention import ATTENTIONS, TOLERANCES, naive_attention, sdpa_attention
from stepmark.zoo.sizes import Attention
from tests.support.properties import steady
from tests.zoo.agreement import largest_error

KINDS = sorted(ATTENTIONS)
shapes = st.tuples(st.lists(st.integers(1, 3), max_size=3), st.integers(1, 7), st.integers(1, 9))
seeds = st.integers(0, 2**31)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tensors this small gain nothing from threads, and on a busy machine they wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def three(shape: tuple[int, ...], *, seed: int = 0, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=random, dtype=torch.float64).to(dtype) for _ in range(3)]


@steady
@given(shapes, seeds)
def test_every_position_averages_the_values_before_it(shape: tuple[list[int], int, int], seed: int) -> None:
    """The formula once more, row by row, with plain exponentials."""
    leading, length, features = shape
    query, key, value = three((*leading, length, features), seed=seed)
    y = naive_attention(query, key, value)
    for row in range(length):
        scores = (query[..., row, None, :] * key[..., : row + 1, :]).sum(-1) / features**0.5
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        expected = (weights[..., None] * value[..., : row + 1, :]).sum(-2)
        torch.testing.assert_close(y[..., row, :], expected, rtol=1e-10, atol=1e-10)


@steady
@given(shapes, seeds)
def test_torchs_kernel_agrees_in_any_shape(shape: tuple[list[int], int, int], seed: int) -> None:
    leading, length, features = shape
    parts = three((*leading, length, features), seed=seed)
    assert largest_error(sdpa_attention(*parts), naive_attention(*parts)) <= TOLERANCES[torch.float64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 33, 16), (4, 65, 8)])
def test_output_and_gradients_stay_within_the_tolerance_of_the_dtype(
    kind: Attention, dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    parts = [part.requires_grad_() for part in three(shape, dtype=dtype)]
    wide = [part.detach().double().requires_grad_() for part in parts]
    gradient = three(shape, seed=1, dtype=dtype)[0]
    y, exact = ATTENTIONS[kind](*parts), naive_attention(*wide)
    torch.autograd.backward([y, exact], [gradient, gradient.double()])
    assert y.dtype == dtype
    assert largest_error(y, exact) <= TOLERANCES[dtype]
    for part, true in zip(parts, wide, strict=True):
        assert largest_error(part.grad, true.grad) <= TOLERANCES[dtype]


@pytest.mark.parametrize("kind", KINDS)
def test_its_gradient_is_its_derivative(kind: Attention) -> None:
    parts = [part.requires_grad_() for part in three((2, 3, 2))]
    assert torch.autograd.gradcheck(ATTENTIONS[kind], parts)


@pytest.mark.parametrize("kind", KINDS)
@steady
@given(shapes, seeds, st.data())
def test_the_future_changes_nothing(
    kind: Attention, shape: tuple[list[int], int, int], seed: int, data: st.DataObject
) -> None:
    leading, length, features = shape
    query, key, value = three((*leading, length, features), seed=seed)
    now = data.draw(st.integers(0, length - 1))
    before = ATTENTIONS[kind](query, key, value)[..., : now + 1, :]
    key[..., now + 1 :, :], value[..., now + 1 :, :] = 1e3, -1e3
    after = ATTENTIONS[kind](query, key, value)[..., : now + 1, :]
    torch.testing.assert_close(before, after, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_large_scores_do_not_overflow(kind: Attention) -> None:
    query, key, value = three((2, 8, 4), dtype=torch.float32)
    assert ATTENTIONS[kind](1e4 * query, 1e4 * key, value).isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_compiles(kind: Attention) -> None:
    parts = three((2, 8, 4), dtype=torch.float32)
    compiled = torch.compile(ATTENTIONS[kind], backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*parts), ATTENTIONS[kind](*parts))


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_shapes_and_dtypes_are_told(kind: Attention) -> None:
    attend = ATTENTIONS[kind]
    x = torch.zeros(2, 8, 4)
    with pytest.raises(ValueError, match=r"got \(2, 8, 4\), \(2, 7, 4\) and \(2, 8, 4\)"):
        attend(x, x[:, :7], x)
    with pytest.raises(ValueError, match=r"sequence, features\), got \(4,\)"):
        attend(x[0, 0], x[0, 0], x[0, 0])
    with pytest.raises(ValueError, match=r"got torch\.float32, torch\.float64 and torch\.float32"):
        attend(x, x.double(), x)
    with pytest.raises(ValueError, match=r"floating-point dtype, got torch\.int64"):
        attend(x.long(), x.long(), x.long())
