"""The compiler, the baseline's settings, and what looks on: where their rules speak and are silent."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.compiled_unannounced import compiled_unannounced
from stepmark.audit.differs_from_baseline import grad_mode_differs, precision_differs, threads_differ
from stepmark.audit.eager_fallback import eager_fallback
from stepmark.audit.host_bound import host_bound
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.looked_on import anomaly_mode, debug_build, profiler_attached
from stepmark.audit.same_work_as_baseline import same_work_as_baseline
from stepmark.records.evidence import Conditions, Declared
from stepmark.records.finding import FindingName, Severity
from stepmark.records.inspection import CompilerFacts
from stepmark.records.sample import Layout, Sample, pack
from stepmark.records.settings import Settings
from stepmark.records.trial import LaneTrial
from tests.support.inspected import found, inspected, step
from tests.support.properties import steady
from tests.support.trials import make_launch


def compiled(variant: str = "mine", *, declared: bool = False, **facts: Any) -> CaseLanes:
    return inspected(
        *step(),
        variant=variant,
        compiler=CompilerFacts(**facts),
        evidence={"declared": Declared(compile=declared)},
    )


@steady
@given(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.booleans())
def test_the_compiler_and_what_is_declared(frames: int, breaks: int, disabled: bool, declared: bool) -> None:
    case = compiled(frames=frames, breaks=breaks, disabled=disabled, declared=declared)
    unannounced, fallback = compiled_unannounced(case), eager_fallback(case)
    assert (unannounced is not None) == (not disabled and (frames > 0) != declared)
    assert (fallback is not None) == (declared and (disabled or breaks > 0))
    assert all(found is None or found.severity is Severity.WARNING for found in (unannounced, fallback))


@pytest.mark.parametrize("name", ["compiled", "Inductor", "dynamo_eager", "captured"])
def test_a_name_announces_it(name: str) -> None:
    assert compiled_unannounced(compiled(name, frames=2)) is None


def test_the_reason_of_a_break_is_told() -> None:
    case = compiled(declared=True, frames=2, breaks=3, reasons=("call to\n print", "other"))
    assert "3 places, the most frequent: call to print" in found(eager_fallback, case).message


def against(own: dict[str, Any], base: dict[str, Any]) -> CaseLanes:
    return inspected(*step(), evidence=own, baseline=inspected(*step(), variant="dense", evidence=base))


def flags(**values: str) -> dict[str, Any]:
    return {"conditions": Conditions(flags=tuple(values.items()), threads=1)}


@pytest.mark.parametrize(
    "name",
    ["float32_matmul_precision", "cuda_allow_tf32", "fp16_reduced_precision_reduction", "default_dtype"],
)
def test_precision_differs(name: str) -> None:
    finding = found(precision_differs, against(flags(**{name: "a"}), flags(**{name: "b"})))
    assert (finding.name, finding.severity) == (FindingName.PRECISION_DIFFERS, Severity.WARNING)
    assert finding.message == f"{name} is a, the baseline's b"


def test_other_settings_are_not_precision() -> None:
    assert precision_differs(against(flags(cudnn_benchmark="a"), flags(cudnn_benchmark="b"))) is None
    assert precision_differs(against(flags(default_dtype="a"), flags(default_dtype="a"))) is None
    assert precision_differs(against(flags(default_dtype="a"), flags())) is None


def autocast(seen: tuple[str, ...], declared: str | None) -> dict[str, Any]:
    return {"conditions": Conditions(autocast=seen), "declared": Declared(autocast=declared)}


def test_autocast_counts_where_it_is_not_declared() -> None:
    none, bfloat16 = autocast((), None), autocast(("bfloat16",), "bfloat16")
    hidden = autocast(("bfloat16",), None)
    assert precision_differs(against(bfloat16, none)) is None
    assert precision_differs(against(hidden, hidden)) is None
    assert "autocast to bfloat16" in found(precision_differs, against(hidden, none)).message
    assert "the baseline's to bfloat16" in found(precision_differs, against(none, hidden)).message


@steady
@given(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3) | st.none())
def test_threads_differ(own: int, base: int, asked: int | None) -> None:
    baseline = inspected(*step(), variant="dense", evidence={"conditions": Conditions(threads=base)})
    case = inspected(
        *step(),
        evidence={"conditions": Conditions(threads=own)},
        settings=Settings(threads=asked),
        baseline=baseline,
    )
    differs = own > 0 and (base not in {0, own} or asked not in {None, own})
    assert (threads_differ(case) is not None) == differs


def test_gradient_mode() -> None:
    off = replace(step()[0], graph_built=False)
    case = inspected(*step(forward=off), baseline=inspected(*step(), variant="dense"))
    finding = found(grad_mode_differs, case)
    assert finding.severity is Severity.WARNING
    assert finding.message == "forward does not build a graph, the baseline's does"
    silent = replace(off, returned=False)
    assert grad_mode_differs(inspected(*step(forward=silent), baseline=inspected(*step()))) is None
    renamed = replace(off, phase="other")
    assert grad_mode_differs(inspected(renamed, baseline=inspected(*step()))) is None
    assert grad_mode_differs(inspected(*step(forward=off))) is None


def test_what_looks_on() -> None:
    conditions = Conditions(
        threads=1, tracers=("sys.settrace",), anomaly=True, debug=("CUDA_LAUNCH_BLOCKING=1",)
    )
    case = inspected(*step(), evidence={"conditions": conditions})
    for rule, text in (
        (profiler_attached, "sys.settrace looked on"),
        (anomaly_mode, "anomaly mode was on"),
        (debug_build, "CUDA_LAUNCH_BLOCKING=1"),
    ):
        finding = found(rule, case)
        assert text in finding.message
        assert finding.severity is Severity.WARNING
        assert finding.name.replace("-", "_") == rule.__name__
        assert rule(inspected(*step())) is None


def test_the_same_operations_as_the_baseline() -> None:
    finding = found(same_work_as_baseline, against({}, {}))
    assert finding.severity is Severity.WARNING
    assert "runs the 20 operations of dense" in finding.message


@pytest.mark.parametrize(
    "case",
    [
        inspected(*step()),
        against(flags(a="1"), flags(a="2")),
        against({"declared": Declared(compile=True)}, {}),
        inspected(*step(), eager=True, baseline=inspected(*step())),
        inspected(*step(), baseline=inspected(*step(), problem="it broke")),
        inspected(*step(forward=replace(step()[0], fingerprint="g")), baseline=inspected(*step())),
        inspected(*step(forward=replace(step()[0], unseen=True)), baseline=inspected(*step())),
        inspected(*step()[:2], baseline=inspected(*step())),
        inspected(baseline=inspected()),
    ],
    ids=[
        *("a baseline", "other settings", "declared compiled", "compiled", "not inspected whole"),
        *("other operations", "written unseen", "other phases", "no operations"),
    ],
)
def test_not_the_same_work(case: CaseLanes) -> None:
    assert same_work_as_baseline(case) is None


@steady
@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
def test_host_bound_from_nine_tenths(host: float, device: float) -> None:
    finding = host_bound(inspected(*step(), host_seconds=host, device_seconds=device))
    assert (finding is not None) == (host > 0.9 * device)
    if finding is not None:
        assert finding.severity is Severity.NOTE


def timed_on_a_device(lag: int, *, launches: int = 3) -> CaseLanes:
    """A step of 10 ms that took the host 9 ms to ask for, the device so far behind at its end."""
    sample = Sample(
        phase="step",
        iterations=1,
        nanoseconds=pack([10_000_000] * 5),
        host=pack([9_000_000] * 5),
        lag=pack([lag] * 5),
    )
    layout = Layout(phases=("step",), primary="step")
    lane = LaneTrial(variant="mine", layout=layout, samples=(sample,), rounds=pack(range(5)))
    case = inspected(*step(), host_seconds=1.0, device_seconds=1.0)
    trials = [make_launch(case.case.cell, [lane], number=number) for number in range(launches)]
    return dataclasses.replace(case, lanes=tuple((trial, lane) for trial in trials))


def test_host_bound_by_the_lags_of_launches_where_there_are_any() -> None:
    finding = host_bound(timed_on_a_device(100_000))
    assert finding is not None
    assert finding.message == (
        "the device waits for the host, in 3 of 3 launches: it takes 9 ms to ask for what is done after 10 ms"
    )
    assert host_bound(timed_on_a_device(1_000_000)) is None, "whatever the instrumented step says"
