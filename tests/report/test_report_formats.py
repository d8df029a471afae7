"""The registry of formats, CSV columns, and reports of judged recordings."""

from __future__ import annotations

import csv
import io

import pytest

from stepmark.analysis.judge import judge
from stepmark.audit import audit
from stepmark.errors import UsageError
from stepmark.records.run import Judgement
from stepmark.report import csv_table, formats
from tests.report.builder import Lane, cells, make_judgement, outline
from tests.report.ordinary_examples import normal
from tests.report.small_recording import record
from tests.report.troubled_examples import failures
from tests.support.recordings import fail_lane, fail_solo, make_recording

GENERAL = ["table", "markdown", "csv", "json", "jsonl", "criterion"]
"""Formats that any run has; the published ones are of one suite each (test_published_formats.py)."""


def test_every_format_renders() -> None:
    judgement = normal()
    recording = record(judgement)
    texts = [formats.render(name, judgement, recording) for name in GENERAL]
    assert list(formats.FORMATS) == [*GENERAL, "fragmented-text", "switchback-jsonl", "grid"]
    assert all(text.endswith("\n") for text in texts)
    assert [text.endswith("\n\n") for text in texts] == [False] * 5 + [True]  # Criterion ends its groups so
    assert formats.format_named("CSV") is formats.FORMATS["csv"]


@pytest.mark.parametrize(
    ("name", "near"), [("markdwon", "'markdown'"), ("josn", "'json"), ("md", "'markdown'"), ("xyz", None)]
)
def test_an_unknown_format_names_the_nearest(name: str, near: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        formats.format_named(name)
    assert caught.value.problem == f"'{name}' is not a format"
    assert "table, markdown, csv, json, jsonl, criterion" in caught.value.remedy
    assert ("did you mean" in caught.value.remedy) == (near is not None)
    assert near is None or near in caught.value.remedy


def test_csv_has_a_row_per_case_and_phase() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_table.render(normal()))))
    assert len(rows) == 6 * 6
    row = next(
        row for row in rows if (row["variant"], row["features"], row["phase"]) == ("low_rank", "512", "step")
    )
    assert (row["verdict"], row["primary"], row["baseline"]) == ("FASTER", "true", "false")
    assert (float(row["median_seconds"]), float(row["ratio"])) == (0.0003302, 0.8001)
    assert (row["launches"], row["blocks"], row["tokens"]) == ("10", "400", "64")


def test_csv_has_a_row_for_cases_without_numbers() -> None:
    rows = {row["variant"]: row for row in csv.DictReader(io.StringIO(csv_table.render(failures())))}
    assert rows["hungry"]["failure_stage"] == "build"
    assert rows["later"]["outcome"] == ""
    assert rows["later"]["reasons"] == "not measured yet"


def test_an_axis_cannot_hide_a_column() -> None:
    (cell,) = cells("mylayer", {"phase": (3,)})
    judgement = make_judgement(
        [(outline("mylayer", ("dense",), {}), {cell: {"dense": Lane(times={"step": 1.0})}})]
    )
    (row,) = csv.DictReader(io.StringIO(csv_table.render(judgement)))
    assert (row["phase"], row["axis_phase"]) == ("step", "3")


@pytest.mark.parametrize("break_it", [None, fail_solo, fail_lane])
def test_judged_recordings_render_in_every_format(break_it: object) -> None:
    recording = make_recording(
        variants={"dense": 1.0, "mine": 0.8}, num_launches=4, axes={"features": (1, 2)}
    )
    if break_it is fail_solo:
        recording = fail_solo(recording, "mine")
    elif break_it is fail_lane:
        recording = fail_lane(recording, "dense", launch=1, keep=5)
    judgement = judge(recording)
    judgement = Judgement(run=judgement.run, cases=judgement.cases, findings=audit(recording))
    for name in GENERAL:
        text = formats.render(name, judgement, recording)
        assert "mine" in text
        assert judgement.cases[1].verdict is not None
        assert judgement.cases[1].verdict.kind in text or name == "criterion"
