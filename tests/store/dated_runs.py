"""Runs to be found again: small recordings with a date, a machine, a branch and a suite of their own."""

from __future__ import annotations

from msgspec.structs import replace

from stepmark.analysis.run_summary import summarize_run
from stepmark.pipeline import judged
from stepmark.records.environment import RepositoryFacts
from stepmark.records.run import Recording, RunStatus
from stepmark.store.store import Store
from tests.support.recordings import Noise, make_recording

HOUR = 3600.0
STILL = Noise(process=0.01, instance=0.002, round=0.005)


def dated(
    number: int,
    *,
    suite: str = "synthetic",
    machine: str = "bench",
    branch: str | None = "main",
    factor: float = 1.0,
    threads: int = 1,
    status: RunStatus = RunStatus.COMPLETE,
    command: tuple[str, ...] = ("stepmark", "run"),
) -> Recording:
    """The run of one hour; `factor` multiplies all its times."""
    recording = make_recording(
        suite=suite,
        variants={"dense": factor, "mine": 2.0 * factor},
        num_launches=3,
        num_rounds=6,
        noise=STILL,
        seed=number,
    )
    run = recording.run
    environment = replace(
        run.environment,
        host=replace(run.environment.host, hostname=machine),
        torch=replace(run.environment.torch, threads=threads),
        repository=RepositoryFacts(commit=f"{number:040x}", dirty=number % 2 == 1, branch=branch),
        command=command,
    )
    return replace(
        recording,
        run=replace(
            run,
            id=f"20270101-{number:06}-aaaa",
            started=run.started + number * HOUR,
            environment=environment,
            status=status,
            settings=replace(run.settings, threads=threads),
        ),
    )


def keep_summarized(store: Store, recording: Recording) -> None:
    """As a run leaves it that came to its end."""
    store.add_recording(recording)
    store.keep_summary(summarize_run(judged(recording)))
