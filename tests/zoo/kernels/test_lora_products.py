"""LoRA's kernels: every way against float64, forwards and backwards, at sizes that fit no tile."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.kernels import lora_gradients, lora_products
from stepmark.zoo.kernels.lora_sizes import Tile
from stepmark.zoo.kernels.lora_ways import backward_ways, forward_ways
from tests.zoo.kernels.lora_cases import Case, assert_near, drawn, truth_of
from tests.zoo.kernels.thinning import COMPILED, covering, number_of_examples

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
RANKS = [1, 4, 8, 16, 33, 64]
KINDS = ["biased", "linear", "adapter"]
MOST_STEPS = 12 if COMPILED else 5
"""Of sixteen features: more of them than the longest tile of a product in float32 has."""
FUSED_SIZES = (600, 272, 400) if COMPILED else (300, 144, 272)
"""Rows, inputs and outputs that leave a rest in tiles of 128 by 128, and are many tiles."""


def check_all_ways(case: Case, dtype: torch.dtype) -> None:
    x, g, layer = case
    truth = truth_of(case)
    for make in forward_ways(case.sizes).values():
        y, s = make()(x, layer)
        assert_near(y, truth.y, dtype)
        assert_near(s, truth.s, dtype)
    s = truth.s.to(dtype)
    for needs_dx in (True, False):
        for make_back in backward_ways(case.sizes, needs_dx=needs_dx).values():
            dx, da, db = make_back()(g, x, s, layer)
            assert_near(da, truth.a, dtype)
            assert_near(db, truth.b, dtype)
            if needs_dx:
                assert_near(dx, truth.x, dtype)
            else:
                assert dx is None


@pytest.mark.parametrize(("dtype", "kind"), covering(DTYPES, KINDS))
def test_every_way_is_the_reference(dtype: torch.dtype, kind: str, device: str) -> None:
    check_all_ways(drawn((3, 7), 48, 32, 8, dtype=dtype, device=device, kind=kind), dtype)


@pytest.mark.parametrize("rank", RANKS)
def test_every_rank_is_the_reference(rank: int, device: str) -> None:
    check_all_ways(drawn((5,), 48, 16, rank, dtype=torch.float16, device=device), torch.float16)


@settings(max_examples=number_of_examples(compiled=6, interpreted=3))
@given(
    st.integers(1, 70),
    st.integers(1, MOST_STEPS),
    st.integers(1, MOST_STEPS),
    st.sampled_from([1, 5, 16]),
    st.sampled_from(KINDS),
)
def test_sizes_that_fit_no_tile_are_the_reference(
    rows: int, inputs: int, outputs: int, rank: int, kind: str
) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sizes = (16 * inputs, 16 * outputs, rank)
    check_all_ways(drawn((rows,), *sizes, dtype=torch.float32, device=device, kind=kind), torch.float32)


@pytest.mark.parametrize("magnitude", [0.0, 1e-15, 1e15])
def test_zero_tiny_and_huge_inputs_are_the_reference(magnitude: float, device: str) -> None:
    case = drawn((20,), 32, 48, 4, dtype=torch.bfloat16, device=device, magnitude=magnitude)
    check_all_ways(case, torch.bfloat16)


def test_a_zero_b_gives_the_base_and_no_gradient_of_a(device: str) -> None:
    case = drawn((20,), 32, 48, 4, dtype=torch.float32, device=device)
    case.layer.b.zero_()
    check_all_ways(case, torch.float32)


@pytest.mark.parametrize(("forward", "rank"), covering([True, False], [5, 33]))
def test_the_fused_product_is_the_reference(forward: bool, rank: int, device: str) -> None:
    """Tiles that are cut off at every side, and more of them than programs."""
    rows, inputs, outputs = FUSED_SIZES
    case = drawn((rows,), inputs, outputs, rank, dtype=torch.float16, device=device)
    tile, thin = Tile(128, 128, 64, 4, 3), Tile(64, 16, 128, 4, 3)
    out, _ = lora_products.fused(case.sizes, thin, tile, forward=forward)(
        case.x if forward else case.g, case.layer
    )
    assert_near(out, truth_of(case).y if forward else truth_of(case).x, torch.float16)


def shifted(matrix: torch.Tensor) -> torch.Tensor:
    """The same at an address that is no multiple of 16."""
    other = matrix.new_empty(matrix.numel() + 1)[1:].view(matrix.shape).copy_(matrix)
    assert other.data_ptr() % 16
    return other


@pytest.mark.parametrize(
    ("forward", "lies"), covering([True, False], ["shifted", "weight shifted", "rows apart"])
)
def test_the_fused_product_takes_what_descriptors_do_not(forward: bool, lies: str, device: str) -> None:
    """A plan is remembered by sizes, and how the next input lies is not among them."""
    case = drawn((130,), 64, 144, 5, dtype=torch.float16, device=device)
    truth = truth_of(case)
    way = lora_products.fused(case.sizes, Tile(64, 16, 64, 4, 3), Tile(128, 128, 64, 4, 3), forward=forward)
    z, layer = case.x if forward else case.g, case.layer
    assert_near(way(z, layer)[0], truth.y if forward else truth.x, torch.float16)
    if lies == "shifted":
        z = shifted(z)
    elif lies == "weight shifted":
        assert layer.weight is not None
        layer = layer._replace(weight=shifted(layer.weight))
    else:
        z = torch.cat([z, z[:, :3]], dim=1)[:, : z.shape[1]]
    assert_near(way(z, layer)[0], truth.y if forward else truth.x, torch.float16)


def test_what_a_descriptor_takes_is_not_copied() -> None:
    matrix = torch.empty(4, 32, dtype=torch.float16)
    for taken in (matrix, matrix[:, :24], matrix[1:, 8:]):
        assert lora_products._round(taken) is taken
    for other in (matrix[:, 1:9], matrix[:1].expand(4, 32), torch.empty(4, 33, dtype=torch.float16)[:, :32]):
        copied = lora_products._round(other)
        assert copied.is_contiguous()
        assert copied.data_ptr() not in (other.data_ptr(), matrix.data_ptr())


@pytest.mark.parametrize(("forward", "kind", "dtype"), covering([True, False], KINDS, DTYPES))
def test_blocks_of_rows_are_the_reference(forward: bool, kind: str, dtype: torch.dtype, device: str) -> None:
    """Blocks, steps and columns that are cut off; rows that lie apart as those that do not."""
    case = drawn((5, 9), 80, 144, 5, dtype=dtype, device=device, kind=kind)
    truth, tile = truth_of(case), Tile(16, 64, 32, 4, 3)
    way = lora_products.in_rows(case.sizes, tile, forward=forward)
    z = case.x if forward else case.g
    # On a CPU torch 2.13 multiplies what lies behind rows of bfloat16 with its own noughts: NaN stays NaN.
    behind = 1.0 if dtype is torch.bfloat16 else float("nan")
    apart = torch.cat([z, torch.full_like(z, behind)], dim=-1)[..., : z.shape[-1]]
    for each in (z, apart):
        out, thin = way(each, case.layer)
        assert_near(out, truth.y if forward else truth.x, dtype)
        if forward:
            assert_near(thin, truth.s, dtype)


@pytest.mark.parametrize(("columns", "splits"), covering([16, 32, 64, 128], [1, 3]))
def test_strips_of_every_width_are_the_reference(columns: int, splits: int, device: str) -> None:
    case = drawn((100,), 80, 144, 5, dtype=torch.bfloat16, device=device)
    truth = truth_of(case)
    h = lora_products.torch_thin(case.g, case.layer, forward=False)
    strips = lora_gradients.strips(case.sizes, Tile(0, columns, 32, 4, 3), splits)
    da, db = strips(case.g, case.x, truth.s.to(torch.bfloat16), h)
    assert_near(da, truth.a, torch.bfloat16)
    assert_near(db, truth.b, torch.bfloat16)


def test_rows_that_lie_apart_are_read_where_they_lie(device: str) -> None:
    case = drawn((9,), 32, 16, 4, dtype=torch.float32, device=device)
    wide_x = torch.cat([case.x, torch.full_like(case.x, float("nan"))], dim=1)
    wide_g = torch.cat([case.g, torch.full_like(case.g, float("nan"))], dim=1)
    check_all_ways(Case(wide_x[:, :32], wide_g[:, :16], case.layer), torch.float32)


def test_the_same_input_gives_the_same_bits(device: str) -> None:
    case = drawn((70,), 48, 32, 8, dtype=torch.bfloat16, device=device)
    for make in backward_ways(case.sizes, needs_dx=True).values():
        way, s = make(), truth_of(case).s.to(torch.bfloat16)
        first, second = (way(case.g, case.x, s, case.layer) for _ in range(2))
        assert all(
            one is not None and other is not None and torch.equal(one, other)
            for one, other in zip(first, second, strict=True)
        )
