"""Storages: numbers that are never used again, deaths, live and peak bytes, sparse layouts."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.instruments.inspection.storages import Storages, dense_parts, footprint


def test_views_share_a_number_and_copies_do_not() -> None:
    storages, x = Storages(), torch.ones(4, 4)
    (number,) = storages.numbers(x)
    assert storages.numbers(x.t()[1:]) == storages.numbers(x.detach()) == (number,)
    assert storages.numbers(x.clone()) != (number,)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_numbers_are_never_given_twice(sizes: list[int]) -> None:
    """Freed memory is given out again at once, with the same address."""
    storages = Storages()
    given_out = [storages.numbers(torch.ones(size), birth=0) for size in sizes]
    assert len(set(given_out)) == len(sizes)
    assert storages.alive() == set()
    assert storages.live == 0
    assert storages.peak == 4 * max(sizes)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), min_size=1, max_size=30))
def test_live_and_peak_follow_any_sequence(steps: list[tuple[int, bool]]) -> None:
    """Against plain sums: a tensor is made, and the oldest may be dropped before."""
    storages, live, peak = Storages(), 0, 0
    kept: list[torch.Tensor] = []
    for size, drop in steps:
        if drop and kept:
            live -= kept.pop(0).nbytes
        kept.append(torch.ones(size))
        storages.numbers(kept[-1], birth=0)
        live += 4 * size
        peak = max(peak, live)
        assert (storages.live, storages.peak) == (live, peak)


def test_memory_that_only_the_graph_holds_is_alive() -> None:
    storages, x = Storages(), torch.ones(5, requires_grad=True)
    middle = x * 2
    squared = middle**2
    storages.numbers(middle, birth=0)
    del middle
    assert storages.live == 20
    del squared
    assert storages.live == 0


def test_what_was_there_before_is_not_counted() -> None:
    storages, x = Storages(), torch.ones(8)
    storages.numbers(x)
    assert storages.live == storages.peak == 0
    assert storages.bytes_born(without=()) == 0


def test_memory_that_grows_is_counted_as_it_is() -> None:
    storages, x = Storages(), torch.ones(8)
    storages.numbers(x, birth=0)
    x.resize_(20)
    storages.numbers(x)
    assert storages.live == 80


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_a_sparse_tensor_is_made_of_dense_ones(layout: torch.layout) -> None:
    sparse = torch.eye(6).to_sparse(layout=layout)
    parts = dense_parts(sparse)
    assert footprint(sparse) == sum(part.nbytes for part in parts)
    assert any(part.is_floating_point() and part.numel() == 6 for part in parts)
    assert len(Storages().numbers(sparse)) == len(parts)


def test_an_opaque_layout_has_no_storage() -> None:
    assert Storages().numbers(torch.ones(4, 4).to_mkldnn()) == ()
