"""The transformer's tables on the GPU page: made of known rows, and held against the data by another way."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

from benchmarks.h200 import page_data, page_targets
from benchmarks.h200 import page_transformer as page
from benchmarks.h200.charts import styled, transformer_steps
from tests.benchmarks.page_rows import cells_of, put


def row(size: str, length: int, way: str, ms: float, **more: Any) -> dict[str, Any]:
    facts = {"ms_rounds": [ms, 1.1 * ms], "mfu": 4 / ms, "peak_bytes": 2e9, "product_tflops": 780.0}
    return {"size": size, "batch": 4, "length": length, "way": way, "ms": ms, **facts, **more}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_data, "DATA", tmp_path)
    return tmp_path


def four_cells(folder: Path, *, compiled_graph: float = 4.0) -> None:
    rows = []
    for size in ("medium", "small"):
        for length in (1024, 256):
            rows += [
                row(size, length, "plain", 40.0, faster=1.0),
                row(size, length, "fused", 2.0, faster=20.0),
                row(size, length, "compiled", 20.0, faster=2.0),
                row(size, length, "plain_graph", 16.0, faster=2.5),
                row(size, length, "compiled_graph", 40 / compiled_graph, faster=compiled_graph),
            ]
    put(folder, "transformer_step_new", "2026-11-16", rows)


def test_a_line_has_every_way_of_a_size_and_a_length(folder: Path) -> None:
    put(folder, "transformer_step_a", "2026-11-15", [row("2.7B", 1024, "fused_graph", 200.0, faster=None)])
    small = [
        row("small", 256, "plain", 40.0, faster=1.0),
        row("small", 256, "fused", 25.0, faster=1.6, ms_rounds=[20.0, 25.0, 30.0]),
        row("small", 256, "plain_graph", 16.0, faster=2.5),
    ]
    graph = row("small", 256, "fused_graph", 8.0, faster=5.0, peak_bytes=1e9)
    failed = {"size": "small", "batch": 4, "length": 256, "way": "compiled", "error": "no"}
    put(folder, "transformer_step_b", "2026-11-16", [*small, graph, failed])
    first, second = cells_of(page.steps())
    assert first[:7] == ["small, 4 x 256", "40.0", "25.0 (1.6x)", "", "16.0 (2.5x)", "8.0 (5.0x)", ""]
    assert first[7:] == ["10 % → 50 %", "2.0 → 1.0", "2026-11-16"]
    assert second == ["2.7B, 4 x 1024", "", "", "", "", "200.0", "", "2 %", "2.0", "2026-11-15"]
    told = page.steps().splitlines()[-1]
    assert "10 % longer than the fastest in graphs, 10 % with plain" in told
    assert "50 % with fused" in told
    assert "the fastest is 2.0 times as fast" in told


def test_of_a_cell_in_two_files_the_newer_counts_alone(folder: Path) -> None:
    old = [row("small", 256, "plain", 50.0, faster=1.0), row("small", 256, "fused", 10.0, faster=5.0)]
    put(folder, "transformer_step_z", "2026-11-15", old)
    put(folder, "transformer_step_a", "2026-11-16", [row("small", 256, "plain", 40.0, faster=1.0)])
    (found,) = page.cells().values()
    assert {way: one["ms"] for way, one in found.items()} == {"plain": 40.0}
    assert found["plain"]["day"] == "2026-11-16"


def test_lines_are_in_the_order_of_sizes_then_lengths(folder: Path) -> None:
    four_cells(folder)
    assert [*page.cells()] == [("small", 256), ("small", 1024), ("medium", 256), ("medium", 1024)]


def test_the_demand_is_for_graphs_and_compiled_layers_alone(folder: Path) -> None:
    """Fused layers called from Python would be 20 times as fast in these rows."""
    four_cells(folder)
    assert set(page.reached().values()) == {4.0}
    put(folder, "transformer_step_new", "2026-11-16", [row("small", 256, "plain", 1.0, faster=1.0)])
    with pytest.raises(ValueError, match="empty"):
        page.reached()


@pytest.mark.parametrize(("reached", "told"), [(2.6, ("2.6x", "yes")), (2.4, ("2.5x", "yes"))])
def test_the_demand_is_met_by_the_best_of_the_ways(folder: Path, reached: float, told: object) -> None:
    four_cells(folder, compiled_graph=reached)
    line = next(page_targets._transformer())
    assert (line[1], line[3:]) == ("2.5x plain eager", told)


def test_a_demand_that_is_not_met_everywhere_says_how_often(folder: Path) -> None:
    four_cells(folder)
    rows = [row("large", 256, "plain", 9.0, faster=1.0)]
    put(folder, "transformer_step_newer", "2026-11-17", rows)
    slow = [row("small", 256, "plain", 9.0, faster=1.0), row("small", 256, "compiled", 4.5, faster=2.0)]
    put(folder, "transformer_step_newest", "2026-11-18", slow)
    assert next(page_targets._transformer())[3:] == ("2.0 to 4.0x", "3 of 4")


def test_backward_has_the_loss_in_it() -> None:
    ms = {"forward": [9.0, 3.0], "loss": [1.0, 0.5], "backward": [7.0, 6.0]}
    assert page.iterations(ms, "forward") == [9.0, 3.0]
    assert page.iterations(ms, "backward") == [8.0, 6.5]


def test_warm_up_drops_iterations_and_keeps_ten(folder: Path) -> None:
    ms = {"forward": [21.0, 2.0, *[1.0] * 13], "loss": [0.25] * 15, "backward": [0.75] * 15}
    rows = [{"size": "small", "variant": one, "table": "first", "ms": ms} for one in ("eager", "compiled")]
    put(folder, "transformer_published", "2026-11-16", rows)
    eager, compiled, theirs, backward, *_ = cells_of(page.warm_up())
    steady = "1.00 ± 0.00"
    assert eager == ["small", "forward", "eager", "21", "3.1 ± 6.0", "1.10 ± 0.30", steady, steady]
    assert compiled[2:] == ["compiled", *eager[3:]]
    assert theirs[2:5] == ["published", "≈ 12046", "1226 ± 3607"]
    assert theirs[-1] == "23.28 ± 0.02"
    assert backward[1:4] == ["loss + backward", "eager", "1"]


def test_what_could_not_be_measured_says_why(folder: Path) -> None:
    """In a file of its own, beside one that has everything."""
    ms = {"forward": [21.0, *[1.0] * 14], "loss": [0.25] * 15, "backward": [0.75] * 15}
    eager = {"size": "xl", "variant": "eager", "table": "first", "ms": ms}
    compiled = {"size": "xl", "variant": "compiled", "table": "warm-up", "error": "not done\nafter 150 s"}
    profiled = {"size": "xl", "variant": "eager", "table": "profiler", "error": "out of memory"}
    fast = {"size": "xl", "workload": "as_run", "tokens": 6400, "mode": "tf32"}
    fast |= {"forward_ms": [4.0, 0.5], "backward_ms": [6.0, 2.0]}
    put(folder, "transformer_published_larger", "2026-11-16", [eager, compiled, profiled, fast])
    *_, last = lines = cells_of(page.warm_up())
    assert [line[1:3] for line in lines[:2]] == [["forward", "eager"], ["forward", "published"]]
    assert last == ["xl", "not measured: not done after 150 s", "compiled", *[""] * 5]
    assert cells_of(page.profiler()) == [["xl", "not measured: out of memory", *[""] * 4]]
    numbers = ["", "4.00 ± 0.50", "", "", "6.0 ± 2.0", "", "", ""]
    assert cells_of(page.precision()) == [["xl, `as_run`", "6400", *numbers]]


def test_the_warm_up_on_the_page_is_that_of_the_rows_that_were_counted_on_the_device() -> None:
    """Forward stands in the data twice: every iteration, and mean and deviation."""
    counted = {(one["size"], one["variant"], one["dropped"]): one for one in page_data.rows(
        page.STUDIES, table="warm-up"
    )}  # fmt: skip
    lines = [one for one in cells_of(page.warm_up()) if one[1] == "forward" and one[2] != "published"]
    assert len(lines) * 4 == len(counted) == 16
    for size, _, variant, _, *told in lines:
        for dropped, text in zip((0, 1, 2, 5), told, strict=True):
            mean, deviation = map(float, text.split(" ± "))
            assert [mean, deviation] == pytest.approx(
                counted[size, variant, dropped]["forward_ms"], abs=0.5, rel=0.02
            )


def test_the_profilers_cost_is_the_median_of_rounds() -> None:
    found = {(line[0], line[1]): line[2:] for line in cells_of(page.profiler())}
    assert [line[3] for line in found.values()] == ["2.868", "1.017", "2.061", "1.012"]
    for one in page_data.rows(page.STUDIES, table="profiler"):
        (launch,) = one["cost"]["launches"]
        for place, phase in enumerate(launch["layout"]["phases"]):
            if phase in ("forward", "backward"):
                without, profiled = (
                    [each[kind][place] for each in launch["rounds"]] for kind in ("unprofiled", "profiled")
                )
                ratio = statistics.median(b / a for a, b in zip(without, profiled, strict=True))
                told = found.pop((one["size"], phase))
                assert told[:2] == [f"{1e-6 * statistics.median(ns):.1f}" for ns in (without, profiled)]
                assert told[2].startswith(f"{ratio:.3f} [")
    assert not found


def test_precision_puts_modes_side_by_side(folder: Path) -> None:
    facts = {"size": "small", "workload": "as_run", "tokens": 3072}
    times = {"tf32": (4.0, 6.0), "float32": (10.0, 20.0), "bfloat16": (2.0, 3.0)}
    rows = [
        {**facts, "mode": mode, "forward_ms": [forward, 0.5], "backward_ms": [backward, 2.0]}
        for mode, (forward, backward) in times.items()
    ]
    put(folder, "transformer_published", "2026-11-16", rows)
    forward = ["10.00 ± 0.50", "4.00 ± 0.50", "2.00 ± 0.50"]
    backward = ["20.0 ± 2.0", "6.0 ± 2.0", "3.0 ± 2.0"]
    assert cells_of(page.precision()) == [["small, `as_run`", "3072", *forward, *backward, "3.0x", "6.0x"]]


def test_the_chart_has_a_point_for_every_way_that_can_be_compared() -> None:
    chart = styled(transformer_steps()).to_dict()
    _, asked, dots = (chart["datasets"][layer["data"]["name"]] for layer in chart["layer"])
    known = [row for row in page_data.rows(page.STEPS) if row["way"] != "plain" and row.get("faster")]
    assert sorted(point["speed-up"] for point in dots) == sorted(row["faster"] for row in known)
    lines = {point["cell"] for point in dots if point["cell"].startswith(page.ASKED_SIZES)}
    assert [tick["at"] for tick in asked] == [page.ASKED] * len(page.reached())
    assert {tick["cell"] for tick in asked} == lines
