"""Calls taken apart on the device: made-up events become rows, and rows become tables of the page."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.h200 import apart, page_apart, page_data
from benchmarks.h200 import page as gpu_page
from benchmarks.h200.kernel_times import Event, short_name, taken_apart
from tests.benchmarks.page_rows import cells_of, put

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, {}ul> >(int, {}, char*)"
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
    "(at::native::ADAM_MODE)0, false>, float const*, double>(at::native::FusedOptimizerTensorListMetadata<4>)"
)
NAMES = {
    "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT": "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT",
    "narrow_tiles": "narrow_tiles",
    "Memset (Device)": "Memset (Device)",
    "Memcpy DtoD (Device -> Device)": "Memcpy DtoD (Device -> Device)",
    ELEMENTWISE.format("at::native::FillFunctor<float>", 1, "x"): "vectorized_elementwise_kernel FillFunctor",
    ELEMENTWISE.format(
        "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >",
        3,
        "x",
    ): "vectorized_elementwise_kernel MulFunctor",
    ELEMENTWISE.format(
        "at::native::mse_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::"
        "{lambda(float, float)#1}",
        3,
        "x",
    ): "vectorized_elementwise_kernel mse_kernel_cuda",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, "
    "float, float>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float>)": "reduce_kernel MeanOps",
    ADAM: "multi_tensor_apply_kernel FusedAdamMathFunctor",
    ADAM.replace("(anonymous namespace)", "<unnamed>"): "multi_tensor_apply_kernel FusedAdamMathFunctor",
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_tn_align1>(cutlass_80::Params)": (
        "Kernel2 cutlass_80_simt_sgemm_128x32_8x5_tn_align1"
    ),
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16>(cublasGemvParams<float>)": (
        "gemv2T_kernel_val"
    ),
    "at::cuda::(anonymous namespace)::spin_kernel(long)": "spin_kernel",
    "void Of<int>::product<(int)3, (bool)1>(int*)": "product",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_that_a_person_can_read(name: str) -> None:
    assert short_name(name) == NAMES[name]


@given(st.text(alphabet="ab:<>() {}->,#&*1_", min_size=1))
def test_any_name_has_a_short_one_that_is_not_longer(name: str) -> None:
    assert len(short_name(name)) <= len(name)


def replayed(times: int, kernels: list[tuple[str, float]], gap: float = 0.0) -> list[Event]:
    """Kernels one after the other, again and again."""
    events, now = [], 100.0
    for _ in range(times):
        for name, us in kernels:
            events.append(Event(name, now, now + us))
            now += us + gap
    return events


def test_launches_and_times_are_those_of_one_call_by_first_appearance() -> None:
    events = replayed(20, [("quantize_rows", 10.0), ("scaled_product", 50.0), ("quantize_rows", 30.0)])
    row = taken_apart(events[::-1], replays=20, replay_us=97.0)
    first, second = row["kernels"]
    assert (first["kernel"], first["launches"], first["us"]) == ("quantize_rows", 2, pytest.approx(40.0))
    assert first["each_us"] == pytest.approx([10.0, 30.0])
    assert (second["kernel"], second["launches"], second["us"]) == ("scaled_product", 1, pytest.approx(50.0))
    assert "each_us" not in second
    assert row["replay_us"] == 97.0
    assert (row["sum_us"], row["overlap_us"], row["gaps_us"]) == pytest.approx((90.0, 0.0, 7.0))


def test_a_replay_that_was_slow_does_not_count() -> None:
    events = [Event("slow", 0.0, 500.0), *replayed(19, [("slow", 10.0)], gap=1.0)]
    events = [Event(one.name, one.start + 1000 * bool(place), one.end + 1000 * bool(place))
              for place, one in enumerate(events)]  # fmt: skip
    assert taken_apart(events, replays=20, replay_us=11.0)["kernels"][0]["us"] == pytest.approx(10.0)


def test_what_runs_at_once_is_no_gap() -> None:
    """The second begins 4 µs before the first ends; a third lies inside the second."""
    one = [("a", 0.0, 10.0), ("b", 6.0, 20.0), ("c", 8.0, 9.0)]
    events = [
        Event(name, start + 100 * time, end + 100 * time) for time in range(5) for name, start, end in one
    ]
    row = taken_apart(events, replays=5, replay_us=23.0)
    assert (row["sum_us"], row["overlap_us"], row["gaps_us"]) == pytest.approx((25.0, 5.0, 3.0))


def test_kernels_that_differ_in_types_alone_are_one() -> None:
    names = [ELEMENTWISE.format(f"at::native::FillFunctor<{kind}>", 1, "x") for kind in ("float", "long")]
    (kernel,) = taken_apart(replayed(4, [(name, 2.0) for name in names]), replays=4, replay_us=5.0)["kernels"]
    assert (kernel["launches"], kernel["us"]) == (2, pytest.approx(4.0))
    assert kernel["as_profiled"] == names[0]


def test_events_that_were_lost_show_as_a_broken_number_of_launches() -> None:
    events = replayed(20, [("a", 10.0), ("b", 20.0)])[1:]
    first, second = sorted(
        taken_apart(events, replays=20, replay_us=30.0)["kernels"], key=lambda one: str(one["kernel"])
    )
    assert (first["launches"], first["us"]) == (pytest.approx(0.95), pytest.approx(9.5))
    assert (second["launches"], second["us"]) == (1, pytest.approx(20.0))


def test_nothing_seen_is_a_failure() -> None:
    with pytest.raises(ValueError, match="nothing on the device"):
        taken_apart([], replays=20, replay_us=1.0)


def test_only_what_ran_on_the_device_is_an_event_of_it() -> None:
    def seen(name: str, device: str, **more: Any) -> SimpleNamespace:
        at = SimpleNamespace(start=1.0, end=3.0)
        return SimpleNamespace(name=name, device_type=SimpleNamespace(name=device), time_range=at, **more)

    events = [
        seen("cudaGraphLaunch", "CPU"),
        seen("narrow_tiles", "CUDA"),
        seen("Memset (Device)", "CUDA", is_user_annotation=False),
        seen("Optimizer.step", "CUDA", is_user_annotation=True),
    ]
    assert apart.on_device(events) == [Event("narrow_tiles", 1.0, 3.0), Event("Memset (Device)", 1.0, 3.0)]


def test_this_torch_has_events_of_that_form() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        torch.ones(3).sum()
    events = list(seen.events() or ())
    assert {event.device_type.name for event in events} == {"CPU"}
    assert all(event.time_range.end >= event.time_range.start and event.name for event in events)
    assert apart.on_device(events) == []


def fails() -> None:
    raise RuntimeError("no kernel image")


def no_calls(shape: Any) -> apart.Calls:
    if shape == (1,):
        raise RuntimeError("out of memory")
    return {"ours": fails if shape == (2,) else lambda: None, "base": lambda: None}


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was saved at last; a call is its own graph, and takes 12 µs of which a kernel takes 10."""
    rows: list[dict[str, Any]] = []

    def save(name: str, found: list[dict[str, Any]], **_: Any) -> None:
        assert name == "apart_some"
        rows[:] = found

    monkeypatch.setattr(apart, "PARTS", {"some": (no_calls, ("rows",), [(1,), (2,), (3,)])})
    monkeypatch.setattr(apart, "captured", lambda call: SimpleNamespace(replay=call))
    monkeypatch.setattr(apart, "time_events", lambda call, seconds: 12.0)
    monkeypatch.setattr(apart, "profiled", lambda replay: replayed(apart.REPLAYS, [("a", 10.0)]))
    monkeypatch.setattr(apart, "save", save)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    return rows


