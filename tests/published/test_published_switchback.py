"""What the 142 SwitchBack rows say, against the figures of the study."""

from __future__ import annotations

from statistics import mean, quantiles

import pytest

from stepmark.interchange.switchback_jsonl import SwitchbackLines
from stepmark.published.catalogue import document_of
from stepmark.published.slow_baseline import MIN_ROWS, PRODUCTS, SLOW, rate, slow_baselines
from stepmark.published.switchback import median_speedup, narrow, quantised_share, recomposed, speedup


def document() -> SwitchbackLines:
    found = document_of("switchback")
    assert isinstance(found, SwitchbackLines)
    return found


def test_totals_are_the_sums_of_their_parts() -> None:
    found = {each.total: each for each in recomposed(document())}
    assert set(found) == {"time_standard", "time_rowwise", "time_global"}
    assert all(each.num_rows == 142 for each in found.values())
    assert all(each.largest_error < 1e-12 for each in found.values())


@pytest.mark.parametrize(
    ("kind", "least", "first", "middle", "third", "most", "average", "wins"),
    [
        ("rowwise", 0.241, 0.783, 1.140, 1.311, 1.554, 1.045, 62),
        ("global", 0.367, 0.890, 1.221, 1.350, 1.558, 1.131, 72),
    ],
)
def test_speedups(
    kind: str, least: float, first: float, middle: float, third: float, most: float, average: float, wins: int
) -> None:
    found = [speedup(row, kind) for row in document().rows]
    figures = (min(found), *quantiles(found, n=4, method="inclusive"), max(found), mean(found))
    assert [round(each, 3) for each in figures] == [least, first, middle, third, most, average]
    assert round(100 * sum(each > 1 for each in found) / len(found)) == wins


@pytest.mark.parametrize(
    ("rows", "rowwise", "global_"),
    [
        (1024, 0.515, 0.633),
        (2048, 0.713, 0.853),
        (4096, 0.913, 1.057),
        (8192, 1.083, 1.205),
        (16384, 1.226, 1.303),
        (32768, 1.317, 1.361),
        (65536, 1.350, 1.367),
        (131072, 1.352, 1.365),
    ],
)
def test_medians_by_rows(rows: int, rowwise: float, global_: float) -> None:
    some = [row for row in document().rows if row.batch_size == rows]
    assert round(median_speedup(some, "rowwise"), 3) == pytest.approx(rowwise, abs=0.0011)
    assert round(median_speedup(some, "global"), 3) == pytest.approx(global_, abs=0.0011)


@pytest.mark.parametrize(
    ("dim", "global_"),
    [(1024, 0.975), (1280, 1.103), (1408, 1.197), (1664, 1.278), (2048, 1.303), (4096, 1.383), (8096, 1.367)],
)
def test_medians_by_dim_of_layers_four_times_as_wide(dim: int, global_: float) -> None:
    some = [row for row in document().rows if narrow(row) == dim and row.wm == 4]
    assert round(median_speedup(some, "global"), 3) == pytest.approx(global_, abs=0.0011)


@pytest.mark.parametrize(("rows", "global_", "rowwise"), [(1024, 54, 63), (8192, 20, 26), (131072, 11, 11)])
def test_the_share_of_quantising(rows: int, global_: int, rowwise: int) -> None:
    some = [row for row in document().rows if row.batch_size == rows]
    assert round(100 * quantised_share(some, "global")) == pytest.approx(global_, abs=1)
    assert round(100 * quantised_share(some, "rowwise")) == pytest.approx(rowwise, abs=1)


def test_slow_baselines_are_the_rows_of_dim_1280() -> None:
    found = slow_baselines(document())
    assert {each.dim for each in found} == {1280}
    assert {(each.rows, each.switch) for each in found} == {
        (32768, True),
        (65536, False),
        (65536, True),
        (131072, True),
    }
    assert all(152e12 < each.rate < 157e12 for each in found)
    assert all(each.global_ > 1.45 for each in found)
    assert all(each.rowwise > 1.44 for each in found)


def test_at_their_neighbours_rate_slow_baselines_gain_no_more_than_others() -> None:
    found = slow_baselines(document())
    slow = {(each.rows, each.dim, each.switch) for each in found}
    others = [
        speedup(row, "global")
        for row in document().rows
        if narrow(row) <= 1664 and (row.batch_size, narrow(row), row.switch) not in slow
    ]
    assert max(each.global_corrected for each in found) <= max(others)
    assert all(each.rowwise_corrected < each.rowwise for each in found)


def test_the_threshold_lies_between_these_dips_and_all_others() -> None:
    """Of every product with two neighbours: how far below the lower of them it is."""
    groups: dict[tuple[int, bool], list[float]] = {}
    dips = []
    for row in document().rows:
        if row.batch_size >= MIN_ROWS:
            groups.setdefault((row.batch_size, row.switch), [])
    for rows, switch in groups:
        line = sorted(
            (row for row in document().rows if (row.batch_size, row.switch) == (rows, switch)),
            key=lambda row: (narrow(row), row.wm),
        )
        for below, row, above in zip(line, line[1:], line[2:], strict=False):
            dips += [rate(row, p) / min(rate(below, p), rate(above, p)) for p in PRODUCTS]
    slow = [dip for dip in dips if dip < SLOW]
    assert len(slow) == len(slow_baselines(document()))
    assert max(slow) < 0.7
    assert min(dip for dip in dips if dip >= SLOW) > 0.8
