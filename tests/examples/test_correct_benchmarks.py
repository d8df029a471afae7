"""Correct benchmarks: whatever they do, no error is raised over them."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

from benchmarks.audit.correct import WAYS, layered, written
from benchmarks.audit.solo import audited
from stepmark.authoring.suite import Suite
from stepmark.records.finding import Finding, Severity

pytestmark = pytest.mark.long


def errors(suite: Suite) -> list[str]:
    with warnings.catch_warnings():  # of torch, about what a benchmark is free to do
        warnings.simplefilter("ignore")
        return [_told(finding) for finding in audited(suite) if finding.severity is Severity.ERROR]


def _told(finding: Finding) -> str:
    return f"{finding.name}: {finding.message}"


@settings(max_examples=100, derandomize=True, suppress_health_check=list(HealthCheck))
@given(suite=layered())
def test_a_hundred_generated_benchmarks_raise_no_error(suite: Suite) -> None:
    assert errors(suite) == [], suite.about


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_a_step_raises_no_error(way: str) -> None:
    assert errors(written(way)) == []
