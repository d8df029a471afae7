"""What is made of a run to see that it can be: nothing of a run that was measured is refused for it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.pipeline import judged
from stepmark.records.run import Recording
from stepmark.web import showing
from stepmark.web.archive import JudgedRun
from stepmark.web.queries import ExportFormat
from stepmark.web.showing import show
from tests.support.recordings import fail_lane, fail_solo, make_recording
from tests.support.served import hostile, others
from tests.support.whole_runs import whole_run

SMALL = make_recording()


@pytest.mark.parametrize(
    "recording",
    [
        *others(),
        whole_run(axes={"features": (128,)}, num_launches=2),
        replace(SMALL, launches=()),
        replace(SMALL, launches=(), solos=()),
        fail_solo(SMALL, "dense"),
        fail_solo(fail_solo(SMALL, "dense"), "mine"),
        fail_lane(SMALL, "mine", launch=0, keep=0),
        make_recording(num_launches=1, num_rounds=1),
        make_recording(variants={"dense": 1.0}),
    ],
)
def test_a_run_that_was_measured_can_be_shown(recording: Recording) -> None:
    show(recording, judged(recording))


@pytest.mark.parametrize("broken", ["render_report", "run_document", "export"])
def test_whatever_cannot_be_made_comes_through(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def stumble(_: JudgedRun, *kind: ExportFormat) -> bytes:
        raise OverflowError(broken)

    monkeypatch.setattr(showing, broken, stumble)
    with pytest.raises(OverflowError, match=broken):
        show(hostile(), judged(hostile()))
