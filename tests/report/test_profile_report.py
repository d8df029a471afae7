"""A profile in its formats: golden files, the chart, and nothing wider than the page."""

from __future__ import annotations

import io
import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console

from stepmark.analysis.profile import summarize_profile
from stepmark.analysis.profile_cost import summarize_cost
from stepmark.records.case import AxisValue, Case, Cell
from stepmark.records.profile import CaseCost, MemoryPoint, MemoryProfile, PhaseMemory, ProfileRecording
from stepmark.report.profile_chart import HEIGHT, highest_levels, memory_chart
from stepmark.report.profile_commands import NsightCommands, nsight_commands, shell_lines
from stepmark.report.profile_json import render_profile_json
from stepmark.report.profile_markdown import render_profile_markdown
from stepmark.report.profile_overhead_table import (
    case_labels,
    overhead_sheet,
    overhead_table,
    render_overhead_markdown,
)
from stepmark.report.profile_table import profile_sheet
from stepmark.report.profile_view import (
    ProfileView,
    build_profile_view,
    failed_tracing,
    percent,
)
from tests.report.golden_files import check_golden
from tests.support.profiles import (
    CASE,
    example,
    example_on_device,
    example_trace,
    make_cost,
    make_profile,
    make_weighing,
)
from tests.support.properties import steady
from tests.support.trials import make_failure

RUN = ("python", "-m", "stepmark", "profile", "bench_mine.py", "--case", "layers/mine[x=512]", "--bare")
COMMANDS = nsight_commands("layers-mine-features=512", RUN, iterations=5, phases=["forward", "backward"])


def view(recording: ProfileRecording, *, top: int = 10, nsight: NsightCommands | None = None) -> ProfileView:
    summary = summarize_profile(recording)
    assert summary is not None
    return build_profile_view(recording, summary, top=top, nsight=nsight)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("profile", view(example())),
        ("profile_device", view(example_on_device(), nsight=COMMANDS)),
        ("profile_top", view(make_profile(example_trace()), top=1, nsight=COMMANDS)),
    ],
)
def test_golden(name: str, shown: ProfileView) -> None:
    check_golden(f"{name}.80.txt", profile_sheet(shown).text(width=80))
    check_golden(f"{name}.md", render_profile_markdown(shown))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_page(width: int) -> None:
    for line in profile_sheet(view(example())).text(width=width).splitlines():
        assert cell_len(line) <= width


def test_a_terminal_without_unicode() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=file, width=80, legacy_windows=False).print(profile_sheet(view(example())))
    file.seek(0)
    text = file.read()
    assert text.isascii()
    assert "####" in text
    assert "\\u" not in text


def test_json_has_every_round_and_all_operations_but_no_spans() -> None:
    recording = example()
    document = json.loads(render_profile_json(recording, summarize_profile(recording)))
    assert document["format"] == 1
    assert document["recording"]["tracing"]["trace"] is None
    assert [len(launch["rounds"]) for launch in document["recording"]["cost"]["launches"]] == [6, 6, 6, 6, 3]
    forward, backward = document["summary"]["phases"]
    assert [row["name"] for row in forward["operations"]] == ["aten::addmm", "aten::linear", "aten::relu"]
    assert backward["products_share"] == pytest.approx(2 / 3)
    assert document["summary"]["cost"][0]["ratio"]["point"] == pytest.approx(1.25, rel=0.02)
    assert document["summary"]["memory"]["peak"]["num_bytes"] == 8192
    assert json.loads(render_profile_json(recording, None))["summary"] is None


def test_why_there_is_nothing_to_show() -> None:
    broken = make_profile(None, failure=make_failure())
    assert failed_tracing(broken) == "crashed in build: RuntimeError: it broke"
    assert failed_tracing(make_profile(None)) == "nothing was traced"


def test_without_a_cost_there_is_no_table_of_it() -> None:
    assert view(make_profile(example_trace())).cost is None


def test_a_device_without_kernels_is_said() -> None:
    recording = example()
    on_cuda = replace(recording, case=replace(CASE, cell=replace(CASE.cell, device="cuda")))
    assert any("no kernels were recorded" in fact for fact in view(on_cuda).facts)
    assert not any("no kernels were recorded" in fact for fact in view(recording).facts)


@pytest.mark.parametrize(("share", "text"), [(1.0, "100"), (0.434, "43"), (0.0214, "2.1"), (0.0, "0.0")])
def test_shares(share: float, text: str) -> None:
    assert percent(share) == f"{text}\u00a0%"


# ── the chart ───────────────────────────────────────────────────────────────────────────────────────


def memory_of(levels: list[int]) -> MemoryProfile:
    """A change every second from nothing, in two phases."""
    points = [MemoryPoint(seconds=float(at), num_bytes=level) for at, level in enumerate([0, *levels])]
    end = float(len(points))
    halves = (("forward", 0.0, end / 2), ("backward", end / 2, end))
    return MemoryProfile(
        timeline=tuple(points),
        phases=tuple(
            PhaseMemory(phase=name, begin_seconds=begin, end_seconds=stop, peak_bytes=0, held_bytes=0)
            for name, begin, stop in halves
        ),
        peak=max(points, key=lambda point: point.num_bytes),
        peak_phase=None,
        peak_operation=None,
    )


