"""A lane that stopped lets go of its memory before its neighbours' turn."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from stepmark.instruments.fake import FakeInstrument
from stepmark.measure.failures import LaneStopped
from stepmark.measure.lane import HostedLane
from stepmark.measure.program import Program
from stepmark.records.outcome import Outcome
from tests.measure.scripted import MS, QUICK


class Tensor:
    """Something large."""


@pytest.mark.parametrize("at", ["build", "warm-up"])
def test_what_a_failed_lane_held_is_gone_when_its_failure_is_known(at: str) -> None:
    fake = FakeInstrument()
    held: list[weakref.ref[Tensor]] = []
    alive: list[int] = []

    def fail(kept: Tensor) -> int:
        local = Tensor()
        held.extend((weakref.ref(kept), weakref.ref(local)))
        raise MemoryError("out of memory")

    def bind() -> Program:
        kept = Tensor()
        if at == "build":
            fail(kept)
        return fake.step({"forward": lambda: fail(kept)})

    def release() -> None:
        alive.append(sum(one() is not None for one in held))

    lane = HostedLane("mine", bind, fake, QUICK, now=fake.now, release=release)
    if at == "warm-up":
        lane.build()
    with pytest.raises(LaneStopped) as stopped:
        _ = lane.build() if at == "build" else lane.warm_up()
    assert stopped.value.failure.outcome is Outcome.OUT_OF_MEMORY
    assert "fail" in stopped.value.failure.traceback
    assert alive == [0]


@pytest.mark.parametrize("answers", [True, False])
def test_a_device_that_does_not_answer_any_more_ends_the_process(answers: bool) -> None:
    fake = FakeInstrument()

    def access() -> int:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def release() -> None:
        if not answers:
            access()

    bind = lambda: fake.step({"forward": access})  # noqa: E731
    lane = HostedLane("mine", bind, fake, QUICK, now=fake.now, release=release)
    lane.build()
    with pytest.raises(LaneStopped) as stopped:
        lane.warm_up()
    assert stopped.value.ends_process is not answers
    assert "illegal memory access" in stopped.value.failure.message


def test_a_lane_that_goes_on_keeps_its_program() -> None:
    fake = FakeInstrument()
    released: list[Any] = []
    lane = HostedLane(
        "mine",
        lambda: fake.step({"forward": MS}),
        fake,
        QUICK,
        now=fake.now,
        release=lambda: released.append(1),
    )
    lane.build()
    lane.warm_up()
    lane.block(0)
    assert released == []
