"""Every published row is a cell under our names."""

from __future__ import annotations

from collections import Counter

import pytest

from stepmark.published.catalogue import PUBLICATIONS
from stepmark.published.cells import cells, cells_of
from stepmark.published.lora import COUNTERPARTS
from stepmark.published.transformer import TABLES


def test_there_are_as_many_as_were_published() -> None:
    numbers = {name: len(cells_of(name)) for name in PUBLICATIONS}
    assert numbers == {
        "fragmented": 81,
        "switchback": 142,
        "transformer-1": 16,
        "transformer-2": 20,
        "lora": 17,
    }
    assert len(cells()) == 81 + 142 + 5 * 4 + 17


def test_no_two_cells_are_the_same_place() -> None:
    places = Counter((cell.suite, cell.variant, cell.axes, cell.mode, cell.table) for cell in cells())
    assert set(places.values()) == {1}


def test_the_tables_that_both_transformer_files_have_are_equal() -> None:
    first, second = ([cell.seconds for cell in cells_of(f"transformer-{n}")] for n in (1, 2))
    assert second[:16] == first
    assert {cell.table for cell in cells_of("transformer-2")} == set(TABLES)


def test_times_are_seconds_and_memory_is_bytes() -> None:
    linear = next(cell for cell in cells_of("fragmented") if cell.variant == "linear")
    assert linear.point == {"n": 2048, "batch": 1}
    assert linear.time("forward") == pytest.approx(0.10e-3)
    assert linear.time("backward+optimizer") == pytest.approx(0.89e-3)
    assert linear.peak_bytes == pytest.approx(96.3 * 2**20)
    assert linear.parameters == 2048**2 + 2048
    row = cells_of("switchback")[0]
    assert row.point == {"dim": 1024, "wm": 4, "rows": 1024, "switch": False}
    assert row.time("standard_fwd") == pytest.approx(0.047907233238220215e-3)
    assert len(row.seconds) == 25 - 6


def test_the_lora_rows_are_the_published_ids() -> None:
    assert [cell.row for cell in cells_of("lora")] == list(COUNTERPARTS)
    times = {cell.row: cell.seconds[0][1] for cell in cells_of("lora")}
    assert times["lora_forward/forward/small_512x512_r8"] == pytest.approx(436.78e-6)
    assert times["layer_operations/rms_norm"] == pytest.approx(24.878e-6)


@pytest.mark.parametrize("n", [2048, 4096, 8192])
def test_parameter_counts_follow_their_formula(n: int) -> None:
    found = {(cell.variant, cell.parameters) for cell in cells_of("fragmented") if cell.point["n"] == n}
    fragmented = n * n + n + 2 * n * (n // 32)
    assert found == {("linear", n * n + n), ("fragmented", fragmented), ("fragmented_hard", fragmented)}
