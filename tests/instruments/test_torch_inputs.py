"""Inputs made: the same for every variant of a cell, another draw for another seed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.authoring.inputs import Input, ones, rand, randint, randn, zeros
from stepmark.errors import BenchFileError
from stepmark.instruments.torch_inputs import make_inputs, torch_dtype

CPU = torch.device("cpu")
few = settings(max_examples=30)
shapes = st.lists(st.integers(1, 6), max_size=3).map(tuple)
described = (
    st.builds(randn, *[st.integers(1, 5)] * 2)
    | st.builds(rand, st.integers(1, 5))
    | st.builds(randint, st.integers(1, 99), st.integers(1, 5))
)


def make(
    inputs: Any, *, dtype: torch.dtype = torch.float32, seed: int = 0, device: torch.device = CPU
) -> tuple[Any, ...]:
    return make_inputs(inputs, device=device, dtype=dtype, seed=seed)


@few
@given(st.lists(described, min_size=1, max_size=4), st.integers(0, 2**31))
def test_a_seed_is_a_draw(inputs: list[Input], seed: int) -> None:
    once, again = make(inputs, seed=seed), make(inputs, seed=seed)
    assert all(torch.equal(a, b) and a is not b for a, b in zip(once, again, strict=True))


def test_another_seed_is_another_draw() -> None:
    draws = [make(randn(8), seed=seed)[0] for seed in range(20)]
    assert len({tuple(draw.tolist()) for draw in draws}) == 20


def test_inputs_of_one_step_differ_from_each_other() -> None:
    one, other = make([randn(8), randn(8)])
    assert not torch.equal(one, other)


def test_the_global_generator_is_neither_used_nor_moved() -> None:
    torch.manual_seed(1)
    one = make(randn(8))[0]
    state = torch.get_rng_state()
    torch.manual_seed(2)
    assert torch.equal(make(randn(8))[0], one)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state)


@few
@given(shapes, st.sampled_from(["float32", "float64", "bfloat16"]), st.booleans())
def test_shape_dtype_and_gradient_are_as_described(
    shape: tuple[int, ...], dtype: str, requires_grad: bool
) -> None:
    (tensor,) = make(randn(*shape, dtype=dtype, requires_grad=requires_grad))
    assert (tuple(tensor.shape), tensor.dtype) == (shape, torch_dtype(dtype))
    assert tensor.requires_grad is requires_grad
    assert tensor.is_leaf


def test_without_a_dtype_the_cases_own_is_taken() -> None:
    floats, numbers = make([randn(4), randint(9, 4)], dtype=torch.bfloat16)
    assert (floats.dtype, numbers.dtype) == (torch.bfloat16, torch.int64)


def test_fills() -> None:
    normal, uniform, numbers, nought, one = make(
        [randn(4000), rand(4000), randint(7, 4000, low=3), zeros(5), ones(5)]
    )
    assert (abs(normal.mean()) < 0.1, abs(normal.std() - 1) < 0.1) == (True, True)
    assert (uniform.min() >= 0, uniform.max() < 1, abs(uniform.mean() - 0.5) < 0.05) == (True, True, True)
    assert sorted(set(numbers.tolist())) == [3, 4, 5, 6]
    assert (nought.tolist(), one.tolist()) == ([0.0] * 5, [1.0] * 5)


def test_one_input_need_not_be_a_list() -> None:
    assert len(make(randn(4))) == 1
    assert len(make(torch.ones(4))) == 1
    assert make(()) == ()


def test_a_tensor_of_the_users_is_taken_without_its_history() -> None:
    mine = torch.ones(3, dtype=torch.float64, requires_grad=True)
    leaf, derived = make([mine, mine * 2])
    assert (leaf.dtype, leaf.requires_grad, leaf.is_leaf) == (torch.float64, True, True)
    assert (derived.requires_grad, derived.is_leaf, derived.grad_fn) == (True, True, None)
    assert derived.tolist() == [2.0, 2.0, 2.0]
    leaf.sum().backward()
    assert mine.grad is None, "the user's own tensor stays as it was"


def test_anything_else_is_handed_on() -> None:
    assert make([3, None, "mean"]) == (3, None, "mean")


def test_inputs_are_put_on_the_device() -> None:
    assert {one.device.type for one in make([randn(2), torch.ones(2)], device=torch.device("meta"))} == {
        "meta"
    }


def test_dtypes_by_name() -> None:
    assert torch_dtype("bfloat16") is torch.bfloat16
    for name in ("flaot32", "nn", "tensor"):
        with pytest.raises(BenchFileError, match=f"torch has no dtype '{name}'"):
            torch_dtype(name)


@pytest.mark.parametrize("inputs", [{"x": randn(2)}, [[randn(2)]], [torch.ones(2), {"x": randn(2)}]])
def test_a_description_that_nobody_would_make_is_refused(inputs: Any) -> None:
    with pytest.raises(ValueError, match=r"described inside a (dict|list): inputs are passed by position"):
        make(inputs)


def test_what_is_not_described_is_passed_on() -> None:
    batch = {"x": torch.ones(2), "scale": 2.0}
    assert make(batch) == (batch,)


def test_a_dtype_may_be_torchs_own() -> None:
    assert randn(2, dtype=torch.float64) == randn(2, dtype="float64")
    (made,) = make(randint(9, 3, dtype=torch.int32))
    assert made.dtype is torch.int32


def test_a_text_and_a_packed_sequence_are_one_input() -> None:
    assert make("mean") == ("mean",)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 8), torch.tensor([5, 3]))
    assert make(packed) == (packed,)
