"""Traffic counted by hand: what operations read and write, views, tables of which a part is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from tests.instruments.inspection.logged import logged

few = settings(max_examples=15)


def traffic(function: Callable[[], Any]) -> float:
    return logged(function)[0].traffic


@few
@given(st.integers(1, 200))
def test_an_addition_moves_three_tensors(n: int) -> None:
    a, b = torch.ones(n), torch.ones(n)
    assert traffic(lambda: a + b) == 3 * 4 * n
    assert traffic(lambda: a.add_(b)) == 3 * 4 * n
    assert traffic(lambda: torch.add(a, b, out=b.clone())) == 3 * 4 * n + 2 * 4 * n
    assert traffic(lambda: a + a) == 2 * 4 * n


@few
@given(st.integers(1, 200))
def test_filling_and_copying_do_not_read_what_they_overwrite(n: int) -> None:
    a, b = torch.ones(n), torch.ones(n)
    assert traffic(lambda: a.zero_()) == 4 * n
    assert traffic(lambda: a.copy_(b)) == 2 * 4 * n
    assert traffic(lambda: torch.zeros_like(a)) == 4 * n


def test_views_and_empty_memory_move_nothing() -> None:
    x = torch.ones(6, 8)
    assert (
        traffic(lambda: x.t().reshape(-1, 4).t()[1:].unsqueeze(0).expand(5, 3, 12).detach()) <= 2 * x.nbytes
    )
    assert traffic(lambda: x.t()[1:].unsqueeze(0).detach().view(1, 7, 6)) == 0
    assert traffic(lambda: torch.empty_like(x)) == 0


def test_an_expanded_tensor_is_as_small_as_its_memory() -> None:
    row = torch.ones(1, 8)
    assert traffic(lambda: row.expand(1000, 8) + 1) == row.nbytes + 1000 * 8 * 4


def test_lists_of_tensors_count_tensor_by_tensor() -> None:
    tensors = [torch.ones(5), torch.ones(7)]
    assert traffic(lambda: torch._foreach_add_(tensors, 1.0)) == 2 * (5 + 7) * 4


def test_a_table_counts_by_what_is_picked_out_of_it() -> None:
    table, rows = torch.ones(100_000, 4), torch.tensor([1, 5])
    moved = 2 * rows.nbytes + 2 * 4 * 4
    assert traffic(lambda: functional.embedding(rows, table)) == moved
    assert traffic(lambda: table[rows]) == moved
    assert traffic(lambda: table.index_add_(0, rows, torch.ones(2, 4))) < 1000


def test_a_loss_reads_its_targets_and_not_all_scores() -> None:
    scores, targets = torch.ones(8, 50_000), torch.zeros(8, dtype=torch.int64)
    assert traffic(lambda: functional.nll_loss(scores, targets)) < 1000


def test_a_sparse_tensor_is_its_indices_and_values() -> None:
    def spread() -> Tensor:
        return torch.sparse.sum(sparse)

    sparse = torch.eye(1000).to_sparse().coalesce()
    assert traffic(spread) < 4 * 1000 * (8 + 8 + 4)