def test_slices_show_their_highest_level() -> None:
    memory = memory_of([100, 400, 200])
    assert highest_levels(memory, 4, 4.0) == [0, 100, 400, 400]
    assert highest_levels(memory, 2, 4.0) == [100, 400]
    assert highest_levels(memory, 8, 4.0) == [0, 0, 100, 100, 400, 400, 400, 200]


def test_phases_are_named_where_they_begin() -> None:
    *_, names = memory_chart(memory_of([100, 400, 200]), width=40)
    assert names.strip().startswith("|forward")
    assert names.index("|backward") - names.index("|forward") == pytest.approx((40 - 7) / 2, abs=1)


@steady
@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=200), st.integers(30, 120))
def test_a_chart_fits_and_reaches_the_top(levels: list[int], width: int) -> None:
    memory = memory_of(levels)
    lines = memory_chart(memory, width=width)
    assert len(lines) == HEIGHT + 1
    assert max(map(len, lines)) <= width
    assert ("█" in lines[0]) == (max(levels) > 0)


# ── the command lines ───────────────────────────────────────────────────────────────────────────────


words_of_a_shell = st.text(
    st.characters(exclude_characters="\n\\", exclude_categories=["Cs", "Cc"]), max_size=30
)


def typed(lines: tuple[str, ...]) -> list[str]:
    """As a shell would read the lines, pasted together."""
    return shlex.split("\n".join(lines).replace("\\\n", " "))


def test_nsight_gets_the_very_command_that_runs_the_case() -> None:
    nsys, ncu = typed(COMMANDS.nsys), typed(COMMANDS.ncu)
    assert nsys[:2] == ["nsys", "profile"]
    assert nsys[-len(RUN) - 1 :] == [*RUN, "5"]
    assert ncu[0] == "ncu"
    assert ncu[-len(RUN) - 1 :] == [*RUN, "1"], "every kernel is replayed many times"
    assert "--capture-range=cudaProfilerApi" in nsys
    assert "--profile-from-start=off" in ncu
    assert "--nvtx-include=forward" in ncu
    written = next(word for word in nsys if word.startswith("--output=")).removeprefix("--output=")
    assert typed(COMMANDS.stats)[-1] == f"{written}.nsys-rep"


@steady
@given(st.lists(words_of_a_shell, min_size=1, max_size=20))
def test_broken_lines_are_the_same_words(words: list[str]) -> None:
    lines = shell_lines(words)
    assert typed(lines) == words
    assert all(line.endswith(" \\") for line in lines[:-1])


# ── the table of costs ──────────────────────────────────────────────────────────────────────────────


def case_of(size: str, variant: str = "eager", **axes: AxisValue) -> Case:
    return Case(variant=variant, cell=Cell(suite="transformer", axes=(("size", size), *axes.items())))


def cost_of(case: Case, ratio: float) -> CaseCost:
    launches = [make_weighing(ratio, number=number, noise=0.002) for number in range(4)]
    return summarize_cost(make_cost(launches, case))


COSTS = [
    cost_of(case_of("small", context=128), 3.0),
    cost_of(case_of("medium", context=128), 1.5),
    CaseCost(case=case_of("xl", context=128), phases=(), failure=make_failure(message="it did not fit")),
]


def test_overhead_golden() -> None:
    check_golden("profile_overhead.80.txt", overhead_sheet(COSTS).text(width=80))
    check_golden("profile_overhead.md", render_overhead_markdown(COSTS))


def test_a_row_a_case_and_three_columns_a_phase() -> None:
    head, small, medium = overhead_table(COSTS).rows
    assert head == ("size", "forward", "profiled", "ratio", "backward", "profiled", "ratio")
    assert (small[0], medium[0]) == ("small", "medium")
    assert small[3].startswith(("3.00", "2.99"))
    assert len(overhead_table(COSTS, phases=("forward", "nowhere")).rows[0]) == 4


def test_cases_are_called_by_what_differs() -> None:
    assert case_labels([case_of("s"), case_of("m")]) == ["size", "s", "m"]
    assert case_labels([case_of("s"), case_of("s", "compiled")]) == ["variant", "eager", "compiled"]
    assert case_labels([case_of("s")]) == ["variant", "eager"]
    both = case_labels([case_of("s", context=1), case_of("m", "compiled", context=1)])
    assert both == ["variant, size", "eager, s", "compiled, m"]


def test_nothing_but_failures() -> None:
    text = overhead_sheet(COSTS[2:]).text(width=80)
    assert "crashed in build: it did not fit" in " ".join(text.split())
    assert "unprofiled" not in text
