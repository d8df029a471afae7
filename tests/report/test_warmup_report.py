"""A warm-up study in its formats: golden files, the chart, and nothing wider than the page."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import example as with_values
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from stepmark.analysis.warmup import summarize_warmup
from stepmark.records.warmup import SlowStart, StartCause, WarmupRecording
from stepmark.report.warmup_chart import HEIGHT, chart
from stepmark.report.warmup_json import render_warmup_json
from stepmark.report.warmup_markdown import render_warmup_markdown
from stepmark.report.warmup_table import warmup_sheet
from stepmark.report.warmup_view import WarmupView, build_warmup_view, describe_cause, failed_launches
from tests.report.golden_files import check_golden
from tests.support.properties import steady
from tests.support.warmups import MS, example, make_trial, make_warmup, slow_then_level

FLAT = make_warmup([make_trial(slow_then_level([], seed=n), number=n) for n in range(3)])
RESTLESS = make_warmup([make_trial([(40 - i) * MS for i in range(30)], number=n) for n in range(3)])


def view(recording: WarmupRecording) -> WarmupView:
    summary = summarize_warmup(recording)
    assert summary is not None
    return build_warmup_view(recording, summary)


@pytest.mark.parametrize(
    ("name", "recording"), [("warmup", example()), ("warmup_flat", FLAT), ("warmup_restless", RESTLESS)]
)
def test_golden(name: str, recording: WarmupRecording) -> None:
    check_golden(f"{name}.80.txt", warmup_sheet(view(recording)).text(width=80))
    check_golden(f"{name}.md", render_warmup_markdown(view(recording)))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_page(width: int) -> None:
    for line in warmup_sheet(view(example())).text(width=width).splitlines():
        assert cell_len(line) <= width


def test_a_terminal_without_unicode() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Console(file=file, width=80, legacy_windows=False).print(warmup_sheet(view(example())))
    file.seek(0)
    text = file.read()
    assert text.isascii()
    assert "|##" in text
    assert "\\u" not in text


def test_json_has_every_iteration_of_every_launch() -> None:
    recording = example()
    document = json.loads(render_warmup_json(recording, summarize_warmup(recording)))
    assert document["format"] == 1
    assert [len(trial["iterations"]) for trial in document["recording"]["trials"]] == [50, 50, 50, 50, 3]
    first = document["recording"]["trials"][0]["iterations"][0]
    assert first["nanoseconds"] == list(recording.trials[0].iterations[0].nanoseconds)
    assert first["after"]["compile_seconds"] == pytest.approx(2.9)
    assert document["summary"]["automatic"] == 2
    assert json.loads(render_warmup_json(recording, None))["summary"] is None


def test_no_launch_at_all() -> None:
    broken = make_warmup([example().trials[4]])
    assert failed_launches(broken) == "no launch came to its end: crashed in build: RuntimeError: it broke"


@pytest.mark.parametrize("kind", SlowStart)
def test_every_cause_has_its_words(kind: SlowStart) -> None:
    cause = StartCause(kind=kind, first=0, last=3, launches=2, amount=12.0, names=("a", "b", "c", "d", "e"))
    assert describe_cause(cause)


@steady
@with_values([1.0] * 11, 20)  # the tick of 10 would stick out
@given(st.lists(st.floats(1e-9, 1e4), min_size=1, max_size=300), st.integers(20, 120))
def test_a_chart_fits_and_its_largest_value_is_on_top(values: list[float], width: int) -> None:
    lines = chart(values, width=width)
    assert len(lines) == HEIGHT + 1
    assert max(map(len, lines)) <= width
    bottom = lines[HEIGHT - 1]
    assert bottom.rstrip()[-1] in "▁▂▃▄▅▆▇█"
    if len(values) <= width - 12:
        bars = "".join(line.partition("│")[2].ljust(len(values)) for line in lines[:1])
        assert len(values) == 1 or max(values) < 2 * min(values) or bars[values.index(max(values))] == "█"
