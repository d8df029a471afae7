"""Plans of FragmentedLinear: the definition's values, whatever the split and the tile."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.fragmented import TOLERANCES
from stepmark.zoo.fragmented_reference import fragment_scores
from stepmark.zoo.kernels import fragmented
from stepmark.zoo.kernels.fragmented_chain import Chain
from stepmark.zoo.kernels.fragmented_plans import GroupsPlan, rows_plan, tiles_plan
from stepmark.zoo.kernels.fragmented_products import products_plan
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes, sizes_of, split_for_rows, split_for_tiles
from stepmark.zoo.kernels.fragmented_sorted import SortedPlan
from tests.zoo.agreement import largest_error
from tests.zoo.kernels.fragmented_cases import draw, in_float64
from tests.zoo.kernels.thinning import covering, number_of_examples


def rows(sizes: Sizes, splits: int = 4, **options: Any) -> Chain:
    return rows_plan(sizes, splits=splits, tile_narrow=8, tile=16, rows=2, step=16, **options)


def tiles(sizes: Sizes, splits: int = 4, **options: Any) -> Chain:
    return tiles_plan(sizes, splits=splits, tile=16, tile_narrow=16, **({"step": 16} | options))


def groups(sizes: Sizes, **options: Any) -> GroupsPlan:
    return GroupsPlan(sizes, rows=16, tile=16, step=16, span=2, **options)


def in_order(sizes: Sizes, narrow: tuple[int, int] = (16, 16), **options: Any) -> SortedPlan:
    return SortedPlan(sizes, **({"rows": 16, "tile": 16, "step": 16} | options), narrow=(*narrow, 4, 2))


def products(sizes: Sizes, splits: int) -> Chain:
    length = 1 << (-(-sizes.features // splits)).bit_length()
    return products_plan(sizes, tile=32, last=16, step=16, length=length)


PLANS: dict[str, Any] = {
    "rows": rows,
    "rows, sums ahead": lambda sizes, splits: rows(sizes, splits, ahead=True, late=True),
    "rows, then choice": lambda sizes, splits: rows(sizes, splits, inline=False, early=True),
    "tiles": tiles,
    "tiles of large steps": lambda sizes, splits: tiles(sizes, splits, step=64),
    "tiles, narrow ahead": lambda sizes, splits: tiles(sizes, splits, ahead=True),
    "tiles, then rows": lambda sizes, splits: tiles(sizes, splits, by_rows=2),
    "tiles, then rows that choose": lambda sizes, splits: tiles(sizes, splits, by_rows=1, inline=True),
    "tiles, then rows, sums ahead": lambda sizes, splits: tiles(
        sizes, splits, by_rows=2, inline=True, ahead=True
    ),
    "singles": lambda sizes, splits: tiles(sizes, splits, one_by_one=True),
    "singles, narrow ahead": lambda sizes, splits: tiles(sizes, splits, one_by_one=True, ahead=True),
    "products": products,
    "groups": lambda sizes, splits: groups(sizes),
    "groups, apart": lambda sizes, splits: groups(sizes, fused=False),
    "sorted": lambda sizes, splits: in_order(sizes),
    "sorted, large tiles": lambda sizes, splits: in_order(sizes, (32, 64), rows=64, tile=32, step=64),
    "masked": lambda sizes, splits: fragmented.masked,
}


def agrees(plan: Any, x: Tensor, parameters: Parameters, *, least: float = 0.0) -> None:
    """Row by row: beside a huge row others would be nothing."""
    y, hidden, chosen = plan(x, parameters, keep=True)
    assert y.dtype == x.dtype
    assert hidden.shape == (x.shape[0], parameters.compressor.shape[1])
    truth = in_float64(x, parameters)
    for found, right in zip(y, truth, strict=True):
        assert largest_error(found, right, least=least) <= TOLERANCES[x.dtype]
    scores = fragment_scores(x.cpu().double(), parameters.selector.cpu().double())
    assert torch.equal(chosen.cpu().long(), scores.argmax(-1))


def agrees_keeping_or_not(plan: Any, x: Tensor, parameters: Parameters, *, least: float = 0.0) -> None:
    agrees(plan, x, parameters, least=least)
    y = plan(x, parameters)[0]
    assert largest_error(y, in_float64(x, parameters), least=least) <= TOLERANCES[x.dtype]


@settings(max_examples=number_of_examples(compiled=20, interpreted=8))
@given(
    name=st.sampled_from(list(PLANS)),
    shape=st.tuples(*(st.integers(1, most) for most in (7, 6, 21, 34, 9))),
    splits=st.sampled_from([1, 3, 8]),
    dtype=st.sampled_from(fragmented.DTYPES),
    bias=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_every_plan_computes_the_definition(
    device: str, name: str, shape: tuple[int, ...], splits: int, dtype: torch.dtype, bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    x, parameters = draw(shape, dtype, device, bias=bias)
    agrees_keeping_or_not(PLANS[name](sizes_of(x, parameters), splits), x, parameters, least=1.0)


@pytest.mark.parametrize(("name", "split"), covering(list(PLANS), [(8, 4), (2, 48), (3, 20)]))
def test_sizes_shared_split_and_odd(device: str, name: str, split: tuple[int, int]) -> None:
    """Several fragments in a split, several splits in a fragment, and sizes that are no powers of two."""
    number, size = split
    torch.manual_seed(size)
    x, parameters = draw((5, number, size, 33, 7), torch.float32, device)
    agrees_keeping_or_not(PLANS[name](sizes_of(x, parameters), 4), x, parameters)


def special(normal: Tensor, parameters: Parameters) -> Tensor:
    """Rows that are nought, huge, tiny, of which one fragment is by far the best, and a normal one."""
    x = normal * torch.tensor([0.0, 1e18, 1e-18, 0.01, 1.0], device=normal.device)[:, None]
    x[3, 12:16] = 5.0 * parameters.selector[3]
    return x


@pytest.mark.parametrize("name", PLANS)
def test_special_rows(device: str, name: str) -> None:
    """All of them at once, rows apart in memory; and each row with another fragment as its best."""
    torch.manual_seed(5)
    memory, parameters = draw((10, 8, 4, 17, 3), torch.float32, device)
    plan = PLANS[name](sizes_of(memory[::2], parameters), 2)
    memory[::2] = special(memory[::2], parameters)
    agrees(plan, memory[::2], parameters)
    x = torch.zeros_like(memory[:5])
    for row in range(5):
        x[row, 4 * row : 4 * row + 4] = parameters.selector[row]
    agrees(plan, x, parameters)


@pytest.mark.parametrize(("name", "row"), covering(list(PLANS), range(5)))
def test_a_special_row_by_itself(device: str, name: str, row: int) -> None:
    torch.manual_seed(1)
    normal, parameters = draw((5, 8, 4, 17, 3), torch.float32, device)
    x = special(normal, parameters)[row : row + 1]
    agrees(PLANS[name](sizes_of(x, parameters), 2), x, parameters)


@pytest.mark.parametrize("name", PLANS)
def test_of_equal_scores_the_first_is_chosen(device: str, name: str) -> None:
    x, parameters = draw((3, 8, 4, 17, 3), torch.float32, device)
    parameters = parameters._replace(selector=torch.ones_like(parameters.selector))
    x = torch.ones_like(x)
    x[1:, :8] = 0.5
    agrees(PLANS[name](sizes_of(x, parameters), 2), x, parameters)


@pytest.mark.parametrize("name", PLANS)
def test_weights_of_fragments_that_were_not_chosen_are_not_read(device: str, name: str) -> None:
    torch.manual_seed(3)
    x, parameters = draw((3, 8, 4, 17, 3), torch.float32, device)
    if name == "masked":
        pytest.skip("it reads all of them: what it is for")
    chosen = fragment_scores(x, parameters.selector).argmax(-1).tolist()
    for fragment in set(range(8)) - set(chosen):
        parameters.weight[fragment] = torch.nan
    assert PLANS[name](sizes_of(x, parameters), 2)(x, parameters)[0].isfinite().all()


def choosing(shape: tuple[int, ...], chosen: list[int], dtype: torch.dtype, device: str) -> Any:
    """Of x's rows each has the fragment that is told by far as its best."""
    torch.manual_seed(len(chosen))
    x, parameters = draw((len(chosen), *shape), dtype, device)
    size = shape[1]
    for row, fragment in enumerate(chosen):
        x[row, fragment * size : (fragment + 1) * size] = 5.0 * parameters.selector[fragment]
    return x, parameters


