"""Offsets beyond 2^31 entries, in memory that is there where it is touched: interpreted, on a CPU."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from stepmark.zoo.kernels.few_rows_kernels import add_splits, few_rows_product
from tests.zoo.kernels import far_kernels
from tests.zoo.kernels.far_memory import FarMemory

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="memory of the CPU, for Triton's interpreter"),
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
WRAPS = 1 << 31
BR = 64


def test_thin_rows_far_down_are_read() -> None:
    """2^25 rows of 64 ranks: 4 GB of bfloat16."""
    first, thin = WRAPS // BR, FarMemory(torch.int8, WRAPS + (1 << 16))
    thin.at(WRAPS, 16 * BR)[:] = torch.arange(16 * BR) % 100
    out = torch.zeros(16, BR, dtype=torch.int8)
    far_kernels.thin_at[1, 1, 1](thin.base, out, first, first + 16, R=BR, BR=BR)
    assert torch.equal(out, (torch.arange(16 * BR) % 100).view(16, BR).to(torch.int8))


@pytest.mark.parametrize("forward", [True, False])
def test_factors_of_many_columns_are_read_and_written(forward: bool) -> None:
    """Rank by rank, whose rows are far apart, or column by column, the last of which are far out."""
    first, number = (0, WRAPS // 32) if forward else (WRAPS // BR, WRAPS // BR + 16)
    given = (torch.arange(16 * BR) % 100).view(BR, 16).to(torch.int8)

    def place(rank: int, column: int) -> int:
        return rank * number + column if forward else (first + column) * BR + rank

    memory = FarMemory(torch.int8, number * BR)
    for rank, column in product(range(BR), range(16)):
        memory.at(place(rank, column))[0] = given[rank, column]
    out = torch.zeros(BR, 16, dtype=torch.int8)
    far_kernels.q_at[1, 1, 1](memory.base, out, first, number, R=BR, FORWARD=forward, BR=BR)
    assert torch.equal(out, given)
    written, turned = FarMemory(torch.int8, number * BR), given.t().contiguous()
    far_kernels.factor_at[1, 1, 1](written.base, turned, first, number, R=BR, RANK_FIRST=forward, BR=BR)
    for rank, column in ((0, 0), (BR - 1, 0), (BR - 1, 15), (31, 7), (32, 7)):
        assert written.at(place(rank, column)).item() == given[rank, column]


def test_parts_of_factors_are_added_up() -> None:
    number, splits = WRAPS // (4 * BR), 6
    parts = FarMemory(torch.float32, splits * number * BR)
    for split in range(splits):
        parts.at(split * number * BR, BR)[:] = 1.0 + split
    out = torch.zeros(16, BR)
    far_kernels.sum_at[1, 1, 1](parts.base, out, 0, number, R=BR, SPLITS=splits, BR=BR)
    assert torch.equal(out[0], torch.full((BR,), 21.0))


def test_a_matrix_is_read_step_by_step() -> None:
    number, step = WRAPS // 32, 32
    matrix = FarMemory(torch.float16, 2 * WRAPS)
    matrix.at(step * number)[0] = 3.0
    out = torch.zeros(16, 16)
    far_kernels.wide_at[1, 1, 1](
        torch.ones(16, 2 * step, dtype=torch.float16), matrix.base, out, number, K=2 * step, BK=step
    )
    assert torch.equal(out[:, 0], torch.full((16,), 3.0))


def test_products_of_few_rows_with_many_columns_are_written() -> None:
    columns, splits, rows, depth = WRAPS // 64, 8, 16, 8 * 32
    a, b = torch.ones(rows, depth), torch.ones(depth)
    parts = FarMemory(torch.float32, splits * rows * columns)
    # Of one column: the others are the same again, by their stride of nought.
    few_rows_product[1, splits, 1](
        a, b, parts.base, rows, depth, columns, 1, 0,
        ROWS=16, TILE=16, STEP=32, STAGES=1, AT_ONCE=1, SPLITS=splits, ADD=False,
    )  # fmt: skip
    for split, row in ((0, 0), (3, 15), (4, 0), (7, 15)):
        assert parts.at((split * rows + row) * columns).item() == depth // splits


def test_parts_of_products_are_added_up() -> None:
    number, splits = WRAPS // 4, 8
    parts = FarMemory(torch.float32, splits * number)
    for split in range(splits):
        parts.at(split * number)[0] = 1.0 + split
    out = torch.zeros(16)
    add_splits[1, 1, 1](parts.base, out, number, SPLITS=splits, AT_ONCE=16, ADD=False)
    assert out[0] == 36.0
