"""The pipeline: from an order to a judgement, one call per stage, in order."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

from msgspec.structs import replace

from stepmark.analysis.invalidation import invalidate, wrong_cases
from stepmark.analysis.judge import judge
from stepmark.analysis.missing_cases import missing_cases
from stepmark.analysis.referee import RunReferee
from stepmark.analysis.run_summary import summarize_run
from stepmark.audit import accept, audit
from stepmark.errors import BenchFileError, Interrupted, StoreError, UsageError
from stepmark.instruments.host_facts import environment, host_facts, load_facts
from stepmark.interruption import Interruption
from stepmark.measure.engine import CutOff, Engine
from stepmark.measure.expand import Selection, cases_of, select
from stepmark.measure.protocol import Described
from stepmark.measure.schedule import Schedule
from stepmark.records.ceilings import Ceilings, highest, machine_name
from stepmark.records.environment import Environment, HostFacts
from stepmark.records.finding import Finding
from stepmark.records.outcome import Cause
from stepmark.records.outline import SuiteOutline, VariantOutline
from stepmark.records.run import Judgement, Recording, Run, RunStatus
from stepmark.records.settings import Policy, Settings
from stepmark.records.source import FileSource, Source
from stepmark.records.trial import SoloTrial, Trial
from stepmark.store.run_id import new_run_id
from stepmark.store.store import Store

ENOUGH_CEILINGS = 3
"""Measurements of a machine after which no run adds another: each may have met a bad moment."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be measured, and how."""

    sources: tuple[Source, ...]
    settings: Settings
    policy: Policy = field(default_factory=Policy)
    selection: Selection = field(default_factory=Selection)
    device: str = "cpu"
    command: tuple[str, ...] = ()
    elsewhere: tuple[Recording, ...] = ()
    """Runs that have launched some of it: their cells are left out."""


class Watcher(Protocol):
    """Someone who follows a run while it goes on."""

    def prepares(self, what: str) -> None:
        """Something has to be done before anything is measured."""

    def leaves_out(self, cells: int, asked: int) -> None:
        """So many of the cells that are asked for have a launch elsewhere."""

    def begins(self, run: Run, resumed: int) -> None:
        """Measuring starts, with this many trials already there."""

    def advances(self, trial: Trial, done: int, total: int) -> None:
        """A trial is in the store."""


class Unwatched:
    """Nobody follows."""

    def prepares(self, what: str) -> None: ...

    def leaves_out(self, cells: int, asked: int) -> None: ...

    def begins(self, run: Run, resumed: int) -> None: ...

    def advances(self, trial: Trial, done: int, total: int) -> None: ...


def measure(order: Order, *, engine: Engine, store: Store, watcher: Watcher | None = None) -> Recording:
    """Describe, expand, begin, and run to the end; everything measured is in the store when it returns."""
    described = engine.describe(order.sources, order.device)
    watcher = watcher or Unwatched()
    run = _new_run(order, described, watcher)
    run = replace(run, ceilings=_ceilings(run, described.device, engine=engine, store=store, watcher=watcher))
    store.begin(run)
    return _carry_out(run, (), engine=engine, store=store, watcher=watcher)


def resume(run_id: str, *, engine: Engine, store: Store, watcher: Watcher | None = None) -> Recording:
    """Measure what a stored run is missing; refuses where the new trials would not belong to the old. One
    that came to its end misses nothing: going on because of what it says would be another look.

    To describe a run is to execute its sources. Whatever can be refused without that is refused before."""
    store.check_resumable(run_id)
    recording = store.load(run_id)
    run = recording.run
    _refuse_machine(run, host_facts())
    described = engine.describe(run.sources, run.cases[0].cell.device)
    now = _environment(run.sources, described, run.environment.command)
    _refuse_change(run, described, now)
    if run.status is RunStatus.COMPLETE:
        return recording
    if not store.reopen(run.id):
        return store.load(run.id)
    past = store.load(run.id).trials  # again, now that nobody else adds to them
    return _carry_out(run, past, engine=engine, store=store, watcher=watcher or Unwatched())


def judged(recording: Recording, policy: Policy | None = None) -> Judgement:
    """Estimates, verdicts and findings, computed from stored values alone."""
    policy = recording.run.policy if policy is None else policy
    findings = audited(recording, policy)
    return invalidate(judge(recording, policy, wrong=wrong_cases(findings)), findings)


def audited(recording: Recording, policy: Policy | None = None) -> tuple[Finding, ...]:
    """What the audit finds, with what the run or another policy accepts."""
    policy = recording.run.policy if policy is None else policy
    return accept(audit(recording), run=recording.run, names=policy.accepted)


def _new_run(order: Order, described: Described, watcher: Watcher) -> Run:
    outlines = select(described.suites, order.selection)
    surrounding = _environment(order.sources, described, order.command)
    started = time.time()
    run = Run(
        id=new_run_id(started, Random()),
        started=started,
        sources=order.sources,
        suites=outlines,
        cases=cases_of(outlines, order.selection, device=described.device),
        settings=order.settings,
        policy=order.policy,
        environment=surrounding,
        load_start=load_facts(),
    )
    return _without_measured(run, order.elsewhere, described, watcher) if order.elsewhere else run


def _without_measured(
    asked: Run, elsewhere: Sequence[Recording], described: Described, watcher: Watcher
) -> Run:
    missing = missing_cases(asked, elsewhere, described.suites)
    cells, left = ({case.cell for case in cases} for cases in (asked.cases, missing))
    watcher.leaves_out(len(cells) - len(left), len(cells))
    return replace(asked, cases=missing)