CHOICES = {
    "all the first": [0] * 37,
    "all the last": [6] * 37,
    "the first and the last": [0, 6] * 20,
    "most the same": [3] * 35 + [0, 6, 5],
    "all in turn": list(range(7)) * 7,
    "fewer rows than a tile": [6, 0, 6],
}


@pytest.mark.parametrize(
    ("choice", "size", "dtype"), covering(list(CHOICES), [8, 10, 96], [torch.bfloat16, torch.float32])
)
@pytest.mark.parametrize("name", ["groups", "sorted", "sorted, large tiles"])
def test_groups_long_and_empty(device: str, name: str, choice: str, size: int, dtype: torch.dtype) -> None:
    x, parameters = choosing((7, size, 33, 20), CHOICES[choice], dtype, device)
    unread = set(range(7)) - set(CHOICES[choice])
    parameters.weight[list(unread)] = 0.0
    plan = PLANS[name](sizes_of(x, parameters), 1)
    agrees_keeping_or_not(plan, x, parameters, least=1.0)
    parameters.weight[list(unread)] = torch.nan
    assert plan(x, parameters)[0].isfinite().all()


@pytest.mark.parametrize(("fragments", "splits"), [(2, 2), (8, 8), (64, 8), (1, 1)])
def test_narrow_features_of_sorted_rows_are_split_among_idle_processors(
    device: str, fragments: int, splits: int
) -> None:
    x, parameters = draw((20, fragments, 64, 17, 5), torch.float32, device)
    plan = in_order(sizes_of(x, parameters))
    assert plan.splits == splits
    agrees_keeping_or_not(plan, x, parameters, least=1.0)


