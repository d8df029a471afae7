"""Per cent of limit and memory in every format, and within 80 columns on a terminal."""

from __future__ import annotations

import csv
import io
import json

import pytest
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.records.case import Case
from stepmark.records.limit import Limit
from stepmark.records.memory import DeviceMemory, MemoryUse, PhaseMemory
from stepmark.records.run import Judgement, Recording
from stepmark.report import csv_table, json_document, markdown, terminal
from stepmark.report.format import limit as shown
from tests.support.recordings import make_recording
from tests.support.trials import FORWARD, TRAIN

LIMIT = Limit(flops_per_second=4e14, bytes_per_second=2e12, work_share=0.5, memory_share=0.43)
MEMORY = MemoryUse(
    own=3 << 20,
    optimizer_state=2 << 20,
    phases=(PhaseMemory(phase="forward", peak=1 << 20, reserved=4 << 20, saved=1 << 19),),
    device=DeviceMemory(available=1 << 34, held=1 << 22, peak=1 << 23, peak_reserved=1 << 24, graph_pools=77),
)


def judged(device: str, *, num_cells: int = 1, forward: bool = False) -> tuple[Judgement, Recording]:
    recording = make_recording(
        num_launches=3, axes={"features": tuple(range(num_cells))}, layout=FORWARD if forward else TRAIN
    )
    recording = replace(
        recording,
        run=replace(recording.run, cases=tuple(on(device, case) for case in recording.run.cases)),
        solos=tuple(replace(solo, case=on(device, solo.case)) for solo in recording.solos),
        launches=tuple(
            replace(launch, cell=replace(launch.cell, device=device)) for launch in recording.launches
        ),
    )
    judgement = judge(recording)
    cases = tuple(replace(case, limit=LIMIT, memory=MEMORY) for case in judgement.cases)
    return replace(judgement, cases=cases), recording


def on(device: str, case: Case) -> Case:
    return replace(case, cell=replace(case.cell, device=device))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("num_cells", [1, 8])
@pytest.mark.parametrize("forward", [False, True])
def test_the_terminal_shows_the_limit_and_on_a_device_memory(
    device: str, num_cells: int, forward: bool
) -> None:
    text = terminal.render(judged(device, num_cells=num_cells, forward=forward)[0])
    assert "of limit" in text
    assert "50 %" in text.replace("\u00a0", " ")
    assert ("memory" in text) == (device == "cuda" and num_cells == 1)
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_markdown_says_what_it_is_the_share_of(device: str) -> None:
    text = markdown.render(judged(device)[0])
    assert "50\u00a0% work" in text
    assert ("4.0\u00a0MiB" in text) == (device == "cuda")


def test_csv_has_shares_rates_and_bytes() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_table.render(judged("cuda")[0]))))
    primary = next(row for row in rows if row["primary"] == "true")
    assert (primary["limit_share"], primary["limit_by"]) == ("0.5", "work")
    assert (primary["flops_per_second"], primary["bytes_per_second"]) == (
        "400000000000000.0",
        "2000000000000.0",
    )
    assert (primary["peak_bytes"], primary["graph_pool_bytes"]) == (str(1 << 20), "77")
    forward = next(row for row in rows if row["phase"] == "forward")
    assert (forward["reserved_bytes"], forward["saved_bytes"]) == (str(4 << 20), str(1 << 19))
    assert forward["limit_share"] == ""


def test_json_has_it_all() -> None:
    document = json.loads(json_document.render(*judged("cuda")))
    case = document["judgement"]["cases"][0]
    assert case["limit"]["work_share"] == 0.5
    assert case["memory"]["device"]["graph_pools"] == 77


@pytest.mark.parametrize(
    ("share", "at_least", "text"),
    [(0.434, False, "43 %"), (0.0042, False, "0.4 %"), (1.04, False, "104 %"), (0.12, True, ">12 %")],
)
def test_how_a_share_is_written(share: float, at_least: bool, text: str) -> None:
    limit = replace(LIMIT, work_share=share, memory_share=0.0, at_least=at_least)
    assert shown(limit).replace("\u00a0", " ") == text
