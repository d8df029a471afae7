"""`audit`, `explain`, --accept and --fail-on over stored runs with evidence: no workers, no torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.cli import cli
from stepmark.cli.fail_on import FailOn, fail_on_named
from stepmark.cli.measuring import exit_code
from stepmark.errors import StepmarkError, UsageError
from stepmark.pipeline import judged
from stepmark.records.finding import FindingName, Severity
from stepmark.records.inspection import GradientFacts, Inspection, NumberCheck
from stepmark.records.run import Recording
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.store.store import Store
from tests.support.inspected import step
from tests.support.properties import steady
from tests.support.recordings import make_recording

WRONG = NumberCheck(what="output", error=0.5, tolerance=1e-4)


def recorded() -> Recording:
    """`mine` computes wrong numbers and keeps its gradients; `twin` is fine."""
    recording = make_recording(variants={"dense": 1.0, "mine": 0.5, "twin": 1.0}, num_launches=4)
    gradients = GradientFacts(trainable=1, leaves=1, present_before=1)
    solos = []
    for solo in recording.solos:
        assert solo.evidence is not None
        own = solo.case.variant == "mine"
        inspection = Inspection(
            phases=(*step()[:3], replace(step()[3], fingerprint=solo.case.variant)),
            gradients=gradients if own else None,
        )
        evidence = replace(solo.evidence, inspection=inspection, numbers=(WRONG,) if own else ())
        solos.append(replace(solo, evidence=evidence))
    return replace(recording, solos=tuple(solos))


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "runs.db")
    recording = recorded()
    with Store.open(f"sqlite:///{place}") as opened:
        opened.begin(recording.run)
        for trial in recording.trials:
            opened.append(recording.run.id, trial)
    return place


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(
        cli, arguments, catch_exceptions=False, env={"COLUMNS": "80"}, standalone_mode=False
    )


def test_an_error_invalidates_its_case_alone_and_the_ratio_stays() -> None:
    judgement = judged(recorded())
    _, mine, twin = (case.verdict for case in judgement.cases)
    assert mine is not None
    assert (mine.kind, mine.reasons) == (VerdictKind.INVALID, (Reason.AUDIT,))
    assert mine.ratio is not None
    assert mine.ratio.point == pytest.approx(0.5, rel=0.05)
    assert twin is not None
    assert twin.kind is not VerdictKind.INVALID


def test_show_marks_the_verdict_and_explains_the_mark(store: str) -> None:
    text = invoke("show", "--store", store).output
    assert "INVALID" in text
    assert "✗a!b" in text
    assert "✗a wrong-numbers: outputs or gradients differ" in text
    assert "!b gradients-accumulate" in text
    assert max(map(len, text.splitlines())) <= 80


def test_show_accepts_by_name(store: str) -> None:
    text = invoke("show", "--store", store, "--accept", "wrong-numbers").output
    assert "FASTER" in text
    assert "INVALID" not in text
    assert "wrong-numbers, accepted" in text


def test_audit_fails_for_an_error_that_is_not_accepted(store: str) -> None:
    done = invoke("audit", "--store", store)
    assert done.return_value == 1
    assert "error wrong-numbers" in done.output
    assert "output differs from the reference by 0.5" in done.output
    assert "error 0.5 · tolerance 0.0001" in done.output
    assert "3 cases: 1 error, 1 warning" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize("names", [("--accept", "wrong-numbers,dead-work"), ("--accept", "wrong-numbers")])
def test_audit_passes_for_what_is_accepted(store: str, names: tuple[str, ...]) -> None:
    done = invoke("audit", "latest", "--store", store, *names)
    assert done.return_value == 0
    assert "accepted error wrong-numbers" in done.output


def test_audit_as_json_and_markdown(store: str) -> None:
    document = json.loads(invoke("audit", "--store", store, "--format", "json").output)
    assert (document["errors"], document["warnings"]) == (1, 1)
    first = document["cases"][0]["findings"][0]
    assert first["name"] == "wrong-numbers"
    assert ["error", 0.5] in first["numbers"]
    assert "- **error** `wrong-numbers`" in invoke("audit", "--store", store, "--format", "markdown").output


@pytest.mark.parametrize("format_", ["csv", "json", "jsonl", "markdown"])
def test_exports_carry_findings(store: str, format_: str) -> None:
    text = invoke("show", "--store", store, "--format", format_).output
    assert "wrong-numbers" in text
    assert "gradients-accumulate" in text


def test_explain_lists_and_explains() -> None:
    listed = invoke("explain")
    assert all(name in listed.output for name in FindingName)
    page = invoke("explain", "phase-bleed").output
    assert "Why it matters" in page
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("wrong-number", "wrong-numbers"), ("backward", "backward-does-nothing"), ("zzz", "stepmark explain")],
)
def test_a_finding_that_does_not_exist(name: str, remedy: str) -> None:
    with pytest.raises(StepmarkError, match=f"no finding '{name}'") as raised:
        invoke("explain", name)
    assert remedy in raised.value.remedy


def test_accepting_what_does_not_exist(store: str) -> None:
    with pytest.raises(StepmarkError, match="no finding 'nonsense'"):
        invoke("show", "--store", store, "--accept", "nonsense")


conditions = st.lists(
    st.sampled_from([*(kind.lower() for kind in VerdictKind), *FindingName, "errors", "warnings"])
)


@steady
@given(conditions)
def test_fail_on_is_the_sum_of_its_names(names: list[str]) -> None:
    judgement = judged(recorded())
    single = [fail_on_named(name).holds(judgement) for name in names]
    assert fail_on_named(",".join(names)).holds(judgement) == any(single)
    assert exit_code(judgement, fail_on_named(",".join(names))) == int(any(single))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("errors", True),
        ("warnings", True),
        ("invalid", True),
        ("Wrong-Numbers", True),
        ("gradients-accumulate", True),
        ("dead-work,slower", False),
        (None, False),
    ],
)
def test_fail_on(text: str | None, holds: bool) -> None:
    assert fail_on_named(text).holds(judged(recorded())) is holds


def test_what_is_accepted_fails_nothing() -> None:
    recording = recorded()
    judgement = judged(recording, recording.run.policy.accepting(["wrong-numbers", "gradients-accumulate"]))
    assert not fail_on_named("errors,warnings,invalid,wrong-numbers").holds(judgement)


def test_warnings_are_the_least() -> None:
    assert fail_on_named("warnings") == FailOn(severities=frozenset({Severity.WARNING, Severity.ERROR}))
    with pytest.raises(UsageError, match="no verdict or finding 'sloer'"):
        fail_on_named("sloer")
