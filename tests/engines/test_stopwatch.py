"""The stopwatch of a launch: what of the processor's time belongs to it."""

from __future__ import annotations

import os

import pytest

from stepmark.engines import stopwatch
from stepmark.engines.stopwatch import LaunchWatch
from stepmark.instruments.launch_counters import Counters
from stepmark.measure.protocol import Began, Event, Finished

PER_SECOND = os.sysconf("SC_CLK_TCK")


def counters(moment: float, worked: float, family: float) -> Counters:
    """Seconds of work by anybody, and by the run."""
    return Counters(
        moment=moment,
        spent=None,
        stolen=None,
        worked=round(worked * PER_SECOND),
        family=round(family * PER_SECOND),
        held_back={},
        throttles=None,
    )


def test_what_standing_by_took_is_not_taken_off_what_others_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 3 s that were worked in 2 s the family is charged for 2.5 when its worker ends, half a second of
    which it spent before the launch; a daemon that the system charges nobody for used 0.25."""
    readings = iter([counters(10.0, 0.0, 0.0), counters(12.0, 3.0, 2.5)])
    monkeypatch.setattr(stopwatch, "read_counters", lambda *_: next(readings))
    events: list[Event] = [
        Began(pid=1, threads=1, spent_before=0.5),
        Finished(modules=(), path=(), descendants_seconds=0.25),
    ]
    others = LaunchWatch(None).activity(events).others
    assert others == pytest.approx((3.0 - (2.5 - 0.5) - 0.25) / 2.0)
