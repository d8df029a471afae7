"""FragmentedLinear's products of all fragments: where they are worth it, and that each stays by itself."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.fragmented import TOLERANCES
from stepmark.zoo.kernels import fragmented
from stepmark.zoo.kernels.fragmented_products import (
    MOST_FEATURES,
    MOST_PRODUCTS,
    MOST_ROWS,
    products_plan,
    suits_products,
)
from stepmark.zoo.kernels.fragmented_sizes import Sizes, sizes_of
from tests.zoo.agreement import largest_error
from tests.zoo.kernels.fragmented_cases import draw, in_float64

HALF = torch.bfloat16


def published(n: int, rows: int, fragments: int, dtype: torch.dtype = HALF) -> Sizes:
    return Sizes(rows, fragments, n // fragments, n, n // 32, dtype, has_bias=False)


@pytest.mark.parametrize("n", [2048, 4096])
@pytest.mark.parametrize("rows", [8, 16])
@pytest.mark.parametrize("fragments", [2, 8])
def test_they_are_among_the_candidates_where_most_fragments_are_chosen(
    n: int, rows: int, fragments: int
) -> None:
    plans = fragmented.candidates(published(n, rows, fragments))
    assert {*fragmented.PRODUCTS} <= {*plans}
    assert not {*fragmented.PRODUCTS} & {*fragmented.candidates(published(n, rows, fragments, torch.float32))}


@pytest.mark.parametrize(
    "sizes",
    [published(2048, 1, 2), published(2048, 8, 32), published(8192, 8, 2), published(4096, 64, 8)],
    ids=["one row", "more fragments than rows", "many features", "many rows"],
)
def test_they_are_not_where_they_would_read_or_keep_too_much(sizes: Sizes) -> None:
    assert not suits_products(sizes)
    assert not {*fragmented.PRODUCTS} & {*fragmented.candidates(sizes)}


@settings(max_examples=200)
@given(
    rows=st.integers(1, MOST_ROWS + 1),
    fragments=st.integers(1, MOST_ROWS + 1),
    size=st.integers(1, 2 * MOST_FEATURES),
    outputs=st.integers(1, 2 * MOST_FEATURES),
    narrow=st.integers(0, 400),
)
def test_what_suits_fits_into_the_offsets_and_the_memory(
    rows: int, fragments: int, size: int, outputs: int, narrow: int
) -> None:
    sizes = Sizes(rows, fragments, size, outputs, narrow, HALF, has_bias=True)
    if not suits_products(sizes):
        return
    assert max(sizes.features * outputs, sizes.features * narrow) < 1 << 31
    for options in fragmented.PRODUCTS.values():
        plan = products_plan(sizes, **options)
        first, second = plan.plain
        parts, part, pieces, length = (first.options[name] for name in ("PARTS", "PART", "PIECES", "LENGTH"))
        assert min(parts * part, pieces * length) >= size
        assert (parts - 1) * part < size
        assert plan.number <= MOST_PRODUCTS + rows * fragments * pieces * (narrow + 1) + 3
        assert first.grid[0] == fragments * (
            pieces * -(-narrow // first.options["TILE_NARROW"]) + parts * -(-outputs // first.options["TILE"])
        )
        assert second.grid[0] * second.options["TILE"] >= outputs


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype", fragmented.DTYPES)
def test_numbers_that_are_none_in_other_fragments_stay_there(
    device: str, dtype: torch.dtype, keep: bool
) -> None:
    """Each row's output is its own fragment's, whatever the others' products came to."""
    torch.manual_seed(4)
    x, parameters = draw((6, 3, 20, 33, 7), dtype, device)
    for row in range(6):
        fragment = row % 2
        x[row, 20 * fragment : 20 * fragment + 20] = 5.0 * parameters.selector[fragment]
    truth = in_float64(x, parameters)
    parameters.weight[2] = torch.nan
    plan = products_plan(sizes_of(x, parameters), tile=32, last=16, length=16)
    y, hidden, chosen = plan(x, parameters, keep=keep)
    assert largest_error(y, truth, least=1.0) <= TOLERANCES[dtype]
    assert (chosen is not None and chosen.tolist() == [0, 1] * 3) if keep else hidden is None
