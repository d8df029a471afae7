"""The built-in suites: every name has its module, and the demo builds."""

from __future__ import annotations

import importlib

import pytest

from stepmark.authoring.load import check, load, suites_of
from stepmark.records.source import BuiltinSource
from stepmark.suites import BUILTIN


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_suite_can_be_loaded(name: str) -> None:
    check(suites_of(importlib.import_module(f"stepmark.suites.{name}")))
    assert BUILTIN[name]


def test_the_demo_has_a_twin_and_a_baseline() -> None:
    (suite,) = load(BuiltinSource(name="demo"))
    assert list(suite.variants) == ["dense", "twin", "low_rank", "normed"]
    assert suite.outline().baseline == "dense"
