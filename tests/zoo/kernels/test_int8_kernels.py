"""The product of codes: exact sums, one rounding, at every size and layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.int8 import EXACT_IN_INT32, torch_linear
from stepmark.zoo.kernels.int8 import TILES, Tile, scaled_product
from stepmark.zoo.kernels.launch import Launcher
from tests.zoo.kernels.code_cases import codes, exact, numbers

few = settings(max_examples=12)
SMALL = [Tile(64, 32, 32, parts=1), Tile(64, 32, 32, parts=2, flat=False), Tile(128, 64, 64, group=2)]
"""For the interpreter, which takes a second for a large tile."""
TOLERANCES = {torch.float32: 3e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Of the largest output: its rounding. The interpreter cuts bfloat16 off."""


sizes = st.sampled_from([1, 16, 33, 83, 128])
"""One of each kind that a kernel is compiled for: one, a multiple of 16, another."""


@few
@given(sizes, sizes, sizes, st.sampled_from(SMALL), st.integers(0, 99))
def test_sums_are_exact(device: str, m: int, k: int, n: int, tile: Tile, seed: int) -> None:
    """Scales of 127 cancel: what is left is the sum, below 2^24 and therefore whole in float32."""
    x8, w8 = codes(m, k, seed=seed, device=device), codes(n, k, seed=seed + 1, device=device)
    ones = torch.full((max(m, n),), 127.0, device=device)
    y = scaled_product(x8, w8, ones[:m], ones[:n], dtype=torch.float32, tile=tile)
    torch.testing.assert_close(y.double(), exact(x8, w8).double(), rtol=3e-7, atol=0.0)


@few
@given(sizes, sizes, sizes, st.sampled_from([*TOLERANCES]), st.booleans(), st.booleans())
def test_scales_and_bias_are_applied_once(
    device: str, m: int, k: int, n: int, dtype: torch.dtype, one_scale: bool, has_bias: bool
) -> None:
    x8, w8 = codes(m, k, seed=1, device=device), codes(n, k, seed=2, device=device)
    x_scale, w_scale = numbers(m, seed=3, device=device), numbers(n, seed=4, device=device)
    w_scale = w_scale[0] if one_scale else w_scale
    bias = numbers(n, seed=5, device=device).to(dtype) if has_bias else None
    y = scaled_product(x8, w8, x_scale, w_scale, bias=bias, dtype=dtype, tile=SMALL[0])
    truth = exact(x8, w8).double() * x_scale.double().unsqueeze(1) * w_scale.double() / 127**2
    truth = truth if bias is None else truth + bias.double()
    assert y.dtype == dtype
    assert (y.double() - truth).abs().max() <= TOLERANCES[dtype] * truth.abs().max()


@pytest.mark.parametrize("name", TILES)
def test_every_tile_that_is_tried_computes_the_same(device: str, name: str) -> None:
    x8, w8 = codes(70, 83, seed=1, device=device), codes(40, 83, seed=2, device=device)
    x_scale, w_scale = numbers(70, seed=3, device=device), numbers(40, seed=4, device=device)
    found = scaled_product(x8, w8, x_scale, w_scale, dtype=torch.float16, tile=TILES[name])
    truth = exact(x8, w8).double() * x_scale.double().unsqueeze(1) * w_scale.double() / 127**2
    assert (found.double() - truth).abs().max() <= TOLERANCES[torch.float16] * truth.abs().max()


def test_codes_may_lie_anywhere(device: str) -> None:
    """TMA reads rows that begin at multiples of 16 bytes; others are copied."""
    buffer = codes(20, 100, seed=1, device=device)
    w8 = codes(30, 37, seed=2, device=device)
    ones = torch.full((30,), 127.0, device=device)
    for x8 in (buffer[:, 5:42], buffer[:, :37], buffer.t()[:37, :20].t(), buffer[::2, 1:38]):
        y = scaled_product(x8, w8, ones[: len(x8)], ones, dtype=torch.float32, tile=SMALL[0])
        torch.testing.assert_close(y.double(), exact(x8, w8).double(), rtol=3e-7, atol=0.0)


def strided(vector: Tensor) -> Tensor:
    return torch.stack((vector, vector + 9.0), dim=1)[:, 0]


def repeated(vector: Tensor) -> Tensor:
    return vector[:1].expand(vector.shape)


@pytest.mark.parametrize("laid", [strided, repeated])
@pytest.mark.parametrize("which", ["x_scale", "w_scale", "bias"])
def test_scales_and_bias_may_lie_anywhere(device: str, laid: Callable[[Tensor], Tensor], which: str) -> None:
    """A bias that is a column, or one scale for all rows, had its neighbours read."""
    x8, w8 = codes(5, 16, seed=1, device=device), codes(7, 16, seed=2, device=device)
    vectors = {"x_scale": numbers(5, seed=3, device=device), "w_scale": numbers(7, seed=4, device=device)}
    vectors["bias"] = numbers(7, seed=5, device=device)
    vectors[which] = laid(vectors[which])
    found = scaled_product(x8, w8, **vectors, dtype=torch.float32, tile=SMALL[0])
    dense = {name: vector.clone(memory_format=torch.contiguous_format) for name, vector in vectors.items()}
    right = torch_linear(x8, w8, **dense, dtype=torch.float32)
    torch.testing.assert_close(found, right)


def test_a_kernel_is_remembered_by_the_dtypes_of_scales_and_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: set[object] = set()
    monkeypatch.setattr(Launcher, "__call__", lambda *_, key, **__: keys.add(key))
    x8, wide, half = codes(4, 16, seed=1, device="cpu"), torch.ones(4), torch.ones(4, dtype=torch.float16)
    for vectors in ((wide, wide, None), (half, wide, None), (wide, half, None), (wide, wide, wide)):
        x_scale, w_scale, bias = vectors
        scaled_product(x8, x8, x_scale, w_scale, bias=bias, dtype=torch.float32)
    assert len(keys) == 4


def test_sums_that_32_bits_do_not_hold_are_refused(device: str) -> None:
    """A vocabulary of 152 000 is summed over backwards: equal codes made -126288 of 140000."""
    x8 = torch.full((1, EXACT_IN_INT32 + 1), 127, dtype=torch.int8, device=device)
    scale = torch.ones(1, device=device)
    with pytest.raises(ValueError, match="at most 131071 summed features, got 131072"):
        scaled_product(x8, x8, scale, scale, dtype=torch.float32)


def test_names_tell_tiles_apart() -> None:
    tiles = [*TILES.values(), *SMALL, SMALL[0]._replace(by_pointer=True), SMALL[0]._replace(per_processor=2)]
    assert len({tile.name for tile in tiles}) == len(tiles)
