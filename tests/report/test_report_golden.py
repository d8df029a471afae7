"""Every format against golden files; golden_files.py says how to renew them."""

from __future__ import annotations

import io
from datetime import UTC

import pytest
from rich.cells import cell_len
from rich.console import Console

from stepmark.records.record import Record
from stepmark.records.run import RunStatus
from stepmark.report import csv_table, formats, markdown, terminal
from stepmark.report.failure_details import failure_details
from stepmark.report.outline_table import OutlineRow, outline_table
from stepmark.report.runs_table import runs_table
from tests.report.builder import EPOCH
from tests.report.examples import EXAMPLES
from tests.report.golden_files import check_golden
from tests.report.ordinary_examples import names, normal
from tests.report.small_recording import record
from tests.report.troubled_examples import failures

each_example = pytest.mark.parametrize("name", EXAMPLES)


class Head(Record, frozen=True):
    id: str
    started: float
    finished: float | None
    status: RunStatus
    suites: tuple[str, ...]
    num_cases: int
    num_solos: int
    num_launches: int
    command: tuple[str, ...]


RUNS = (
    Head(
        id="20270115-080000-k3f9",
        started=EPOCH,
        finished=EPOCH + 92.0,
        status=RunStatus.COMPLETE,
        suites=("mylayer",),
        num_cases=6,
        num_solos=6,
        num_launches=20,
        command=("stepmark", "run", "bench_mine.py", "--set", "features=512,2048"),
    ),
    Head(
        id="20270114-120000-zz7a",
        started=EPOCH - 72_000.0,
        finished=None,
        status=RunStatus.RUNNING,
        suites=("attention", "normalisation_layers", "optimizers"),
        num_cases=1206,
        num_solos=511,
        num_launches=0,
        command=("stepmark", "run", "benches/"),
    ),
    Head(
        id="20270113-235959-0b1c",
        started=EPOCH - 115_000.0,
        finished=EPOCH - 107_500.0,
        status=RunStatus.INTERRUPTED,
        suites=("mylayer",),
        num_cases=6,
        num_solos=6,
        num_launches=3,
        command=("stepmark", "run", "bench_mine.py"),
    ),
)
OUTLINES = (
    (OutlineRow(target="demo", about="a dense layer, its twin, a low-rank one and a heavier one: verdicts"),),
    (
        OutlineRow(target="bench_mine.py", suites=("mylayer",), about="A layer of mine, beside nn.Linear."),
        OutlineRow(target="benches/bench_attention.py", suites=("attention", "attention_backward")),
        OutlineRow(target="benches/bench_later.py"),
    ),
)


@each_example
@pytest.mark.parametrize("width", [80, 120])
def test_table(name: str, width: int) -> None:
    text = terminal.render(EXAMPLES[name](), width=width)
    check_golden(f"{name}.{width}.txt", text)
    assert max(map(cell_len, text.splitlines())) <= width


@pytest.mark.parametrize("name", ["normal", "ops", "findings"])
def test_table_with_every_phase(name: str) -> None:
    check_golden(f"{name}.phases.txt", terminal.render(EXAMPLES[name](), phases=True))


@pytest.mark.parametrize("name", ["normal", "separate", "names", "findings"])
def test_table_in_ascii(name: str) -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    console = Console(file=file, width=80, height=100, color_system=None, legacy_windows=False)
    console.print(terminal.render_terminal(EXAMPLES[name]()))
    file.seek(0)
    check_golden(f"{name}.ascii.txt", file.read())


def test_table_in_colours() -> None:
    file = io.StringIO()
    Console(
        file=file,
        width=120,
        height=100,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        no_color=False,
    ).print(terminal.render_terminal(normal()))
    check_golden("normal.ansi.txt", file.getvalue())


@each_example
def test_markdown(name: str) -> None:
    check_golden(f"{name}.md", markdown.render(EXAMPLES[name]()))


@pytest.mark.parametrize("name", ["normal", "failures", "findings", "ops", "names"])
def test_csv(name: str) -> None:
    check_golden(f"{name}.csv", csv_table.render(EXAMPLES[name]()))


@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_json(format_: str) -> None:
    judgement = normal()
    check_golden(f"normal.{format_}", formats.render(format_, judgement, record(judgement)))


def test_failures_in_full() -> None:
    check_golden("failures.details.txt", failure_details(failures()).text())


def test_no_failures() -> None:
    assert failure_details(names()).text() == "no case failed\n"


@pytest.mark.parametrize("width", [80, 120])
def test_runs(width: int) -> None:
    check_golden(f"runs.{width}.txt", runs_table(RUNS, zone=UTC).text(width=width))


def test_no_runs() -> None:
    assert runs_table((), zone=UTC).text() == "no runs in this store yet\n"


def test_outlines() -> None:
    check_golden("outlines.txt", outline_table(*OUTLINES).text())


def test_no_outlines() -> None:
    assert "bench_*.py" in outline_table((), ()).text()
