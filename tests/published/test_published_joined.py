"""Runs joined to one: every cell once, whole, from the newest run that launched it."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.errors import UsageError
from stepmark.pipeline import judged
from stepmark.published.joined import joined
from stepmark.records.run import Recording, RunStatus
from tests.support.recordings import make_recording

SIZES = (64, 128, 256, 512)
WHOLE = make_recording(axes={"features": SIZES}, num_launches=3, num_rounds=5)


def session(
    number: int,
    sizes: Collection[int],
    *,
    launched: Collection[int] | None = None,
    status: RunStatus = RunStatus.COMPLETE,
) -> Recording:
    """The part of the whole that a later session measured; `launched` is as far as it came."""
    launched = sizes if launched is None else launched
    return Recording(
        run=replace(
            WHOLE.run,
            id=f"session-{number}",
            started=WHOLE.run.started + number,
            cases=tuple(case for case in WHOLE.run.cases if dict(case.cell.axes)["features"] in sizes),
            status=status,
        ),
        solos=tuple(solo for solo in WHOLE.solos if dict(solo.case.cell.axes)["features"] in launched),
        launches=tuple(
            replace(launch, seed=f"session-{number}")
            for launch in WHOLE.launches
            if dict(launch.cell.axes)["features"] in launched
        ),
    )


def owners(recording: Recording) -> dict[int, set[str]]:
    """By size the sessions that its launches are of."""
    found: dict[int, set[str]] = {}
    for launch in recording.launches:
        size = dict(launch.cell.axes)["features"]
        assert isinstance(size, int)
        found.setdefault(size, set()).add(launch.seed)
    return found


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from(SIZES), min_size=1), st.sets(st.sampled_from(SIZES))),
        min_size=1,
        max_size=4,
    ),
    st.randoms(use_true_random=False),
)
def test_every_cell_is_there_once_and_from_the_newest_that_launched_it(parts, random) -> None:  # type: ignore[no-untyped-def]
    sessions = [session(i, sizes, launched=sizes & reached) for i, (sizes, reached) in enumerate(parts)]
    shuffled = list(sessions)
    random.shuffle(shuffled)
    found = joined(shuffled)
    cells = [case.cell.id for case in found.run.cases if case.variant == "dense"]
    assert len(cells) == len({*cells})
    assert {*found.run.cases} == {case for each in sessions for case in each.run.cases}
    newest = {size: {f"session-{i}"} for i, (sizes, reached) in enumerate(parts) for size in sizes & reached}
    assert owners(found) == newest
    assert found.run.id == f"session-{len(parts) - 1}"


def test_it_is_judged_as_one_run_would_be() -> None:
    halves = joined([session(1, SIZES[2:]), session(0, SIZES[:2])])
    whole = {case.case.id: case.verdict for case in judged(WHOLE).cases}
    assert {case.case.id: case.verdict for case in judged(halves).cases} == whole


def test_each_suite_finds_its_own_source() -> None:
    other = make_recording(suite="layers", num_launches=1, num_rounds=5)
    run = joined([session(1, SIZES), replace(other, run=replace(other.run, id="other"))]).run
    assert {outline.name: run.sources[outline.source_index].name for outline in run.suites} == {  # type: ignore[union-attr]
        "layers": "layers",
        "synthetic": "synthetic",
    }


def test_what_was_cut_short_makes_the_whole_so_unless_all_of_it_was_measured_again() -> None:
    cut = session(0, SIZES, launched=SIZES[:1], status=RunStatus.INTERRUPTED)
    assert joined([cut, session(1, SIZES[1:])]).run.status is RunStatus.INTERRUPTED
    assert joined([cut, session(1, SIZES)]).run.status is RunStatus.COMPLETE


def test_one_is_itself() -> None:
    assert joined([WHOLE]) is WHOLE


def test_runs_of_other_machines_are_not_joined() -> None:
    other = session(1, SIZES[2:])
    torch = replace(other.run.environment.torch, version="9.9.9")
    run = replace(other.run, environment=replace(other.run.environment, torch=torch))
    with pytest.raises(UsageError, match=r"not joined: .*; .*torch 9\.9\.9"):
        joined([session(0, SIZES[:2]), replace(other, run=run)])
