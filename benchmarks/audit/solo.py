"""A suite audited in this process: every case built, stepped and inspected as in a solo pass."""

from __future__ import annotations

import time
from functools import partial

import torch

from stepmark.authoring.suite import Suite
from stepmark.instruments.host_facts import environment, load_facts
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_clock import instrument_for
from stepmark.instruments.torch_facts import torch_facts
from stepmark.measure.expand import expand
from stepmark.measure.protocol import Event, LaneFailed, SoloDone
from stepmark.measure.solo import pass_alone
from stepmark.pipeline import judged
from stepmark.records.case import Case
from stepmark.records.finding import Finding
from stepmark.records.run import Recording, Run, RunStatus
from stepmark.records.settings import Policy, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import SoloTrial

SETTINGS = Settings(solo_steps=1, threads=None)


def audited(suite: Suite) -> tuple[Finding, ...]:
    """What the audit says of all its cases; a case that fails is the caller's mistake."""
    outlines = (suite.outline(),)
    cases = expand(outlines, condition=None, device="cpu")
    run = Run(
        id="solo",
        started=time.time(),
        sources=(BuiltinSource(name=suite.name),),
        suites=outlines,
        cases=cases,
        settings=SETTINGS,
        policy=Policy(),
        environment=environment(torch_facts(), command=(), bench=None),
        load_start=load_facts(),
        status=RunStatus.COMPLETE,
    )
    return judged(Recording(run=run, solos=tuple(_pass(suite, case) for case in cases))).findings


def _pass(suite: Suite, case: Case) -> SoloTrial:
    torch.compiler.reset()  # what other suites compiled here is none of this one's
    begin = time.time()
    events: list[Event] = []
    pass_alone(
        case.variant,
        partial(bind, suite.variants[case.variant], case, seed=1),
        instrument=instrument_for("cpu"),
        settings=SETTINGS,
        emit=events.append,
    )
    failures = [event.failure for event in events if isinstance(event, LaneFailed)]
    assert not failures, f"{case.id} fails by itself: {failures[0].message}\n{failures[0].traceback}"
    (done,) = [event for event in events if isinstance(event, SoloDone)]
    return SoloTrial(
        case=case,
        started=begin,
        seconds=time.time() - begin,
        evidence=done.evidence,
        samples=done.samples,
    )
