"""Whole runs for pages: synthetic recordings with evidence, ceilings, orders of rounds and warm-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from msgspec.structs import replace

from stepmark.records.case import AxisValue
from stepmark.records.ceilings import Ceilings, MatrixRate
from stepmark.records.inspection import Inspection, MemoryFacts, OperatorUse, PhaseInspection, Product
from stepmark.records.run import Recording
from stepmark.records.sample import pack
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial
from tests.support.inspected import step
from tests.support.recordings import make_recording
from tests.support.trials import EPOCH

HOSTILE = "<img src=x onerror=alert(1)>"
"""A name that must never be anything but text."""
OPERATORS = (
    "aten.addmm.default", "aten.mm.default", "aten.mul.Tensor", "aten.add.Tensor", "aten.view.default",
    "aten.t.default", "aten._softmax.default", "aten.sum.dim_IntList", "aten.detach.default",
    "aten.linalg_vector_norm.default", "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten.addcmul_.default",
)  # fmt: skip
FACTORS = {"dense": 1.0, "twin": 1.0, "quick": 0.8, "slow": 1.3}
CEILINGS = Ceilings(
    device="cpu",
    threads=1,
    torch="2.13.0",
    host="bench, Example CPU",
    measured=EPOCH,
    copy_memory=1.2e10,
    copy_cache=4.1e10,
    matrix=(MatrixRate(dtype="float32", flops_per_second=8.5e10, size=1024),),
)


def whole_run(
    *,
    variants: Mapping[str, float] | None = None,
    axes: Mapping[str, Sequence[AxisValue]] | None = None,
    num_launches: int = 6,
    num_rounds: int = 20,
    num_confirming: int = 5,
    suite: str = "mylayer",
) -> Recording:
    """A complete run in which every part of a report has something to show."""
    variants = FACTORS if variants is None else variants
    recording = make_recording(
        variants=variants,
        axes={"features": (128, 512, 2048)} if axes is None else axes,
        num_launches=num_launches,
        num_rounds=num_rounds,
        num_confirming=num_confirming,
        suite=suite,
    )
    heavier = {name: place + 1 for place, name in enumerate(variants)}
    return replace(
        recording,
        run=replace(recording.run, ceilings=CEILINGS),
        solos=tuple(_inspected(solo, times=heavier[solo.case.variant]) for solo in recording.solos),
        launches=tuple(_ordered(launch) for launch in recording.launches),
    )


def _inspected(solo: SoloTrial, *, times: int) -> SoloTrial:
    assert solo.evidence is not None
    phases = tuple(
        replace(
            phase,
            peak_bytes=times * 100_000 * (place + 1),
            saved_bytes=0 if place else times * 40_000,
            products=(Product(dtype="float32", calls=place + 1, flops=phase.flops),) if phase.flops else (),
            operators=_operators(phase, Random(f"{solo.case.id} {phase.phase}")),
        )
        for place, phase in enumerate(step())
    )
    seen = Inspection(phases=phases, memory=MemoryFacts(own=times * 500_000))
    return replace(solo, evidence=replace(solo.evidence, inspection=seen, optimizer_state_bytes=200_000))


def _operators(phase: PhaseInspection, generator: Random) -> tuple[OperatorUse, ...]:
    """A dozen, whose work and traffic add up to the phase's; another for every case, as in real runs."""
    parts = [generator.random() for _ in OPERATORS]
    uses = [
        OperatorUse(
            name=name,
            calls=generator.randint(1, 40),
            flops=phase.flops if place == 0 else 0.0,
            traffic=phase.traffic * parts[place] / sum(parts),
            seconds=generator.expovariate(1e4),
        )
        for place, name in enumerate(OPERATORS)
    ]
    return tuple(sorted(uses, key=lambda use: -(use.seconds or 0.0)))


def _ordered(launch: LaunchTrial) -> LaunchTrial:
    generator = Random(launch.seed)
    names = [lane.variant for lane in launch.lanes]
    rounds = max(len(lane.rounds) // 8 for lane in launch.lanes)
    return replace(
        launch,
        build_order=tuple(generator.sample(names, len(names))),
        warmup_order=tuple(generator.sample(names, len(names))),
        round_orders=tuple(tuple(generator.sample(names, len(names))) for _ in range(rounds)),
        lanes=tuple(_warmed(lane) for lane in launch.lanes),
    )


def _warmed(lane: LaneTrial) -> LaneTrial:
    assert lane.warmup is not None
    blocks = pack(4_000_000 + 3_000_000 // (place + 1) for place in range(12))
    first = pack((9_000_000, 2_000_000, 1_500_000))
    return replace(lane, warmup=replace(lane.warmup, nanoseconds=blocks, first=first))
