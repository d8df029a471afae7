"""Ceilings in the store: every measurement is kept, found by machine, device, threads and torch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.records.ceilings import Ceilings, MatrixRate
from stepmark.store.store import Store
from tests.store.old_stores import make_old
from tests.support.properties import steady
from tests.support.recordings import make_run

RUN = "20270101-080000-aaaa"
HERE = Ceilings(
    device="cpu",
    threads=1,
    torch="2.13.0",
    host="bench, Example CPU",
    measured=1_800_000_000.0,
    copy_memory=12.5e9,
    copy_cache=90e9,
    matrix=(MatrixRate(dtype="float32", flops_per_second=150e9, size=512),),
)


def kept(store: Store, like: Ceilings = HERE) -> tuple[Ceilings, ...]:
    return store.ceilings(host=like.host, device=like.device, threads=like.threads, torch=like.torch)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/runs.db") as opened:
        yield opened


def test_nothing_is_known_of_a_new_machine(store: Store) -> None:
    assert kept(store) == ()


def test_measurements_come_back_in_order(store: Store) -> None:
    several = tuple(replace(HERE, measured=HERE.measured + hour) for hour in range(3))
    for measured in several:
        store.add_ceilings(measured)
    assert kept(store) == several


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(HERE, host="bench, Other CPU"),
        replace(HERE, device="cuda:1"),
        replace(HERE, threads=2),
        replace(HERE, torch="2.14.0"),
    ],
)
def test_they_are_of_one_machine_device_number_of_threads_and_torch(
    store: Store, elsewhere: Ceilings
) -> None:
    store.add_ceilings(HERE)
    store.add_ceilings(elsewhere)
    assert kept(store) == (HERE,)
    assert kept(store, elsewhere) == (elsewhere,)


@steady
@given(st.lists(st.floats(1.0, 1e18), max_size=5))
def test_rates_come_back_exactly(rates: list[float]) -> None:
    matrix = tuple(MatrixRate(dtype=f"type{i}", flops_per_second=r, size=i) for i, r in enumerate(rates))
    with Store.open("sqlite://") as opened:
        opened.add_ceilings(replace(HERE, matrix=matrix))
        assert kept(opened) == (replace(HERE, matrix=matrix),)


def test_a_run_carries_them(store: Store) -> None:
    store.begin(replace(make_run(id=RUN), ceilings=HERE))
    assert store.run(RUN).ceilings == HERE


def test_a_store_without_ceilings_gets_them_and_keeps_its_runs(tmp_path: Path) -> None:
    """From the tables of 0003."""
    file = tmp_path / "old.db"
    url = f"sqlite:///{file}"
    with Store.open(url) as new:
        new.begin(make_run(id=RUN))
    make_old(file, "0003")
    with Store.open(url, create=False) as opened:
        assert opened.run(RUN).id == RUN
        assert kept(opened) == ()
        opened.add_ceilings(HERE)
        assert kept(opened) == (HERE,)
