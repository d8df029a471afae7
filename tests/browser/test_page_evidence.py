"""The evidence for one case: an anchor away, with its own figures and its raw values as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from stepmark.records.sample import unpack
from tests.browser.conftest import PHONE, Watch, until
from tests.support.whole_runs import whole_run

pytestmark = pytest.mark.process


def test_an_anchor_opens_the_evidence_of_its_case(report: Path, watch: Watch) -> None:
    opened = watch(offline=True)
    page = opened.open(report, "#case-3")
    page.wait_for_selector("[data-case-view][data-shown='case-3']")
    assert page.inner_text("[data-case-view] h3") == "quick[features=128]"
    assert page.input_value("[data-case-choice]") == "case-3"
    for plot in page.locator("[data-sample-figure]").all():
        plot.scroll_into_view_if_needed()
        assert plot.locator("svg path").count() > 3
    page.click("[data-case-after]")
    page.wait_for_selector("[data-case-view][data-shown='case-4']")
    page.go_back()
    page.wait_for_selector("[data-case-view][data-shown='case-3']")
    assert opened.errors == []


def test_a_name_in_a_table_leads_to_the_evidence(report: Path, watch: Watch) -> None:
    page = watch().open(report)
    page.click("[data-compared] tbody tr:nth-child(1) a")
    page.wait_for_selector("[data-case-view][data-shown='case-1']")
    words = page.inner_text("[data-case-view]")
    for part in ("Times", "Operations by share of time and work", "Order of the rounds", "Raw values as CSV"):
        assert part in words


def test_operators_have_bars_as_long_as_their_shares(report: Path, watch: Watch) -> None:
    opened = watch(offline=True, viewport=PHONE)
    page = opened.open(report, "#case-1")
    page.wait_for_selector("[data-case-view][data-shown='case-1']")
    shares = page.locator(".operators .share")
    assert shares.count() > 4
    for cell in shares.all()[:6]:
        width = cell.evaluate("cell => cell.style.getPropertyValue('--share')")
        assert width == f"{float(cell.inner_text().split('%')[0])}%".replace(".0%", "%")
    # A phone shows all columns.
    assert page.locator(".operators").evaluate(
        "table => table.scrollWidth <= table.parentElement.clientWidth"
    )
    assert opened.errors == []


def test_the_files_hold_every_raw_value_that_was_stored(report: Path, watch: Watch) -> None:
    opened = watch(offline=True, accept_downloads=True)
    page = opened.open(report, "#case-2")
    page.wait_for_selector("[data-case-view][data-shown='case-2']")
    with page.expect_download() as waited:
        page.click("[data-csv]")
    with waited.value.path().open(newline="") as file:
        rows = list(csv.DictReader(file))
    with page.expect_download() as waited:
        page.click("[data-json]")
    document = json.loads(waited.value.path().read_text())
    recording = whole_run()
    case = recording.run.cases[1]
    stored = {
        (launch.number, round_, sample.phase, nanoseconds)
        for launch in recording.launches
        if launch.cell == case.cell
        for lane in launch.lanes
        if lane.variant == case.variant
        for sample in lane.samples
        for round_, nanoseconds in zip(unpack(lane.rounds), unpack(sample.nanoseconds), strict=True)
    }
    told = {(int(row["launch"]), int(row["round"]), row["phase"], int(row["nanoseconds"])) for row in rows}
    assert told == stored
    assert {row["case"] for row in rows} == {case.id}
    assert document["case"] == case.id
    assert len(document["samples"]) == len(rows)
    assert opened.errors == []


def test_figures_show_the_phase_that_is_chosen(report: Path, watch: Watch) -> None:
    page = watch().open(report, "#case-1")
    page.wait_for_selector("[data-case-view][data-shown='case-1']")
    options = page.locator("[data-phase-choice] option").all_inner_texts()
    assert options == ["step", "forward", "loss", "backward", "optimizer"]
    first = page.locator("[data-sample-figure]").first
    before = first.inner_text()
    page.select_option("[data-phase-choice]", "forward")
    until(page, "before => document.querySelector('[data-sample-figure]').innerText !== before", before)
