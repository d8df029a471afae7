"""Rotations: against matrices in float64, as isometries that know only distances, and their cached tables."""

from __future__ import annotations

import copy
import pickle
from math import cos, sin

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.zoo.rope import TOLERANCES, Rope, rotate, rotate_reference
from tests.support.properties import steady
from tests.zoo.agreement import largest_error

leading = st.lists(st.integers(1, 3), max_size=3)
lengths = st.integers(1, 6)
pairs = st.integers(1, 5)
seeds = st.integers(0, 2**31)

LATE = Rope(16, 4096)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@steady
@given(leading, lengths, pairs, seeds)
def test_it_is_the_product_with_a_matrix_of_rotations(
    shape: list[int], length: int, num_pairs: int, seed: int
) -> None:
    x = normal(*shape, length, 2 * num_pairs, seed=seed)
    cosines, sines = Rope(2 * num_pairs, 8, dtype=torch.float64)(length)
    assert largest_error(rotate(x, cosines, sines), rotate_reference(x)) <= TOLERANCES[torch.float64]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_output_and_gradient_stay_within_the_tolerance_of_the_dtype(dtype: torch.dtype) -> None:
    x = normal(2, 3, 40, 16, dtype=dtype).requires_grad_()
    wide = x.detach().double().requires_grad_()
    gradient = normal(2, 3, 40, 16, seed=1, dtype=dtype)
    y = rotate(x, *Rope(16, 64, dtype=dtype)(40))
    exact = rotate_reference(wide)
    torch.autograd.backward([y, exact], [gradient, gradient.double()])
    assert y.dtype == dtype
    assert largest_error(y, exact) <= TOLERANCES[dtype]
    assert largest_error(x.grad, wide.grad) <= TOLERANCES[dtype]


def test_its_gradient_is_its_derivative() -> None:
    cosines, sines = Rope(6, 4, dtype=torch.float64)(4)
    x = normal(2, 4, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda one: rotate(one, cosines, sines), (x,))


@steady
@given(lengths, pairs, seeds)
def test_lengths_stay_and_the_first_position_does_not_turn(length: int, num_pairs: int, seed: int) -> None:
    x = normal(length, 2 * num_pairs, seed=seed)
    y = rotate(x, *Rope(2 * num_pairs, 8, dtype=torch.float64)(length))
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(y[0], x[0])


@steady
@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), pairs, seeds)
def test_a_product_of_two_positions_depends_on_their_distance_only(
    one: int, other: int, shift: int, num_pairs: int, seed: int
) -> None:
    x = normal(2, 2 * num_pairs, seed=seed)
    turned = rotate(x[:, None].expand(-1, 64, -1), *Rope(2 * num_pairs, 64, dtype=torch.float64)(64))
    here = turned[0, one] @ turned[1, other]
    there = turned[0, one + shift] @ turned[1, other + shift]
    torch.testing.assert_close(here, there, rtol=1e-9, atol=1e-9)


@steady
@given(st.integers(0, 4095), st.integers(0, 7))
def test_late_positions_turn_by_their_true_angle(position: int, pair: int) -> None:
    """Angles taken in float32 would be off by 2e-4 there, in bfloat16 by 8."""
    angle = position * 10_000 ** (-2 * pair / 16)
    assert float(LATE.cos[position, pair]) == pytest.approx(cos(angle), abs=1e-7)
    assert float(LATE.sin[position, pair]) == pytest.approx(sin(angle), abs=1e-7)


def test_theta_slows_the_later_pairs() -> None:
    cosines, sines = Rope(4, 8, theta=100.0, dtype=torch.float64)(8)
    angles = torch.atan2(sines, cosines)
    torch.testing.assert_close(angles[1], torch.tensor([1.0, 0.1], dtype=torch.float64))


@pytest.mark.parametrize(
    ("dtype", "tables"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_tables_stay_precise_whatever_the_module_is_cast_to(dtype: torch.dtype, tables: torch.dtype) -> None:
    cast, built = Rope(8, 32).to(dtype), Rope(8, 32, dtype=dtype)
    exact, _ = Rope(8, 32, dtype=torch.float64)(32)
    assert cast.cos.dtype == built.cos.dtype == tables
    assert torch.equal(cast.cos, exact.to(tables))
    assert torch.equal(built.cos, exact.to(tables))


def test_tables_are_filled_when_a_module_leaves_the_meta_device() -> None:
    rope = Rope(8, 32, device="meta")
    assert rope.cos.is_meta
    rope.to_empty(device="cpu")
    assert torch.equal(rope.cos, Rope(8, 32).cos)
    assert torch.equal(rope.sin, Rope(8, 32).sin)


def test_tables_are_no_part_of_the_state_and_follow_copies() -> None:
    rope = Rope(8, 32)
    assert not rope.state_dict()
    for twin in (copy.deepcopy(rope), pickle.loads(pickle.dumps(rope))):
        assert torch.equal(twin.cos, rope.cos)
        assert torch.equal(twin.sin, rope.sin)


def test_it_compiles() -> None:
    rope = Rope(8, 32)
    x = normal(2, 5, 8, dtype=torch.float32)
    turn = torch.compile(lambda one: rotate(one, *rope(one.shape[-2])), backend="eager", fullgraph=True)
    assert torch.equal(turn(x), rotate(x, *rope(5)))


def test_wrong_shapes_are_told() -> None:
    cosines, sines = Rope(8, 32)(5)
    with pytest.raises(ValueError, match=r"\(T, D / 2\) = \(4, 8 / 2\) .* got \(5, 4\) and \(5, 4\)"):
        rotate(torch.zeros(4, 8), cosines, sines)
    with pytest.raises(ValueError, match=r"got \(5, 4\) and \(4, 4\)"):
        rotate(torch.zeros(5, 8), cosines, sines[:4])
    with pytest.raises(ValueError, match="even number of features, got 7"):
        Rope(7, 32)
    with pytest.raises(ValueError, match="context of at least 1, got 0"):
        Rope(8, 0)
    with pytest.raises(ValueError, match="from 1 to the context 32, got 33"):
        Rope(8, 32)(33)
