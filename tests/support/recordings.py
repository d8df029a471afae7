"""Synthetic recordings: a run with any number of cells, variants, launches and rounds, without measuring.

The model of a block's time per iteration, the same as in the noise study behind the protocol:

    log t = log(seconds * factor[variant] * share[phase]) + process + instance + round

`process` is common to all lanes of a launch and cancels in the ratio; `instance` is a lane's own offset in
one launch, which only more launches average out; `round` is fresh for every block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import msgspec
import numpy as np
import numpy.typing as npt

from stepmark.records.case import AxisValue, Case, Cell
from stepmark.records.environment import Environment, HostFacts, LoadFacts, TorchFacts
from stepmark.records.outcome import Failure, Stage
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline
from stepmark.records.record import Record
from stepmark.records.run import Recording, Run, RunStatus
from stepmark.records.sample import Layout
from stepmark.records.settings import Isolation, Policy, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import LaneTrial, Role
from tests.support.trials import EPOCH, TRAIN, make_failure, make_lane, make_launch, make_solo


class Noise(Record, frozen=True):
    """Standard deviations of the logarithm of time."""

    process: float = 0.03
    instance: float = 0.004
    round: float = 0.01


QUIET = Noise(process=0.0, instance=0.0, round=0.0)


def make_run(
    *,
    suite: str = "synthetic",
    variants: Sequence[str] = ("dense", "mine"),
    axes: Mapping[str, Sequence[AxisValue]] | None = None,
    settings: Settings | None = None,
    policy: Policy | None = None,
    status: RunStatus = RunStatus.COMPLETE,
    id: str = "20270115-080000-synth",
) -> Run:
    """The head of a run; the first variant is the baseline."""
    axes = {"features": (512,)} if axes is None else axes
    outline = SuiteOutline(
        name=suite,
        axes=tuple(Axis(name=name, values=tuple(values)) for name, values in axes.items()),
        variants=tuple(VariantOutline(name=name, baseline=i == 0) for i, name in enumerate(variants)),
    )
    points = (tuple(zip(axes, values, strict=True)) for values in product(*axes.values()))
    cells = [Cell(suite=suite, axes=point) for point in points]
    return Run(
        id=id,
        started=EPOCH,
        sources=(BuiltinSource(name=suite),),
        suites=(outline,),
        cases=tuple(Case(variant=name, cell=cell) for cell in cells for name in variants),
        settings=settings or Settings(),
        policy=policy or Policy(),
        environment=make_environment(),
        load_start=LoadFacts(time=EPOCH, load_1m=0.2),
        load_end=LoadFacts(time=EPOCH + 60.0, load_1m=1.1),
        finished=None if status is RunStatus.RUNNING else EPOCH + 60.0,
        status=status,
    )


def make_environment() -> Environment:
    """A small machine."""
    return Environment(
        stepmark="0.1.0",
        host=HostFacts(
            hostname="bench",
            os="Linux 6.1",
            cpu_model="Example CPU",
            physical_cores=2,
            logical_cores=4,
            memory_bytes=16 << 30,
            frequency_mhz=3000.0,
            governor="performance",
            python="3.11.7",
        ),
        torch=TorchFacts(version="2.13.0", build="example", threads=1, interop_threads=1, flags=()),
        command=("stepmark", "run", "synthetic"),
    )


def phase_seconds(
    layout: Layout,
    log_factor: npt.NDArray[np.float64],
    *,
    seconds: float,
    noise: float,
    generator: np.random.Generator,
) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds per iteration of each measured phase; a whole is its parts and 1 % that none explains."""
    parts = [phase for phase in layout.phases if phase != layout.whole]
    shares = np.arange(1.0, len(parts) + 1.0) / (len(parts) * (len(parts) + 1) / 2)
    rounds = generator.normal(0.0, noise, (len(parts), log_factor.size)) if noise else 0.0
    blocks = seconds * shares[:, None] * np.exp(log_factor + rounds)
    named = dict(zip(parts, blocks, strict=True))
    if layout.whole is not None:
        named[layout.whole] = blocks.sum(axis=0) * 1.01
    return {phase: named[phase] for phase in layout.phases}


