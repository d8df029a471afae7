"""Hand-made trials: lanes, launches, solo passes and failures from plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from stepmark.records.case import Case, Cell
from stepmark.records.environment import LoadFacts
from stepmark.records.evidence import Evidence, TensorFacts
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.sample import Layout, Sample, Total, pack
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaunchTrial, ProcessFacts, Role, SoloTrial, Warmup

TRAIN = Layout(phases=("forward", "loss", "backward", "optimizer", "step"), primary="step", whole="step")
FORWARD = Layout(phases=("forward",), primary="forward")
OPS = Layout(
    phases=("quantize", "matmul", "dequantize"),
    primary="total",
    totals=(
        Total(name="total", parts=("quantize", "matmul", "dequantize")),
        Total(name="overhead", parts=("quantize", "dequantize")),
    ),
)
EPOCH = 1_800_000_000.0
"""When every synthetic run starts."""


def make_lane(
    variant: str,
    seconds: Mapping[str, Sequence[float] | npt.NDArray[np.float64]],
    *,
    layout: Layout = TRAIN,
    rounds: Iterable[int] | None = None,
    iterations: int = 4,
    settled: bool = True,
    clock_seconds: float = 1e-7,
    failure: Failure | None = None,
) -> LaneTrial:
    """One lane from seconds per iteration of each measured phase, one value per block."""
    samples = tuple(
        Sample(
            phase=phase,
            iterations=iterations,
            nanoseconds=np.rint(np.asarray(values) * (1e9 * iterations)).astype("<i8").tobytes(),
        )
        for phase, values in seconds.items()
    )
    num_blocks = samples[0].num_blocks if samples else 0
    return LaneTrial(
        variant=variant,
        layout=layout,
        process=ProcessFacts(pid=4242, started_by="fork-server", threads=1),
        warmup=Warmup(iterations=iterations, nanoseconds=pack((4_000_000, 4_000_000)), settled=settled),
        samples=samples,
        rounds=pack(range(num_blocks) if rounds is None else rounds),
        clock_seconds=clock_seconds,
        failure=failure,
    )


def make_launch(
    cell: Cell,
    lanes: Sequence[LaneTrial],
    *,
    number: int = 0,
    role: Role = Role.MEASURE,
    isolation: Isolation = Isolation.SHARED,
    load_1m: float = 1.0,
) -> LaunchTrial:
    """One launch around finished lanes."""
    order = tuple(lane.variant for lane in lanes)
    return LaunchTrial(
        cell=cell,
        number=number,
        seed=f"0/{cell.id}/{number}",
        role=role,
        isolation=isolation,
        started=EPOCH + number,
        seconds=0.9,
        build_order=order,
        warmup_order=order,
        lanes=tuple(lanes),
        load=LoadFacts(time=EPOCH + number, load_1m=load_1m),
    )


def make_solo(case: Case, *, layout: Layout = TRAIN, failure: Failure | None = None) -> SoloTrial:
    """A solo pass; a failed one has no evidence."""
    evidence = Evidence(
        layout=layout,
        parameters=262_656,
        trainable_parameters=262_656,
        parameter_bytes=1_050_624,
        inputs=(TensorFacts(shape=(64, 512), dtype="float32", device="cpu"),),
        output=TensorFacts(shape=(64, 512), dtype="float32", device="cpu"),
        first_step_seconds=0.05,
        peak_rss_bytes=300 << 20,
    )
    return SoloTrial(
        case=case,
        started=EPOCH,
        seconds=0.4,
        process=ProcessFacts(pid=4241, started_by="fork-server", threads=1),
        evidence=None if failure else evidence,
        failure=failure,
    )


def make_failure(
    outcome: Outcome = Outcome.CRASHED,
    *,
    cause: Cause = Cause.EXCEPTION,
    stage: Stage = Stage.BUILD,
    message: str = "RuntimeError: it broke",
    launch: int | None = None,
    round: int | None = None,
) -> Failure:
    """A failure with a traceback."""
    traceback = f"Traceback (most recent call last):\n{message}\n"
    return Failure(
        outcome=outcome,
        cause=cause,
        stage=stage,
        message=message,
        traceback=traceback,
        launch=launch,
        round=round,
    )
