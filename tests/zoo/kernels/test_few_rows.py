"""Products of few rows: float32 by matrix units, whatever the sizes, and how the matrix lies."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.kernels import few_rows
from stepmark.zoo.kernels.launch import Launcher
from tests.zoo.agreement import largest_error
from tests.zoo.kernels.stands_in import StandsIn
from tests.zoo.kernels.thinning import covering, number_of_examples

NAMES = list(few_rows.TILES)
LIES = ["straight", "turned", "apart"]


def matrix(lies: str, depth: int, columns: int, device: str) -> torch.Tensor:
    if lies == "turned":
        return torch.randn(columns, depth, device=device).t()
    memory = torch.randn(depth, columns * (2 if lies == "apart" else 1), device=device)
    return memory[:, ::2] if lies == "apart" else memory


def agrees(name: str, lies: str, sizes: tuple[int, int, int], device: str, *, add: bool) -> None:
    rows, depth, columns = sizes
    a, b = torch.randn(rows, depth, device=device), matrix(lies, depth, columns, device)
    into = torch.randn(rows, columns, device=device) if add else None
    truth = a.double() @ b.double() + (0.0 if into is None else into.double())
    found = few_rows._by_tiles(into, a, b, name)
    assert into is None or found is into
    assert largest_error(found, truth) <= 2e-6


@pytest.mark.parametrize(("name", "lies", "add"), covering(NAMES, LIES, [False, True]))
def test_every_tile_gives_float32s_digits(device: str, name: str, lies: str, add: bool) -> None:
    torch.manual_seed(0)
    agrees(name, lies, (5, 700, 150), device, add=add)


@settings(max_examples=number_of_examples(compiled=40, interpreted=10))
@given(
    name=st.sampled_from(NAMES),
    lies=st.sampled_from(LIES),
    sizes=st.tuples(st.integers(1, 16), st.integers(1, 300), st.integers(1, 140)),
    add=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_odd_sizes(
    device: str, name: str, lies: str, sizes: tuple[int, int, int], add: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    agrees(name, lies, sizes, device, add=add)


@pytest.mark.parametrize("scale", [1e-18, 1e18])
def test_tiny_and_huge_numbers(device: str, scale: float) -> None:
    torch.manual_seed(1)
    a, b = torch.randn(3, 200, device=device) * scale, torch.randn(200, 70, device=device)
    for name in NAMES:
        found = few_rows._by_tiles(None, a, b, name)
        assert largest_error(found / scale, (a.double() @ b.double()) / scale) <= 2e-6


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_what_is_not_finite_stays_so_and_where_it_is(device: str, value: float) -> None:
    a, b = torch.ones(3, 200, device=device), torch.ones(200, 128, device=device)
    a[1, 77] = value
    for name in NAMES:
        found = few_rows._by_tiles(None, a, b, name)
        assert torch.equal(found[0], torch.full_like(found[0], 200.0))
        assert torch.allclose(found[1], torch.full_like(found[1], value), equal_nan=True)


def test_candidates_compute_the_same_however_often_they_are_called(device: str) -> None:
    """What was added in place, call by call, was another sum for each of them: all but the first were out."""
    offered: dict[str, torch.Tensor] = {}

    def choose(_operation: str, _key: object, candidates: dict[str, object], *, default: str) -> str:
        for name, call in candidates.items():
            call()  # type: ignore[operator]
            offered[name] = call()  # type: ignore[operator]
        return default

    a, b = torch.randn(2, 50, device=device), torch.randn(50, 30, device=device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "choose", choose)
        assert few_rows._choose(a, b) == "torch"
    assert set(offered) == {"torch", *NAMES}
    for found in offered.values():
        assert largest_error(found, a.double() @ b.double()) <= 2e-6


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
    """What was measured, on a GPU that is none: torch was the fastest."""
    seen: list[tuple[Tensor, Tensor]] = []

    def choose(a: Tensor, b: Tensor) -> str:
        seen.append((a, b))
        return "torch"

    monkeypatch.setattr(few_rows, "_choose", choose)
    monkeypatch.setattr(few_rows, "_chosen", {})
    return seen


def test_a_choice_is_for_sizes_and_for_how_the_matrix_lies(
    stands_in: StandsIn, asked: list[tuple[Tensor, Tensor]]
) -> None:
    def product(rows: int, b: Tensor, into: Tensor | None = None) -> Tensor:
        return few_rows.add_product(into, stands_in.tensor(rows, len(b)), b)

    wide, turned = torch.ones(8, 12), torch.ones(12, 8).t()
    for b in (wide, turned, torch.ones(8, 16), torch.ones(4, 12), torch.ones(8, 24)[:, ::2]):
        for rows in (1, 3):
            before = len(asked)
            product(rows, b)
            assert len(asked) == before + 1
            product(rows, torch.clone(b, memory_format=torch.preserve_format))
            product(rows, b, into=torch.zeros(rows, b.shape[1]))
            assert len(asked) == before + 1, "the sizes are known, whatever is added to"
    assert product(few_rows.MOST_ROWS + 1, wide).shape == (few_rows.MOST_ROWS + 1, 12)
    assert len(asked) == 10, "of many rows nothing is asked"


def test_what_was_taken_in_a_capture_is_not_remembered(
    stands_in: StandsIn, asked: list[tuple[Tensor, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = stands_in.tensor(3, 8), torch.ones(8, 12)
    monkeypatch.setattr(few_rows, "is_for_a_graph", lambda: True)
    for capturing, expected in ((True, 1), (True, 2), (False, 3), (False, 3), (True, 3)):
        monkeypatch.setattr(few_rows, "is_capturing", lambda capturing=capturing: capturing)
        few_rows.add_product(None, a, b)
        assert len(asked) == expected


def test_sums_of_more_than_32_bits_are_compiled_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is remembered takes the whole numbers that it was compiled for."""
    keys: dict[int, object] = {}

    def note(_: object, __: object, *args: object, key: object, **___: object) -> None:
        if isinstance(args[2], int):
            keys[args[2]] = key

    monkeypatch.setattr(Launcher, "__call__", note)
    for columns in (1 << 29, 1 << 30, 1 << 31):
        a, b = torch.empty(1, 16, device="meta"), torch.empty(16, columns, device="meta")
        few_rows._by_tiles(None, a, b, "tile64x64w4-2")
    assert keys[1 << 29] == keys[1 << 30] != keys[1 << 31]