def make_recording(
    *,
    variants: Mapping[str, float] | None = None,
    axes: Mapping[str, Sequence[AxisValue]] | None = None,
    num_launches: int = 5,
    num_confirming: int = 0,
    num_rounds: int = 20,
    seconds: float = 1e-3,
    layout: Layout = TRAIN,
    noise: Noise | None = None,
    isolation: Isolation = Isolation.SHARED,
    policy: Policy | None = None,
    settings: Settings | None = None,
    suite: str = "synthetic",
    seed: int = 0,
) -> Recording:
    """A complete run; `variants` maps names to true time factors, the first is the baseline. The confirming
    launches come after the others, in every cell."""
    variants = {"dense": 1.0, "mine": 1.0} if variants is None else variants
    noise = noise or Noise()
    generator = np.random.default_rng(seed)
    settings = settings or Settings(seed=seed, launches=num_launches, isolation=isolation)
    run = make_run(suite=suite, variants=tuple(variants), axes=axes, settings=settings, policy=policy)
    launches = []
    for cell in dict.fromkeys(case.cell for case in run.cases):
        for number in range(num_launches + num_confirming):
            role = Role.MEASURE if number < num_launches else Role.CONFIRM
            process = generator.normal(0.0, noise.process)
            lanes = []
            for name, factor in variants.items():
                level = np.log(factor) + process + generator.normal(0.0, noise.instance)
                blocks = phase_seconds(
                    layout,
                    np.full(num_rounds, level),
                    seconds=seconds,
                    noise=noise.round,
                    generator=generator,
                )
                lanes.append(make_lane(name, blocks, layout=layout))
            launches.append(make_launch(cell, lanes, number=number, role=role, isolation=isolation))
    solos = tuple(make_solo(case, layout=layout) for case in run.cases)
    return Recording(run=run, solos=solos, launches=tuple(launches))


def fail_solo(recording: Recording, variant: str, failure: Failure | None = None) -> Recording:
    """The variant fails in its solo pass in every cell and never meets the others."""
    failure = failure or make_failure()
    solos = tuple(
        make_solo(solo.case, failure=failure) if solo.case.variant == variant else solo
        for solo in recording.solos
    )
    launches = tuple(
        msgspec.structs.replace(launch, lanes=tuple(lane for lane in launch.lanes if lane.variant != variant))
        for launch in recording.launches
    )
    return msgspec.structs.replace(recording, solos=solos, launches=launches)


def fail_lane(
    recording: Recording, variant: str, *, launch: int, keep: int, failure: Failure | None = None
) -> Recording:
    """The variant fails in one launch of every cell, after `keep` complete rounds."""
    failure = failure or make_failure(stage=Stage.ROUNDS, launch=launch, round=keep)

    def cut(lane: LaneTrial) -> LaneTrial:
        samples = tuple(
            msgspec.structs.replace(sample, nanoseconds=sample.nanoseconds[: 8 * keep])
            for sample in lane.samples
        )
        rounds = lane.rounds[: 8 * keep]
        return msgspec.structs.replace(lane, samples=samples, rounds=rounds, failure=failure)

    return edit_lanes(
        recording, lambda number, lane: cut(lane) if (number, lane.variant) == (launch, variant) else lane
    )


def edit_lanes(recording: Recording, change: Callable[[int, LaneTrial], LaneTrial]) -> Recording:
    """The recording with `change(launch number, lane)` in the place of every lane."""
    launches = tuple(
        msgspec.structs.replace(launch, lanes=tuple(change(launch.number, lane) for lane in launch.lanes))
        for launch in recording.launches
    )
    return msgspec.structs.replace(recording, launches=launches)