def test_sums_over_splits_take_little_memory() -> None:
    for rows in (33, 2048, 8192, 1 << 20):
        sizes = Sizes(rows, 32, 256, 8192, 256, torch.bfloat16, has_bias=False)
        for options in fragmented.SORTED.values():
            splits = SortedPlan(sizes, **options).splits
            assert splits == 1 or splits * rows * sizes.narrow * 4 <= 1 << 25


def test_scores_that_are_no_number_are_the_best(device: str) -> None:
    x, parameters = choosing((7, 8, 33, 20), [3] * 20, torch.float32, device)
    x[5, 17] = x[5, 50] = torch.nan
    for name in ("groups", "sorted"):
        chosen = PLANS[name](sizes_of(x, parameters), 1)(x, parameters, keep=True)[2]
        assert chosen.tolist() == [3] * 5 + [2] + [3] * 14


@settings(max_examples=20)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 64))
def test_splits_cover_every_feature_once(number: int, size: int, wanted: int) -> None:
    sizes = Sizes(1, number, size, 1, 1, torch.float32, has_bias=False)
    for split in (split_for_rows(sizes, wanted), split_for_tiles(sizes, wanted)):
        if split.pieces > 1:
            assert split.own == 1
            assert split.splits == number * split.pieces
            assert split.pieces * split.length >= size
        else:
            assert split.splits * split.own >= number > (split.splits - 1) * split.own
            assert split.length >= split.own * size


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@settings(max_examples=100)
@given(rows=st.integers(33, 1 << 23), narrow=st.sampled_from([0, 16, 700]))
def test_candidates_for_many_rows_are_launchable(dtype: torch.dtype, rows: int, narrow: int) -> None:
    sizes = Sizes(rows, 4, 64, 96, narrow, dtype, False)
    plans = fragmented.candidates(sizes)
    assert "masked" in plans
    for plan in plans.values():
        grids = getattr(plan, "grids", ())
        assert all(side <= 65535 for grid in grids for side in grid[1:])
    tables = [fragmented.GROUPS_OF_FLOAT32] if dtype is torch.float32 else [fragmented.GROUPS]
    tables += [fragmented.SORTED] if narrow and dtype is torch.bfloat16 else []
    if rows <= 1 << 19:
        assert {name for table in tables for name in table} <= set(plans), "no plan is left out for nothing"


@pytest.mark.parametrize(("narrow", "has"), [((1 << 17) - 1, True), (1 << 17, False)])
def test_rows_are_sorted_where_32_bits_hold_the_compressors_offsets(narrow: int, has: bool) -> None:
    plans = fragmented.candidates(Sizes(4096, 8, 2048, 96, narrow, torch.bfloat16, False))
    assert any(name.startswith("sorted") for name in plans) is has


def test_a_plan_that_was_taken_in_a_capture_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def choose(x: Tensor, _: Parameters, *, keep: bool) -> fragmented.Plan:
        asked.append(keep)
        return fragmented.masked

    monkeypatch.setattr(fragmented, "_choose", choose)
    monkeypatch.setattr(fragmented, "_plans", {})
    x, parameters = draw((3, 2, 16, 8, 4), torch.float32, "cpu")
    for capturing, expected in ((True, 1), (True, 2), (False, 3), (False, 3), (True, 3)):
        monkeypatch.setattr(fragmented, "is_capturing", lambda capturing=capturing: capturing)
        fragmented.plan_for(x, parameters)
        assert len(asked) == expected


def test_plans_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragmented, "MOST_PLANS", 3)
    monkeypatch.setattr(fragmented, "_plans", {})
    for rows in range(1, 10):
        x, parameters = draw((rows, 2, 4, 5, 3), torch.float32, "cpu")
        assert fragmented.plan_for(x, parameters) is fragmented.plan_for(x, parameters)
        assert len(fragmented._plans) <= 3
