"""The footer of a report: how the run was made, so that its numbers can be weighed."""

from __future__ import annotations

from stepmark.records.estimate import Method
from stepmark.records.record import Record
from stepmark.records.run import Judgement, RunStatus
from stepmark.records.settings import Isolation

Span = tuple[int, int]
"""Least and most."""


class Footer(Record, frozen=True, kw_only=True):
    """How the run was made."""

    run: str
    status: RunStatus
    started: float
    seconds: float
    """Of measuring, pauses left out."""
    launches: Span
    """Per measured case."""
    rounds: Span | None
    """Of a launch of a measured case, typically; None where nothing was measured."""
    margin: float
    """Of the verdicts, which may have been given anew with another policy than the run's."""
    confidence: float
    method: Method
    """How the intervals of the times were made, the weaker one where both occur."""
    isolation: Isolation
    seed: int
    cpu: str
    logical_cores: int
    memory_bytes: int
    devices: tuple[str, ...]
    torch: str
    python: str
    stepmark: str
    commit: str | None
    dirty: bool
    budget: float | None = None
    """Seconds."""


def build_footer(judgement: Judgement) -> Footer:
    """Collect what every report says below its tables."""
    run, environment = judgement.run, judgement.run.environment
    measured = [case for case in judgement.cases if case.summaries]
    launches = [case.num_launches for case in measured] or [run.settings.launches]
    rounds = [case.num_rounds for case in measured if case.num_rounds]
    methods = {summary.median.method for case in measured for summary in case.summaries}
    repository = environment.repository
    policy = next((case.verdict.policy for case in judgement.cases if case.verdict), run.policy)
    return Footer(
        run=run.id,
        status=run.status,
        started=run.started,
        seconds=judgement.seconds,
        launches=(min(launches), max(launches)),
        rounds=(min(rounds), max(rounds)) if rounds else None,
        margin=policy.margin,
        confidence=policy.confidence,
        method=Method.BOOTSTRAP_BLOCKS if Method.BOOTSTRAP_BLOCKS in methods else Method.T_LAUNCHES,
        isolation=run.settings.isolation,
        seed=run.settings.seed,
        cpu=environment.host.cpu_model,
        logical_cores=environment.host.logical_cores,
        memory_bytes=environment.host.memory_bytes,
        devices=environment.torch.devices,
        torch=environment.torch.version,
        python=environment.host.python,
        stepmark=environment.stepmark,
        commit=repository.commit if repository else None,
        dirty=bool(repository and repository.dirty),
        budget=run.settings.budget,
    )
