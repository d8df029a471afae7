"""Cases for the rules of the audit: a solo pass with hand-made evidence, and a baseline where needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from stepmark.audit.lanes import CaseLanes
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.evidence import Evidence
from stepmark.records.finding import Finding
from stepmark.records.inspection import Inspection, PhaseInspection
from stepmark.records.sample import Layout, Sample, pack
from stepmark.records.settings import Settings
from tests.support.recordings import make_run
from tests.support.trials import FORWARD, TRAIN, make_solo

Rule = Callable[[CaseLanes], Finding | None]
PLAIN = {"forward": 4e-3, "loss": 1e-3, "backward": 8e-3, "optimizer": 2e-3, "step": 15e-3}
"""Seconds of the phases of a step."""


def inspected(
    *phases: PhaseInspection,
    mode: Mode = Mode.TRAIN,
    dtype: str = "float32",
    variant: str = "mine",
    seconds: Mapping[str, float] | None = None,
    evidence: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    baseline: CaseLanes | None = None,
    **facts: Any,
) -> CaseLanes:
    """A case whose instrumented step saw these phases and facts; `evidence` has what stands beside them."""
    layout = _layout(mode, phases)
    case = Case(variant=variant, cell=Cell(suite="synthetic", dtype=dtype, mode=mode))
    solo = make_solo(case, layout=layout)
    assert solo.evidence is not None
    seen = Inspection(phases=phases, **facts)
    samples = tuple(
        Sample(phase=phase, iterations=1, nanoseconds=pack([round(time * 1e9)] * 3))
        for phase, time in (PLAIN if seconds is None else seconds).items()
    )
    return CaseLanes(
        run=make_run(settings=settings),
        case=case,
        id=case.id,
        solo=replace(
            solo,
            evidence=replace(solo.evidence, inspection=seen, **(evidence or {})),
            samples=samples,
        ),
        lanes=(),
        baseline=baseline,
    )


def _layout(mode: Mode, phases: tuple[PhaseInspection, ...]) -> Layout:
    if mode is Mode.OPS:
        names = tuple(phase.phase for phase in phases) or ("matmul",)
        return Layout(phases=names, primary=names[0])
    return TRAIN if mode is Mode.TRAIN else FORWARD


def step(**changes: PhaseInspection) -> tuple[PhaseInspection, ...]:
    """The phases of an ordinary training step of one linear layer, some of them put in its place."""
    ordinary = {
        "forward": PhaseInspection(
            phase="forward",
            operations=3,
            flops=1e6,
            traffic=1e5,
            fingerprint="f",
            forward_operations=3,
            forward_flops=1e6,
            graph_built=True,
            returned=True,
        ),
        "loss": PhaseInspection(
            phase="loss",
            operations=2,
            traffic=1e4,
            fingerprint="l",
            forward_operations=2,
            graph_built=True,
            returned=True,
        ),
        "backward": PhaseInspection(
            phase="backward",
            operations=9,
            flops=2e6,
            traffic=2e5,
            fingerprint="b",
            forward_operations=1,
            backward_operations=8,
            backward_flops=2e6,
        ),
        "optimizer": PhaseInspection(
            phase="optimizer", operations=6, traffic=3e5, fingerprint="o", forward_operations=6, mutated=6
        ),
    }
    return tuple({**ordinary, **changes}.values())


def bare(evidence: Evidence | None = None) -> CaseLanes:
    """A case with this evidence, or that nobody looked at."""
    case = inspected()
    assert case.solo is not None
    return CaseLanes(
        run=case.run, case=case.case, id=case.id, solo=replace(case.solo, evidence=evidence), lanes=()
    )


def found(rule: Rule, case: CaseLanes) -> Finding:
    """The finding that must be there."""
    finding = rule(case)
    assert finding is not None
    assert finding.case == case.id
    return finding
