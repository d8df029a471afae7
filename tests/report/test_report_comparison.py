"""Comparisons in every format, against golden files; golden_files.py says how to renew them."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC

import msgspec
import pytest
from rich.cells import cell_len

from stepmark.errors import UsageError
from stepmark.records.comparison import Comparison
from stepmark.records.record import Record
from stepmark.report import comparison_csv, comparison_markdown, comparison_table
from stepmark.report.baselines_table import baselines_table
from stepmark.report.comparison_formats import FORMATS, render_comparison
from tests.report.comparison_examples import EPOCH, EXAMPLES, normal, troubled
from tests.report.golden_files import check_golden

each_example = pytest.mark.parametrize("name", EXAMPLES)


@each_example
@pytest.mark.parametrize("width", [80, 120])
def test_table(name: str, width: int) -> None:
    text = comparison_table.render(EXAMPLES[name](), zone=UTC, width=width)
    check_golden(f"{name}.{width}.txt", text)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert text.startswith("unpaired")


def test_phases() -> None:
    check_golden("comparison_normal.phases.txt", comparison_table.render(normal(), phases=True, zone=UTC))


@each_example
def test_markdown(name: str) -> None:
    text = comparison_markdown.render(EXAMPLES[name](), zone=UTC)
    check_golden(f"{name}.md", text)
    assert "unpaired" in text


def test_csv() -> None:
    text = render_comparison("csv", troubled())
    check_golden("comparison_troubled.csv", text)
    rows = list(csv.DictReader(io.StringIO(render_comparison("csv", normal()))))
    assert [row["phase"] for row in rows if row["primary"] == "true"] == ["step"] * 4
    assert set(rows[0]) == set(comparison_csv.COLUMNS)


@each_example
def test_json_reads_back_as_the_same_comparison(name: str) -> None:
    comparison = EXAMPLES[name]()
    text = render_comparison("json", comparison)
    check_golden(f"{name}.json", text)
    document = json.loads(text)
    assert document.pop("format") == 1
    for case in document["cases"]:
        case.pop("case_id")
    assert msgspec.convert(document, Comparison) == comparison


def test_every_format_is_there_and_no_other() -> None:
    assert all(render_comparison(name, normal()) for name in FORMATS)
    with pytest.raises(UsageError, match="'html' is not a format"):
        render_comparison("html", normal())


class Named(Record, frozen=True):
    name: str
    run: str
    saved: float
    suites: tuple[str, ...]


def test_baselines() -> None:
    rows = (
        Named(name="main", run="20270115-080000-k3f9", saved=EPOCH, suites=("mylayer", "attention")),
        Named(name="v1.2/cpu", run="20270101-120000-b0b0", saved=EPOCH + 60.0, suites=("mylayer",)),
    )
    check_golden("baselines.txt", baselines_table(rows, zone=UTC).text(width=80))
    assert "no baselines" in baselines_table(()).text()
