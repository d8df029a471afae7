"""The audit's own report: by case, the gravest first, in every format."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from stepmark.records.evidence import Evidence
from stepmark.records.finding import Severity
from stepmark.records.inspection import Inspection
from stepmark.records.run import Recording
from stepmark.report.audit_formats import render_audit
from stepmark.report.audit_table import audit_table
from stepmark.report.audit_view import AuditView, build_audit
from tests.report.golden_files import check_golden
from tests.report.ordinary_examples import normal
from tests.report.troubled_examples import findings
from tests.support.trials import TRAIN, make_solo


def view(*, inspected: tuple[str, ...] = ("dense", "wrong", "hasty")) -> AuditView:
    judgement = findings()
    evidence = Evidence(layout=TRAIN, inspection=Inspection(phases=()))
    solos = tuple(
        replace(make_solo(case), evidence=evidence if case.variant in inspected else None)
        for case in judgement.run.cases
    )
    return build_audit(judgement, Recording(run=judgement.run, solos=solos))


def test_the_gravest_case_comes_first_and_its_gravest_finding() -> None:
    audit = view()
    assert [case.case.split("/")[1].split("[")[0] for case in audit.cases] == [
        "wrong",
        "hasty",
        "dense",
        "twin",
    ]
    order = list(Severity)
    for case in audit.cases:
        open_ones = [order.index(each.severity) for each in case.findings if not each.accepted]
        assert open_ones == sorted(open_ones, reverse=True)
    assert (audit.num_errors, audit.num_accepted, audit.num_uninspected) == (3, 1, 1)


@pytest.mark.parametrize("width", [80, 120])
def test_table(width: int) -> None:
    text = audit_table(view()).text(width=width)
    check_golden(f"audit.{width}.txt", text)
    assert max(map(cell_len, text.splitlines())) <= width


@pytest.mark.parametrize(("format_", "ending"), [("markdown", "md"), ("json", "json")])
def test_formats(format_: str, ending: str) -> None:
    check_golden(f"audit.{ending}", render_audit(format_, view()))


def test_json_counts_and_carries_the_numbers() -> None:
    document = json.loads(render_audit("json", view()))
    assert (document["errors"], document["warnings"], document["notes"], document["accepted"]) == (3, 6, 2, 1)
    (first, *_), *_ = (case["findings"] for case in document["cases"])
    assert first["name"] == "wrong-numbers"
    assert first["numbers"] == [["launches", 13.0]]
    assert first["accepted"] is False


def test_nothing_found() -> None:
    judgement = normal()
    text = audit_table(build_audit(judgement, Recording(run=judgement.run))).text()
    assert "6 cases: nothing found" in text
    assert "no case had an instrumented step" in text