def _ceilings(run: Run, device: str, *, engine: Engine, store: Store, watcher: Watcher) -> Ceilings | None:
    """The best rates of the machine: kept ones, and a new measurement while there are few."""
    if not run.settings.audit:
        return None
    host, torch = run.environment.host, run.environment.torch
    index = int(device.partition(":")[2] or 0)
    accelerator = torch.devices[index] if device != "cpu" and index < len(torch.devices) else ""
    kept = store.ceilings(
        host=machine_name(host.hostname, host.cpu_model, accelerator),
        device=device,
        threads=torch.threads,
        torch=torch.version,
    )
    if len(kept) < ENOUGH_CEILINGS:
        watcher.prepares("measuring the ceilings of this machine")
        measured = engine.ceilings(device)
        if measured is not None:
            store.add_ceilings(measured)
            kept = (*kept, measured)
    return highest(kept) if kept else None


def _environment(sources: Sequence[Source], described: Described, command: Sequence[str]) -> Environment:
    file = next((source for source in sources if isinstance(source, FileSource)), None)
    return environment(described.torch, command=command, bench=Path(file.path) if file else None)


def _refuse_machine(run: Run, now: HostFacts) -> None:
    then = run.environment.host
    _refuse(
        run, {"the machine": (then.hostname, now.hostname), "the processor": (then.cpu_model, now.cpu_model)}
    )


def _refuse_change(run: Run, described: Described, now: Environment) -> None:
    """Launches are replications only if nothing but chance differs between them."""
    then = run.environment
    pairs: dict[str, tuple[object, object]] = {
        "Python": (then.host.python, now.host.python),
        "torch": (then.torch.version, now.torch.version),
        "stepmark": (then.stepmark, now.stepmark),
        "the accelerator": (_cards(then), _cards(now)),
        "the number of threads": (then.torch.threads, now.torch.threads),
        "the bench file's variants": (
            [suite.variants for suite in run.suites],
            [_still_there(suite, described.suites) for suite in run.suites],
        ),
    }
    _refuse(run, pairs)


def _still_there(then: SuiteOutline, suites: Sequence[SuiteOutline]) -> tuple[VariantOutline, ...]:
    """The variants of the suite as it was, as they are now; a preset may have left out others."""
    names = {variant.name for variant in then.variants}
    now = [suite.variants for suite in suites if suite.name == then.name]
    return tuple(variant for variants in now for variant in variants if variant.name in names)


def _refuse(run: Run, pairs: Mapping[str, tuple[object, object]]) -> None:
    """What differs in any pair, then and now."""
    changed = [name for name, (old, new) in pairs.items() if old != new]
    if changed:
        raise UsageError(
            f"run {run.id} cannot be resumed: {', '.join(changed)} changed since",
            remedy="start a new run; the old one stays in the store",
        )


def _cards(environment: Environment) -> list[tuple[str, str | None, str | None]]:
    """Two cards of one kind are not one card, and a driver compiles."""
    return [(card.name, card.uuid, card.driver) for card in environment.torch.cards]


def _carry_out(
    run: Run, past: Sequence[Trial], *, engine: Engine, store: Store, watcher: Watcher
) -> Recording:
    referee = RunReferee(run, lambda: wrong_cases(audited(store.load(run.id))))
    with Interruption() as interruption:
        try:
            schedule = Schedule(run, past, referee)
            watcher.begins(run, len(past))
            _work_off(schedule, run, engine=engine, store=store, watcher=watcher, interruption=interruption)
        except KeyboardInterrupt as stop:
            with interruption.ignored():
                engine.close()
                if isinstance(stop, CutOff):
                    store.append(run.id, stop.trial)
                _finish(run, store, RunStatus.INTERRUPTED)
            raise Interrupted(
                f"stopped; what was measured is in run {run.id}",
                remedy=ways_on(run.id),
            ) from None
        except BaseException:
            # A store that fails has said so already, and may fail again.
            with interruption.ignored(), suppress(StoreError):
                _finish(run, store, RunStatus.INTERRUPTED)
            raise
        with interruption.ignored():
            _finish(run, store, RunStatus.COMPLETE)
            recording = store.load(run.id)
            store.keep_summary(summarize_run(judged(recording)))
    return recording


def ways_on(run_id: str, *, store: str | None = None) -> str:
    """What can be done with a run that was stopped; `store` is its place, where one was named."""
    there = f" --store {shlex.quote(store)}" if store else ""
    return f"stepmark run --resume {run_id}{there} goes on, stepmark show {run_id}{there} shows it"


def _work_off(
    schedule: Schedule,
    run: Run,
    *,
    engine: Engine,
    store: Store,
    watcher: Watcher,
    interruption: Interruption,
) -> None:
    """One assignment after the other; each trial is stored before the next begins."""
    begin = time.monotonic()
    while (assignment := schedule.next(time.monotonic() - begin)) is not None:
        trial = engine.perform(assignment)
        with interruption.held_back():
            store.append(run.id, trial)
        schedule.note(trial)
        watcher.advances(trial, *schedule.progress)
        _stop_at_mistake(trial)


def _stop_at_mistake(trial: Trial) -> None:
    """A bench file that uses stepmark wrongly is for its author to mend, not to be measured around."""
    failure = trial.failure if isinstance(trial, SoloTrial) else None
    if failure is not None and failure.cause is Cause.MISTAKE:
        raise BenchFileError(failure.message, remedy="mend it and run again")


def _finish(run: Run, store: Store, status: RunStatus) -> None:
    store.finish(run.id, status=status, finished=time.time(), load_end=load_facts())