def test_what_fails_is_recorded_and_stops_nothing_else(
    saved: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    apart.measure(["some"], 60.0)
    first, second, third = saved
    assert "out of memory" in first["failed"]
    assert "no kernel image" in second["calls"]["ours"]["failed"]
    for call in (second["calls"]["base"], third["calls"]["ours"], third["calls"]["base"]):
        assert (call["replay_us"], call["gaps_us"]) == (12.0, pytest.approx(2.0))
    told = capsys.readouterr().out
    assert "FAILED some (1,): RuntimeError: out of memory" in told
    assert "1 x a" in told


def test_a_graph_that_shows_nothing_is_captured_anew(
    saved: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([[], replayed(apart.REPLAYS, [("b", 3.0)])])
    monkeypatch.setattr(apart, "profiled", lambda replay: next(found, []))
    monkeypatch.setitem(apart.PARTS, "some", (no_calls, ("rows",), [(3,)]))
    apart.measure(["some"], 60.0)
    (row,) = saved
    assert [kernel["kernel"] for kernel in row["calls"]["ours"]["kernels"]] == ["b"]
    assert "nothing on the device" in row["calls"]["base"]["failed"]


def test_shapes_for_which_there_is_no_time_are_named(saved: list[dict[str, Any]]) -> None:
    apart.measure(["some"], -1.0)
    assert [row["rows"] for row in saved] == [1, 2, 3]
    assert all("left out" in row["failed"] for row in saved)


OURS = {
    "replay_us": 100.0,
    "sum_us": 98.0,
    "overlap_us": 3.0,
    "gaps_us": 5.0,
    "kernels": [
        {"kernel": "gate_rows", "launches": 2, "us": 60.0, "each_us": [20.0, 40.0]},
        {"kernel": "vectorized_elementwise_kernel FillFunctor", "launches": 1, "us": 8.0},
        {"kernel": "multi_tensor_apply_kernel", "launches": 5, "us": 30.0, "each_us": [6.0] * 5},
    ],
}
BASE = {
    "replay_us": 40.0,
    "sum_us": 38.0,
    "overlap_us": 0.0,
    "gaps_us": 2.0,
    "kernels": [
        {"kernel": "gemv2T", "launches": 1, "us": 12.0},
        {"kernel": "multi_tensor_apply_kernel", "launches": 1, "us": 26.0},
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_data, "DATA", tmp_path)
    return tmp_path


def shape_row(**calls: dict[str, Any]) -> dict[str, Any]:
    return {"n": 4096, "rows": 1, "dtype": "float32", "calls": calls}


def test_a_table_has_both_calls_and_ends_with_what_no_kernel_explains(folder: Path) -> None:
    put(folder, "apart_train", "2026-11-17", [shape_row(ours=OURS, linear=BASE)])
    text = page_apart.tables("train")
    assert text.startswith("**n 4096, rows 1, dtype float32**")
    assert "| kernel | ours, launches | ours, µs | linear, launches | linear, µs |" in text
    assert cells_of(text) == [
        ["`gate_rows`", "2", "60.0 (20.0 + 40.0)", "", ""],
        ["`vectorized_elementwise_kernel FillFunctor`", "1", "8.0", "", ""],
        ["`multi_tensor_apply_kernel`", "5", "30.0", "1", "26.0"],
        ["`gemv2T`", "", "", "1", "12.0"],
        ["all kernels", "", "98.0", "", "38.0"],
        ["two at once", "", "-3.0", "", "0.0"],
        ["no kernel", "", "5.0", "", "2.0"],
        ["**the replay**", "", "100.0", "", "40.0"],
    ]


def test_kernels_that_take_turns_need_no_line_for_what_they_share(folder: Path) -> None:
    put(folder, "apart_lora", "2026-11-17", [shape_row(base=BASE)])
    assert [line[0] for line in cells_of(page_apart.tables("lora"))][2:] == [
        *("all kernels", "no kernel", "**the replay**")
    ]


def test_failures_are_told_where_a_table_would_stand(folder: Path) -> None:
    rows = [
        shape_row(ours={"failed": "RuntimeError: no"}, linear=BASE),
        shape_row() | {"n": 8192, "failed": "left out, as 12 s were over"},
    ]
    put(folder, "apart_many", "2026-11-17", rows)
    first, second = page_apart.tables("many").split("**n 8192, ")
    assert cells_of(first)[-1] == ["**the replay**", "", "40.0"]
    assert first.rstrip().endswith("Not taken apart, ours: RuntimeError: no")
    assert second.endswith("Not measured: left out, as 12 s were over")


def test_a_part_has_a_section_where_it_was_measured(folder: Path) -> None:
    assert page_apart.sections("python -m benchmarks.h200") == {}
    put(folder, "apart_train", "2026-11-17", [shape_row(ours=OURS, linear=BASE)])
    ((name, (make, pattern, command)),) = page_apart.sections("python -m benchmarks.h200").items()
    assert (name, pattern) == ("apart-train", "apart_train.json")
    assert command == "python -m benchmarks.h200.apart --what train"
    assert make() == page_apart.tables("train")
    assert gpu_page.MARKERS.search(f"<!-- {name} begins -->\n<!-- {name} ends -->")


def test_a_section_without_a_place_on_the_page_is_missing() -> None:
    page = gpu_page.PAGE.read_text()
    assert gpu_page.missing(page) == []
    assert gpu_page.missing(page.replace("<!-- clock begins -->", "")) == ["clock"]


def test_parts_of_the_page_are_those_that_are_measured() -> None:
    assert set(page_apart.PARTS) == set(apart.PARTS)
    assert all(len(names) == len(shape) for _, names, shapes in apart.PARTS.values() for shape in shapes)
