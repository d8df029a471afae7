"""Norms, softmax and AdamW on the GPU page: made of known rows, and held against the data by another way."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.h200 import operations, page_adamw, page_data, page_targets
from benchmarks.h200 import page_operations as page
from tests.benchmarks.page_rows import cells_of, put

DAY = "2026-11-16"
WHAT = (*page.KERNEL, *page.PYTHON)
SIX = dict.fromkeys(WHAT, 10.0)


def rows_of(
    shape: tuple[str, int, int, str], ways: dict[str, dict[str, float] | float]
) -> list[dict[str, Any]]:
    """A way's times: one for all measurements, or those that differ from 10 µs."""
    operation, number, width, dtype = shape
    about = {"operation": operation, "rows": number, "width": width, "dtype": dtype}
    found = []
    for way, times in ways.items():
        given = SIX | times if isinstance(times, dict) else dict.fromkeys(WHAT, times)
        shares = {f"{what}_share": 8 / given[what] for what in page.KERNEL}
        found.append({**about, "way": way, **given, **shares})
    return found


PLAIN: dict[str, dict[str, float] | float] = {
    "torch": {"forward_warm": 12.0},
    "compiled": 10.0,
    "liger": 20.0,
    "triton": 10.0,
    "auto": 10.0,
}
"""All of importance take 10 µs; what a graph of `auto` holds can be told apart."""
WIDE_NORM, WIDE_SOFTMAX = ("rms_norm", 8192, 4096, "bfloat16"), ("softmax", 8192, 4096, "bfloat16")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where both kinds have one shape."""
    monkeypatch.setattr(page_data, "DATA", tmp_path)
    write(tmp_path, norms=rows_of(WIDE_NORM, PLAIN), softmax=rows_of(WIDE_SOFTMAX, PLAIN))
    return tmp_path


def write(folder: Path, **kinds: list[dict[str, Any]]) -> None:
    for kind, rows in kinds.items():
        put(folder, f"operations-{kind}", DAY, rows)


def test_a_line_has_the_kernel_on_the_device_and_auto_from_python(folder: Path) -> None:
    ways: dict[str, dict[str, float] | float] = {
        "torch": {"forward_cold": 12.0, "backward_cold": 40.0, "training_eager": 150.0},
        "compiled": {"forward_cold": 9.0, "backward_cold": 30.0, "training_eager": 700.0},
        "liger": {"forward_cold": 11.0, "backward_cold": 20.0, "training_eager": 600.0},
        "triton": {"forward_cold": 10.0, "backward_cold": 20.6, "training_eager": 99.0},
        "auto": {"forward_cold": 1.0, "backward_cold": 1.0, "training_eager": 154.0},
    }
    write(folder, norms=rows_of(("layer_norm", 8192, 768, "bfloat16"), ways))
    assert cells_of(page.norms()) == [
        [
            *("LayerNorm 8192 x 768 bfloat16", "10.0, 80 % ✗", "9.0 (torch.compile)"),
            *("20.6, 39 %", "20.0 (Liger)", "154", "150 (torch)"),
        ]
    ]


def test_a_line_is_marked_where_it_is_slower_by_more_than_is_allowed(folder: Path) -> None:
    slow = PLAIN | {"auto": {"training_eager": 10.4}, "triton": {"backward_cold": 10.31}}
    write(folder, softmax=rows_of(WIDE_SOFTMAX, slow))
    (line,) = cells_of(page.softmax())
    assert [cell.endswith("✗") for cell in line] == [False, False, False, True, False, True, False]


def test_shapes_that_the_demand_does_not_name_are_in_the_summary_alone(folder: Path) -> None:
    sizes = [(8192, 4096), (1024, 768), (4096, 2560), (8192, 1600), (64, 512), (2048, 4096), (8192, 4095)]
    every = [one for size in sizes for one in rows_of(("softmax", *size, "float32"), PLAIN)]
    write(folder, softmax=every)
    told = [line[0] for line in cells_of(page.softmax())]
    shown = ("8192 x 4096", "8192 x 1600", "64 x 512", "2048 x 4096")
    assert told == [f"softmax {size} float32" for size in shown]
    assert {line[3] for line in cells_of(page.beside_the_best()) if line[0] == "softmax"} == {"7 of 7"}


def test_the_best_other_is_neither_ours_nor_one_that_failed(folder: Path) -> None:
    ways = PLAIN | {"auto": 1.0}
    rows = rows_of(WIDE_NORM, ways)
    failed = {name: rows[0][name] for name in ("operation", "rows", "width", "dtype")}
    rows = [*(row for row in rows if row["way"] != "torch"), {**failed, "way": "torch", "failed": "no"}]
    write(folder, norms=rows)
    (line,) = cells_of(page.norms())
    assert line[2] == line[4] == "10.0 (torch.compile)"


def test_a_kernel_that_failed_is_not_left_out(folder: Path) -> None:
    rows = rows_of(WIDE_NORM, PLAIN)
    write(folder, norms=[row | {"failed": "no"} if row["way"] == "triton" else row for row in rows])
    with pytest.raises(KeyError, match="triton"):
        page.norms()


def summary(kind: str) -> dict[str, list[str]]:
    return {line[1]: line[2:] for line in cells_of(page.beside_the_best()) if line[0] == kind}


def test_the_summary_counts_each_measurement_and_names_the_slowest(folder: Path) -> None:
    quick = rows_of(("rms_norm", 64, 512, "float32"), PLAIN | {"triton": 5.0, "auto": 5.0})
    slow = rows_of(
        ("layer_norm", 64, 512, "float32"),
        PLAIN | {"triton": {"backward_warm": 12.0}, "auto": {"training_eager": 25.0}},
    )
    write(folder, norms=[*rows_of(WIDE_NORM, PLAIN), *quick, *slow])
    found = summary("norms")
    assert len(found) == len(WHAT)
    assert found["kernel, backward, warm"] == [
        *("1.00", "2 of 3", "not met", "1.20"), "LayerNorm 64 x 512 float32: 12.0 µs, torch 10.0",
    ]  # fmt: skip
    assert found["`auto` from Python, forward + backward"][1:4] == ["2 of 3", "not met", "2.50"]
    assert found["kernel, forward, cold"][:4] == ["1.00", "3 of 3", "met", "1.00"]
    assert {tuple(line[1:3]) for line in summary("softmax").values()} == {("1 of 1", "met")}


def test_what_auto_took_is_told_by_its_time(folder: Path) -> None:
    del folder
    ways = {"torch": {"backward_warm": 20.0}, "triton": {"backward_warm": 10.0}}
    assert page.took({**ways, "auto": {"backward_warm": 19.0}}, "backward_warm") == "torch"
    assert page.took({**ways, "auto": {"backward_warm": 13.0}}, "backward_warm") == "triton"


def test_the_same_kernel_twice_says_what_the_clock_can_tell(folder: Path) -> None:
    apart = PLAIN | {
        "torch": {"forward_warm": 20.0, "forward_cold": 20.0},
        "compiled": 10.0,
        "auto": {"forward_warm": 10.5, "forward_cold": 9.6},
    }
    slow = apart | {"triton": {"backward_cold": 10.4, "backward_warm": 15.0}}
    write(folder, norms=rows_of(WIDE_NORM, apart), softmax=rows_of(WIDE_SOFTMAX, slow))
    told = page.beside_the_best().splitlines()[-1]
    assert "the kernel in 2 of 2 shapes" in told
    assert "0.960 to 1.050 of what the kernel by name took; 4 of 4 pairs differ by more than 3 %" in told
    assert "Of 8 ratios of the kernel to the best other 2 are above 1.03, and 1 above what" in told
    assert told.endswith("showed: softmax 8192 x 4096 bfloat16 backward, warm 1.500.")


def test_from_python_is_of_few_rows_and_says_how_the_same_call_scatters(folder: Path) -> None:
    few = [
        rows_of(("rms_norm", 64, width, "float32"), PLAIN | {"torch": time, "auto": 2 * time})
        for width, time in ((512, 10.0), (1024, 30.0), (2048, 20.0))
    ]
    kernel: dict[str, dict[str, float] | float] = {
        "torch": {"backward_warm": 30.0, "training_eager": 99.0},
        "triton": {"backward_warm": 9.0},
        "auto": {"backward_warm": 9.0},
    }
    wide = rows_of(WIDE_NORM, PLAIN | kernel)
    few_softmax = rows_of(("softmax", 1024, 768, "bfloat16"), PLAIN)
    write(folder, norms=[*(one for rows in few for one in rows), *wide], softmax=few_softmax)
    lines = {line[0]: line[1:] for line in cells_of(page.from_python())}
    assert lines["torch"] == ["20 (10 to 30)", "20 (10 to 30)", "10 (10)", "10 (10)"]
    assert lines["`auto`"][:2] == ["40 (20 to 60)"] * 2
    assert lines["our kernel, in graphs"] == ["10.0 (10.0)", "20.0 (20.0)"] * 2
    told = page.from_python().splitlines()[-1]
    assert "in 3 of 4 shapes of norms (not RMSNorm 8192 x 4096 bfloat16), and took 2.00 of torch's" in told
    assert "in 1 of 1 shapes of softmax, and took 1.00 of torch's time" in told


def test_calls_that_were_timed_again_replace_all_of_their_shape_and_nothing_else(folder: Path) -> None:
    ways = PLAIN | {"compiled": {"training_eager": 1.0, "forward_cold": 9.0}}
    write(folder, norms=rows_of(WIDE_NORM, ways))
    about = dict(zip(("operation", "rows", "width", "dtype"), WIDE_NORM, strict=True))
    again = [
        {**about, "way": way, "forward_eager": 30.0, "training_eager": us}
        for way, us in (("torch", 40.0), ("auto", 50.0))
    ]
    put(folder, "operations-norms-python", "2026-11-19", again)
    (line,) = cells_of(page.norms())
    assert line[1:3] == ["10.0, 80 % ✗", "9.0 (torch.compile)"]
    assert line[5:] == ["50.0 ✗", "40.0 (torch)"]
    assert summary("norms")["`auto` from Python, forward"][0] == "1.00"


def step(parameters: str, way: str, us: float, **more: Any) -> dict[str, Any]:
    facts = {"entries": 124439808, "dtype": "torch.bfloat16", "cold": us, "eager": 2 * us, "share": 90 / us}
    return {"parameters": parameters, "way": way, **facts, **more}


def test_adamw_stands_beside_every_way_of_torch(folder: Path) -> None:
    rows = [
        step("gpt2", "triton", 100.0),
        step("gpt2", "torch fused", 150.0),
        step("gpt2", "torch foreach", 900.0, eager=210.0),
        step("gpt2", "triton, float32 moments", 120.0),
        step("512x512", "triton", 9.0, share=0.1, eager=40.0),
        step("512x512", "torch fused", 40.0, share=0.02, eager=30.0),
        step("512x512", "compiled", 8.0, share=0.11, eager=90.0),
    ]
    write(folder, adamw=rows)
    large, wider, small = cells_of(page_adamw.steps())
    assert large[:4] == ["GPT-2 small, 124M", "bfloat16", "bfloat16", "100, 90 %"]
    assert large[4:] == ["150, 60 %", "900, 10 %", "", "200", "210 (torch, foreach)"]
    assert wider[2:] == ["float32", "120, 75 %", "", "", "", "240", ""]
    assert small[0] == "512 x 512"
    assert small[3:] == ["9.0, 10 % ✗", "40.0, 2 %", "", "8.0, 11 %", "40.0 ✗", "30.0 (torch, fused)"]
    assert page_adamw.large_shares() == [0.9, 0.75]
    assert page_adamw.all_ratios() == pytest.approx([100 / 150, 200 / 210, 9 / 8, 40 / 30])


def targets() -> list[tuple[str, ...]]:
    return [line[3:] for line in page_targets._operations()]


def test_demands_are_met_only_where_every_figure_is(folder: Path) -> None:
    write(folder, adamw=[step("gpt2", "triton", 100.0), step("gpt2", "torch fused", 100.0)])
    assert targets() == [
        *[("80 to 80 %", "yes"), ("80 to 80 %", "yes"), ("90 to 90 %", "yes")],
        *[("1.00", "yes")] * 3,
    ]
    slow = PLAIN | {"triton": {"backward_cold": 11.0}, "auto": {"forward_eager": 30.0}}
    write(folder, norms=rows_of(WIDE_NORM, slow))
    write(folder, adamw=[step("gpt2", "triton", 125.0), step("gpt2", "torch fused", 100.0)])
    shares, _, steps, kernels, called, adamw = targets()
    assert shares == ("73 to 80 %", "no")
    assert steps == ("72 to 72 %", "no")
    assert kernels == ("1.00 to 1.10", "7 of 8")
    assert called == ("1.00 to 3.00", "3 of 4")
    assert adamw == ("1.25", "no")


def test_shares_are_those_of_the_wide_shape_alone(folder: Path) -> None:
    narrow = rows_of(("rms_norm", 8192, 768, "bfloat16"), PLAIN | {"triton": 100.0})
    write(folder, norms=[*rows_of(WIDE_NORM, PLAIN), *narrow])
    assert page.wide_shares(page.NORMS) == [0.8, 0.8]


@pytest.mark.parametrize(("kind", "number"), [("norms", 40), ("softmax", 20)])
def test_the_summary_of_the_data_is_what_the_benchmark_itself_would_tell(kind: str, number: int) -> None:
    """By the text that the benchmark printed for each shape, in whole tenths of a µs."""
    lines = summary(kind)
    kernels = printed(f"operations-{kind}.json", number, operations.judged)
    for what, name in page.KERNEL.items():
        check(lines[f"kernel, {name}"], kernels[what])
    called = printed(f"operations-{kind}-python.json", number, operations.judged_calls)
    for what, name in page.PYTHON.items():
        check(lines[f"`auto` from Python, {name}"], called[what])


def printed(file: str, number: int, judged: Callable[[list[dict[str, Any]]], str]) -> dict[str, list[float]]:
    """Our time in the best other's, by what was timed, of so many shapes."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in page_data.rows(file):
        found.setdefault(tuple(row[name] for name in ("operation", "rows", "width", "dtype")), []).append(row)
    assert len(found) == number
    ratios: dict[str, list[float]] = {}
    for rows in found.values():
        for told in judged(rows).split(" | ")[1:]:
            what, ours, _, _, best, *_ = told.split()
            ratios.setdefault(what, []).append(float(ours) / float(best))
    return ratios


def check(line: list[str], ratios: list[float]) -> None:
    """Rounded to tenths of a µs, 2 µs are known to 2.5 %: counts are held between two bounds."""
    median, within, is_met, most, _ = line
    count, number = map(int, within.split(" of "))
    assert number == len(ratios)
    assert sum(one <= 0.98 for one in ratios) <= count <= sum(one <= 1.08 for one in ratios)
    assert float(median) == pytest.approx(statistics.median(ratios), abs=0.03)
    assert float(most) == pytest.approx(max(ratios), rel=0.05)
    assert is_met == ("met" if count == number else "not met")


def test_the_published_operations_and_widths_are_all_on_the_page() -> None:
    for text, names in ((page.norms(), ("RMSNorm", "LayerNorm")), (page.softmax(), ("softmax",))):
        told = [line[0] for line in cells_of(text)]
        sizes = [(8192, width) for width in operations.WIDTHS] + [*operations.PUBLISHED]
        for name in names:
            for number, width in sizes:
                assert sum(line.startswith(f"{name} {number} x {width} ") for line in told) == 1
            assert sum(line.startswith(f"{name} 8192 x 4096 ") for line in told) == 2
        assert len(told) == len(names) * (len(sizes) + 2)
