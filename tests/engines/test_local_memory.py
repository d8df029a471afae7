"""An accelerator's memory: what does not fit together runs one after another, and a failure leaves room."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepmark.engines.local import LocalEngine
from stepmark.pipeline import Order, judged, measure
from stepmark.records.outcome import Outcome
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import FileSource
from stepmark.records.verdict import Reason
from stepmark.store.store import Store

BENCH = Path(__file__).parents[1] / "benches" / "bench_crowded.py"
SETTINGS = Settings(launches=2, round_seconds=0.02, warmup_seconds=0.01, alone=0)


@pytest.mark.gpu
def test_what_does_not_fit_together_is_measured_one_after_another() -> None:
    engine = LocalEngine(SETTINGS)
    order = Order(sources=(FileSource(path=str(BENCH)),), settings=SETTINGS, device="cuda")
    try:
        with Store.open("sqlite://") as store:
            recording = measure(order, engine=engine, store=store)
    finally:
        engine.close()
    assert {launch.isolation for launch in recording.launches} == {Isolation.ALONE}
    cases = {case.case.variant: case for case in judged(recording).cases}
    assert cases["one"].outcome is cases["other"].outcome is Outcome.MEASURED
    assert cases["too_large"].outcome is Outcome.OUT_OF_MEMORY
    verdict = cases["other"].verdict
    assert verdict is not None
    assert Reason.ONE_AFTER_ANOTHER in verdict.reasons
    memory = cases["one"].memory
    assert memory is not None
    assert memory.device is not None
    assert memory.device.held > 0.5 * memory.device.available
