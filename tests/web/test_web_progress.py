"""Progress: never backwards, never beyond the whole, and a stamp that notices every change."""

from __future__ import annotations

from stepmark.records.run import RunStatus
from stepmark.store.store import Store
from stepmark.web.archive import Archive
from tests.support.served import begin_running


def test_it_grows_with_every_trial(fresh: Store) -> None:
    whole = begin_running(fresh, num_launches=0)
    archive = Archive(fresh)
    seen = [archive.progress(whole.run.id)]
    for launch in whole.launches:
        fresh.append(whole.run.id, launch)
        seen.append(archive.progress(whole.run.id))
    assert [each.num_launches for each in seen] == [*range(len(whole.launches) + 1)]
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] <= 1.0
    fresh.finish(
        whole.run.id,
        status=RunStatus.COMPLETE,
        finished=whole.run.started + 5.0,
        load_end=whole.run.load_start,
    )
    seen.append(archive.progress(whole.run.id))
    assert len({each.stamp for each in seen}) == len(seen)


def test_what_was_rendered_is_kept_until_the_run_grows(fresh: Store) -> None:
    whole = begin_running(fresh, num_launches=2)
    archive, made = Archive(fresh), []

    def make(found: object) -> bytes:
        made.append(found)
        return b"%d" % len(made)

    first = archive.answer("kind", whole.run.id, make)
    assert archive.answer("kind", whole.run.id, make) == first
    assert archive.answer("other kind", whole.run.id, make) != first
    fresh.append(whole.run.id, whole.launches[2])
    assert archive.answer("kind", whole.run.id, make) not in (first, b"2")
    assert len(made) == 3
