"""Stepmark as a library: suites by value, from a script without a main guard, into a store or none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepmark as sm
from stepmark.errors import BenchFileError, UsageError
from stepmark.records.outcome import Outcome
from stepmark.store.store import Store

pytestmark = [pytest.mark.process, pytest.mark.beside]


def make_suite() -> sm.Suite:
    from torch import nn

    suite = sm.Suite("closures", axes={"features": [8, 16]}, modes=["forward"])
    width = 4

    @suite.variant(baseline=True)
    def dense(c: sm.Point) -> sm.Step:
        return sm.Step(nn.Linear(c.features, width), inputs=sm.randn(2, c.features))

    @suite.variant
    def failing(c: sm.Point) -> sm.Step:
        raise RuntimeError("on purpose")

    return suite


def test_a_suite_made_in_a_function_is_sent_by_value(tmp_path: Path) -> None:
    place = tmp_path / "kept.db"
    result = sm.run(
        make_suite(),
        preset="quick",
        launches=2,
        axes={"features": [8]},
        margin="2%",
        accept=["dead-work"],
        audit=False,
        store=str(place),
    )
    assert [case.outcome for case in result.cases] == [Outcome.MEASURED, Outcome.CRASHED]
    assert result.recording.run.policy.margin == 0.02
    assert result.recording.run.policy.accepted == ("dead-work",)
    assert not result.recording.run.settings.audit
    assert [case.case.cell.axes for case in result.cases] == [(("features", 8),)] * 2
    with Store.open(f"sqlite:///{place}") as store:
        assert store.load(result.id) == result.recording


def test_a_suite_that_cannot_be_used() -> None:
    suite = sm.Suite("empty")
    with pytest.raises(BenchFileError, match="no variants"):
        sm.run(suite)


def test_a_confidence_that_nothing_has_is_refused() -> None:
    with pytest.raises(UsageError, match="not between 0 and 1"):
        sm.run(sm.Suite("empty"), confidence=1.0)


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"dtypes": "float32"}, "dtypes: 'float32' is text, not a list"),
        ({"modes": "train"}, "modes: 'train' is text, not a list"),
        ({"accept": "dead-work"}, "accept: 'dead-work' is text, not a list"),
        ({"axes": {"features": 8}}, "axis 'features': 8 is not a list"),
        ({"isolation": "apart"}, "no isolation 'apart'"),
    ],
)
def test_options_that_do_not_fit_are_refused(chosen: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        sm.run(make_suite(), **chosen)
    assert caught.value.remedy


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import stepmark as sm\n"
        "suite = sm.Suite('s', modes=['forward'])\n"
        "@suite.variant\n"
        "def one(c):\n"
        "    return sm.Step(lambda x: x + 1, inputs=sm.randn(4))\n"
        "result = sm.run(suite, preset='quick', budget='3s', launches=2)\n"
        "print(result)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 cases" in done.stdout
    assert done.stderr == ""
