"""Whole runs on a CUDA device: regimes, host times beside device times, graphs refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import stepmark as sm
from stepmark.records.case import Cache, Execution, Mode
from stepmark.records.estimate import Bound
from stepmark.records.outcome import Cause, Outcome
from stepmark.result import Result

pytestmark = [pytest.mark.gpu, pytest.mark.process]


def steps() -> sm.Suite:
    suite = sm.Suite("steps", modes=["train"])

    @suite.variant(baseline=True)
    def plain(c: Any) -> sm.Step:
        return sm.Step(nn.Linear(64, 64), inputs=sm.randn(16, 64), optimizer=torch.optim.AdamW)

    @suite.variant
    def waiting(c: Any) -> sm.Step:
        layer = nn.Linear(64, 64)
        layer.register_forward_hook(lambda _module, _inputs, output: output * output.sum().item())
        return sm.Step(layer, inputs=sm.randn(16, 64))

    return suite


def operations() -> sm.Suite:
    suite = sm.Suite("operations", modes=["ops"])

    @suite.variant(baseline=True)
    def plain(c: Any) -> sm.Ops:
        x = torch.randn(4096, 4096, device=c.device)
        return sm.Ops({"product": lambda: x @ x})

    return suite


def measured(suite: sm.Suite, **options: Any) -> Result:
    return sm.run(suite, device="cuda", preset="quick", launches=2, audit=False, **options)


def test_operations_are_measured_warm_and_cold_and_bound_by_the_device() -> None:
    result = measured(operations())
    assert {case.case.cell.cache for case in result.cases} == set(Cache)
    for case in result.cases:
        assert case.outcome is Outcome.MEASURED, case.failure
        summary = case.summary("product")
        assert summary is not None
        assert summary.bound is Bound.DEVICE
        assert summary.host_seconds is not None
        assert summary.host_seconds < summary.median.point
    proofs = [solo.evidence.cache for solo in result.recording.solos if solo.evidence]
    assert sum(proof is not None for proof in proofs) == 1


def test_a_small_step_waits_for_the_host_unless_it_is_replayed() -> None:
    result = measured(steps(), modes=["eager", "graph"])
    plain = {case.case.cell.execution: case for case in result.cases if case.case.variant == "plain"}
    bounds = {}
    for execution, case in plain.items():
        summary = case.summary("step")
        assert summary is not None, case.failure
        bounds[execution] = (summary.bound, case.phases)
    assert bounds[Execution.EAGER][0] is Bound.HOST
    assert bounds[Execution.GRAPH] == (Bound.DEVICE, ("step",))


def test_what_cannot_be_captured_is_unsupported_and_leaves_the_others_alone() -> None:
    result = measured(steps(), modes=["graph"])
    ends = {case.case.variant: case for case in result.cases}
    assert ends["plain"].outcome is Outcome.MEASURED
    failure = ends["waiting"].failure
    assert failure is not None
    assert (failure.outcome, failure.cause) == (Outcome.UNSUPPORTED, Cause.EXCEPTION)
    assert "in forward it waits for the device" in failure.message
    assert {case.case.cell.mode for case in result.cases} == {Mode.TRAIN}
