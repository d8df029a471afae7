"""Host times beside device times, and who decided: from lanes to summaries."""

from __future__ import annotations

from typing import Any

import pytest

from stepmark.analysis.boundness import boundness
from stepmark.analysis.judge import judge
from stepmark.engines.fake import FakeEngine
from stepmark.pipeline import Order, measure
from stepmark.records.estimate import Bound
from stepmark.records.outline import SuiteOutline, VariantOutline
from stepmark.records.run import Recording
from stepmark.records.sample import Layout, Sample, Total, pack
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import LaneTrial
from stepmark.store.store import Store

MS = 1_000_000
OUTLINE = SuiteOutline(
    name="mine", variants=(VariantOutline(name="dense", baseline=True), VariantOutline(name="thin"))
)


def recorded(scripts: dict[str, Any], *, latency: int | None) -> Recording:
    engine = FakeEngine(OUTLINE, scripts, latency=latency)
    settings = Settings(launches=3, round_seconds=0.02, warmup_seconds=0.005, alone=0, stop=False)
    with Store.open("sqlite://") as store:
        order = Order(sources=(BuiltinSource(name="demo"),), settings=settings)
        return measure(order, engine=engine, store=store)


def test_each_phase_says_who_decided_it() -> None:
    """The host is ahead in forward, and has lost its lead by the end of a long optimizer step of its own."""
    dense = {"forward": (MS // 10, MS), "optimizer": (3 * MS, MS // 10)}
    thin = {"forward": (MS // 10, MS // 2), "optimizer": (MS // 10, MS // 2)}
    judgement = judge(recorded({"dense": dense, "thin": thin}, latency=5000))
    by_variant = {case.case.variant: case for case in judgement.cases}
    told = {s.phase: s.bound for s in by_variant["dense"].summaries}
    assert told == {"step": Bound.HOST, "forward": Bound.DEVICE, "optimizer": Bound.HOST, "remainder": None}
    step = by_variant["dense"].summary("step")
    assert step is not None
    assert step.host_seconds == pytest.approx(3.1e-3, rel=0.01)
    assert {s.bound for s in by_variant["thin"].summaries} == {Bound.DEVICE, None}


def test_a_processor_has_no_host_beside_it() -> None:
    judgement = judge(recorded({"dense": {"forward": MS}, "thin": {"forward": MS}}, latency=None))
    summaries = [summary for case in judgement.cases for summary in case.summaries]
    assert summaries
    assert {(each.host_seconds, each.bound, each.lag_seconds) for each in summaries} == {(None, None, None)}


def sample(phase: str, once: int, lag: int) -> Sample:
    blocks = 4
    return Sample(
        phase=phase,
        iterations=10,
        nanoseconds=pack([10 * once] * blocks),
        host=pack([7 * once] * blocks),
        lag=pack([lag] * blocks),
    )


@pytest.mark.parametrize(("waiting", "bound"), [(30_000, Bound.HOST), (10_000, Bound.DEVICE)])
def test_a_total_goes_with_most_of_its_time(waiting: int, bound: Bound) -> None:
    layout = Layout(phases=("a", "b"), primary="sum", totals=(Total(name="sum", parts=("a", "b")),))
    lane = LaneTrial(
        variant="v",
        layout=layout,
        samples=(sample("a", waiting, 0), sample("b", 20_000, 10**6)),
        rounds=pack(range(4)),
    )
    known = boundness({0: lane}, layout)
    assert (known["a"].bound, known["b"].bound) == (Bound.HOST, Bound.DEVICE)
    assert known["sum"].bound is bound
    assert known["sum"].lag_seconds is None
    assert known["sum"].host_seconds == pytest.approx((waiting + 20_000) * 0.7e-9)
