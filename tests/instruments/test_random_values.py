"""Random values from a seed: the same again, other ones each time, few of them the same on every device."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments import random_values
from stepmark.instruments.random_values import MANY, RandomValues, place_of

CPU = torch.device("cpu")
CUDA = torch.device("cuda")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
shapes = st.lists(st.integers(0, 6), max_size=3).map(tuple)


def drawn(seed: int, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> list[torch.Tensor]:
    values = RandomValues(seed)
    return [
        values.normal(shape, device, dtype),
        values.uniform(shape, device, dtype),
        values.integers(-3, 9, shape, device, torch.int32),
        values.normal(shape, device, dtype),
    ]


@given(st.integers(0, 2**40), shapes, st.sampled_from(DTYPES))
def test_a_seed_is_a_draw_of_the_asked_shape_and_dtype(
    seed: int, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    once, again = (drawn(seed, shape, dtype, CPU) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))
    assert [one.dtype for one in once] == [dtype, dtype, torch.int32, dtype]
    assert {tuple(one.shape) for one in once} == {shape}
    uniform, integers = once[1], once[2]
    assert bool(((uniform >= 0) & (uniform <= 1)).all())
    assert bool(((integers >= -3) & (integers < 9)).all())


def test_every_tensor_has_values_of_its_own() -> None:
    first, _, _, last = drawn(1, (64,), torch.float32, CPU)
    assert not torch.equal(first, last)
    assert not torch.equal(first, drawn(2, (64,), torch.float32, CPU)[0])


def test_values_are_the_same_in_every_dtype_but_for_rounding() -> None:
    wide = RandomValues(3).normal((32,), CPU, torch.float32)
    for dtype in (torch.float8_e4m3fn, torch.float16, torch.float64):
        assert torch.equal(RandomValues(3).normal((32,), CPU, dtype).float(), wide.to(dtype).float())


def test_on_a_device_they_are_drawn_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbered CPU stands for the device: it has a generator of its own, and the pieces are its draws."""
    device = torch.device("cpu", 0)
    monkeypatch.setattr(random_values, "AT_ONCE", 7)
    monkeypatch.setattr(random_values, "MANY", 1)
    generator = torch.Generator().manual_seed(3)
    pieces = torch.cat([torch.randn(size, generator=generator) for size in (7, 7, 6)])
    for dtype in (torch.float32, torch.float16):
        values = RandomValues(3).normal((4, 5), device, dtype)
        assert torch.equal(values, pieces.view(4, 5).to(dtype))
    numbers = RandomValues(3).integers(0, 200, (4, 5), device, torch.uint8)
    assert numbers.dtype is torch.uint8
    assert len(set(numbers.flatten().tolist())) > 5


@given(st.integers(1, MANY), st.sampled_from(["cpu", "cuda", "cuda:1", "mps"]))
def test_few_come_from_the_cpu_and_many_from_the_device(number: int, name: str) -> None:
    device = torch.device(name)
    assert place_of((number,), device) == CPU
    assert place_of((number, 1 + MANY // number), device) == device


@pytest.mark.gpu
def test_few_are_the_same_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = (drawn(5, (100, 7), torch.float32, device) for device in (CPU, CUDA))
    assert all(torch.equal(one, other.cpu()) for one, other in zip(here, there, strict=True))
    monkeypatch.setattr(random_values, "MANY", 99)
    many = drawn(5, (100, 7), torch.float32, CUDA)
    assert {one.device.type for one in many} == {"cuda"}
    assert not torch.equal(many[0].cpu(), here[0])
    again = drawn(5, (100, 7), torch.float32, CUDA)
    assert all(torch.equal(one, other) for one, other in zip(many, again, strict=True))
