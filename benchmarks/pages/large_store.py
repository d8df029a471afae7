"""A large store: ten thousand runs with a million samples, the same every time, kept in the build folder.

Runs are copies of a few synthetic recordings whose times are multiplied by a factor of their own: a level
with steps, and noise from run to run; each is on one of four machines. They are written by the store's own
code, many in one transaction, and so are their summaries, whose levels are multiplied by the same factor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from stepmark.analysis.run_summary import conditions_of, summarize_run
from stepmark.pipeline import judged
from stepmark.records.environment import RepositoryFacts
from stepmark.records.estimate import Estimate
from stepmark.records.run import Recording, Run
from stepmark.records.run_summary import RunSummary
from stepmark.records.sample import Sample
from stepmark.records.trial import LaneTrial, LaunchTrial
from stepmark.store.store import Store
from stepmark.store.summaries import replace_summary
from stepmark.store.writing import insert_run, insert_trial
from tests.support.recordings import make_recording

NUM_RUNS = 10_000
SAMPLES_PER_RUN = 100
"""Rows of the table: 4 cases, 5 launches, 5 phases; 20 blocks in each."""
PLACE = Path("build/pages/large.db")
MACHINES = ("bench-a",) * 7 + ("bench-b", "bench-c", "bench-d")
BRANCHES = ("main",) * 6 + ("feature/fused", "feature/<b>bold</b>", "release", None)
SUITES = ("layers", "attention", "norms", "optimizers")
_AT_ONCE = 100
_EPOCH = 1_700_000_000.0
_BUILD = "PyTorch built with:\n" + "".join(f"  - a line about library {n} and its flags\n" for n in range(60))
"""As long as torch's own description of itself."""


class Template(NamedTuple):
    """What runs are copied from."""

    recording: Recording
    summary: RunSummary


def large_store(place: Path = PLACE, *, num_runs: int = NUM_RUNS) -> Path:
    """The store, made unless it is there with as many runs as asked for."""
    if place.exists():
        with Store.open(f"sqlite:///{place}") as store:
            if store.search(limit=1).total == num_runs:
                return place
        for left in (place, *(place.with_name(place.name + end) for end in ("-wal", "-shm"))):
            left.unlink(missing_ok=True)
    begin = time.perf_counter()
    generator = np.random.default_rng(20261116)
    templates = [_template(suite, seed) for suite in SUITES for seed in (1, 2)]
    with Store.open(f"sqlite:///{place}") as store:
        for first in range(0, num_runs, _AT_ONCE):
            with store._writing() as connection:
                for number in range(first, min(first + _AT_ONCE, num_runs)):
                    recording, summary = _copy(templates, number, num_runs, generator)
                    insert_run(connection, recording.run)
                    for trial in recording.trials:
                        insert_trial(connection, recording.run.id, trial)
                    replace_summary(connection, summary)
    print(f"made {place} in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return place


def _template(suite: str, seed: int) -> Template:
    axes = {"features": (512, 2048)}
    recording = make_recording(suite=suite, variants={"dense": 1.0, "mine": 0.93}, axes=axes, seed=seed)
    environment = recording.run.environment
    torch = replace(environment.torch, build=_BUILD)
    run = replace(recording.run, environment=replace(environment, torch=torch))
    recording = replace(recording, run=run)
    return Template(recording, summarize_run(judged(recording)))


def _copy(
    templates: list[Template], number: int, num_runs: int, generator: np.random.Generator
) -> tuple[Recording, RunSummary]:
    """Seven runs of ten are of the first suite, so that its cases have long histories."""
    suite = 0 if generator.random() < 0.7 else int(generator.integers(1, len(SUITES)))
    template = templates[2 * suite + int(generator.integers(2))]
    run = _run(template.recording.run, number, generator)
    step = (1.0, 1.06, 0.97, 1.01)[4 * number // num_runs]
    factor = step * float(np.exp(generator.normal(0.0, 0.02)))
    launches = tuple(_scaled_launch(launch, factor) for launch in template.recording.launches)
    cases = tuple(replace(case, level=_scaled(case.level, factor)) for case in template.summary.cases)
    summary = replace(template.summary, run=run.id, conditions=conditions_of(run), cases=cases)
    return replace(template.recording, run=run, launches=launches), summary


def _run(run: Run, number: int, generator: np.random.Generator) -> Run:
    started = _EPOCH + 3600.0 * number
    environment = run.environment
    commit = f"{number // 3:040x}"
    return replace(
        run,
        id=f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(started))}-{number:04x}",
        started=started,
        finished=started + 60.0,
        environment=replace(
            environment,
            host=replace(environment.host, hostname=str(generator.choice(MACHINES))),
            repository=RepositoryFacts(
                commit=commit, dirty=False, branch=BRANCHES[int(generator.integers(len(BRANCHES)))]
            ),
        ),
    )


def _scaled_launch(launch: LaunchTrial, factor: float) -> LaunchTrial:
    return replace(launch, lanes=tuple(_scaled_lane(lane, factor) for lane in launch.lanes))


def _scaled_lane(lane: LaneTrial, factor: float) -> LaneTrial:
    return replace(lane, samples=tuple(_scaled_samples(lane.samples, factor)))


def _scaled_samples(samples: tuple[Sample, ...], factor: float) -> Iterator[Sample]:
    for sample in samples:
        times = np.frombuffer(sample.nanoseconds, dtype="<i8") * factor
        yield replace(sample, nanoseconds=times.astype("<i8").tobytes())


def _scaled(level: Estimate, factor: float) -> Estimate:
    return replace(level, point=level.point * factor, low=level.low * factor, high=level.high * factor)
