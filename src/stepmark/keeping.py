"""Keeping summaries of stored runs: missing ones are made, histories and machines are read from them."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stepmark.analysis.machine_noise import noise_of_machine
from stepmark.analysis.run_summary import VERSION, summarize_run, unreadable
from stepmark.errors import StoreError, Unjudgeable, UsageError
from stepmark.pipeline import judged
from stepmark.records.comparison import RunSpread
from stepmark.records.history import CaseHistory
from stepmark.records.record import Record
from stepmark.records.run import Judgement, Recording, RunStatus
from stepmark.records.run_summary import KnownMachine, RunSummary
from stepmark.store.store import Store
from stepmark.store.trouble import is_damage

LOG = logging.getLogger("stepmark")
NUM_LOOKED_AT = 200
"""Newest runs of a machine that tell about its noise: what it was like long ago says little."""
NUM_NAMED = 3
"""Cases that are proposed where one is not known."""


class MachineNoise(Record, frozen=True, kw_only=True):
    """A machine, and how far levels of unchanged code wander on it."""

    machine: KnownMachine
    spread: RunSpread | None
    """None where too few runs repeat each other."""


def refresh(store: Store, *, limit: int) -> int:
    """Summarize finished runs that are not yet, or by older rules, at most so many; how many were done.

    A run takes as long as judging it does: call it again rather than with a large limit. One that cannot be
    judged is named in the log, and is in nobody's way.
    """
    ids = store.stale(version=VERSION, limit=limit)
    for run_id in ids:
        store.keep_summary(_summary(store, run_id))
    return len(ids)


def take_in(
    store: Store, recording: Recording, *, show: Callable[[Recording, Judgement], object] | None = None
) -> bool:
    """Keep a whole run from elsewhere, with its summary; False where the very same one is there already.

    Whatever stops it from being judged is wrong with the run, and it is refused: from then on every page that
    shows it would stumble. `show` makes what will be made of it, to see that nothing else does.
    """
    with _refusing(recording, "judged"):
        judgement = judged(recording)
        summary = _numbers_known(summarize_run(judgement))
    if show is not None:
        with _refusing(recording, "shown"):
            show(recording, judgement)
    added = store.add_recording(recording)
    if added and recording.run.status is not RunStatus.RUNNING:
        store.keep_summary(summary)
    return added


def refresh_all(store: Store, *, batch: int = 20) -> int:
    """Until none is left; how many were done."""
    total = 0
    while num := refresh(store, limit=batch):
        total += num
    return total


def case_history(
    store: Store, case_id: str, *, phase: str | None = None, machine: str | None = None
) -> CaseHistory:
    """Of one phase of one case, the primary one if none is named, as far as runs are summarized."""
    from stepmark.analysis.case_history import segment

    phases = store.case_phases(case_id)
    if not phases:
        raise _no_case(store, case_id)
    phase = phase or phases[0]
    if phase not in phases:
        raise UsageError(f"{case_id} has no phase '{phase}'", remedy=f"its phases are: {', '.join(phases)}")
    points = store.case_points(case_id, phase, machine)
    facts = store.conditions(point.conditions for point in points)
    return segment(points, case=case_id, phase=phase, facts=facts)


def machines(store: Store) -> tuple[MachineNoise, ...]:
    """Machines with their noise, the one with the newest run first."""
    return tuple(
        MachineNoise(
            machine=machine,
            spread=noise_of_machine(store.machine_levels(machine.name, num_runs=NUM_LOOKED_AT)),
        )
        for machine in store.machines()
    )


def _summary(store: Store, run_id: str) -> RunSummary:
    """Of a run that cannot be judged one that says nothing: it will not get better, and others wait."""
    try:
        return _numbers_known(summarize_run(judged(store.load(run_id))))
    except Exception as error:
        if isinstance(error, MemoryError) or _may_pass(error):
            raise
        LOG.warning("run %s is listed without verdicts: %s: %s", run_id, type(error).__name__, error)
        return unreadable(run_id)


def _may_pass(error: Exception) -> bool:
    """A store that is busy or full is another one the next time; a record that cannot be read is not."""
    return isinstance(error, StoreError) and not is_damage(error)


def _numbers_known(summary: RunSummary) -> RunSummary:
    """What is not a number has no place in a history, nor in SQLite; estimates see to themselves."""
    for case in summary.cases:
        if math.isnan(case.error):
            raise ValueError(f"the spread of {case.phase} of {case.case} is not a number")
    return summary


@contextmanager
def _refusing(recording: Recording, what: str) -> Iterator[None]:
    """Anything that stops it, as a refusal."""
    try:
        yield
    except Exception as error:
        raise Unjudgeable(
            f"run {recording.run.id} cannot be {what}: {type(error).__name__}: {error}",
            remedy="was it changed by hand, or written by another stepmark?",
        ) from error


def _no_case(store: Store, case_id: str) -> UsageError:
    words = case_id.replace("/", " ").replace("[", " ")
    near = store.case_ids(words, NUM_NAMED) or store.case_ids(
        words.split()[0] if words.split() else "", NUM_NAMED
    )
    remedy = (
        f"did you mean {', '.join(near)}?" if near else "a case has a history once a run of it has finished"
    )
    return UsageError(f"no finished run has a case '{case_id}'", remedy=remedy)
