"""Runs for the served application: a history with a change, other machines and branches, hostile names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha1

from msgspec.structs import replace

from stepmark.records.environment import RepositoryFacts
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.run import Recording, RunStatus
from stepmark.store.store import Store
from stepmark.web.assets import own_texts
from tests.support.recordings import fail_solo, make_recording
from tests.support.trials import EPOCH

HOSTILE = "<img src=x onerror=alert(1)>"
STAND_INS = {"report.css": "body{}", "report.js": "", "vega.js": "", **own_texts()}
DAY = 86400.0
FIRST = EPOCH - 365 * DAY
"""When the first of them starts: uploads are of the past."""
NUM_LAYERS = 12
CHANGE = 6
"""The first run of the layers suite at the new level."""
LAYER_CASE = "layers/fused[features=512]/cpu/float32/train"


def served_run(
    number: int,
    *,
    suite: str = "layers",
    variants: Mapping[str, float] | None = None,
    factor: float = 1.0,
    machine: str = "bench",
    branch: str | None = "main",
    dirty: bool = False,
    **options: object,
) -> Recording:
    """A finished run; `number` says on which day, from which commit and with which noise."""
    scaled = {name: factor * size for name, size in (variants or {"dense": 1.0, "fused": 0.8}).items()}
    recording = make_recording(suite=suite, variants=scaled, seed=number, num_rounds=10, **options)  # type: ignore[arg-type]
    run = recording.run
    environment = replace(
        run.environment,
        host=replace(run.environment.host, hostname=machine),
        command=("stepmark", "run", suite),
        repository=RepositoryFacts(commit=sha1(b"%d" % number).hexdigest(), dirty=dirty, branch=branch),
    )
    begin = FIRST + number * DAY
    head = replace(run, id=run_id(number), started=begin, finished=begin + 90.0, environment=environment)
    return replace(recording, run=head)


def run_id(number: int) -> str:
    """Of the run on that day."""
    return f"{datetime.fromtimestamp(FIRST + number * DAY, tz=UTC):%Y%m%d-%H%M%S}-web{number:02}"


def layers() -> Iterator[Recording]:
    """One run a day; everything became 1.3 times slower on one of them."""
    for number in range(NUM_LAYERS):
        yield served_run(number, factor=1.3 if number >= CHANGE else 1.0)


def hostile() -> Recording:
    """Everything that a user names is an attack."""
    run = served_run(
        20,
        suite=f"{HOSTILE}suite",
        variants={f"{HOSTILE}base": 1.0, f"{HOSTILE}mine": 0.5, f"{HOSTILE}bad": 1.0},
        axes={f"{HOSTILE}axis": (f"{HOSTILE}value", "\"';alert(1)//</script>")},
        machine=f"{HOSTILE}host",
        branch=f"{HOSTILE}branch",
    )
    failure = Failure(
        outcome=Outcome.CRASHED,
        cause=Cause.EXCEPTION,
        stage=Stage.BUILD,
        message=f"{HOSTILE}message",
        traceback=f"Traceback:\n  {HOSTILE}traceback</script><script>alert(1)</script>",
        output=f"{HOSTILE}output",
    )
    return fail_solo(run, f"{HOSTILE}bad", failure)


def others() -> Iterator[Recording]:
    """Another machine, another branch, a sweep, a stopped run, and the hostile one."""
    yield served_run(13, machine="other", branch="feature/x", dirty=True)
    yield served_run(14, suite="sweep", branch=None, axes={"features": (256, 512, 1024), "tokens": (16, 64)})
    stopped = served_run(15, suite="stopped")
    yield replace(
        stopped, run=replace(stopped.run, status=RunStatus.INTERRUPTED), launches=stopped.launches[:2]
    )
    yield hostile()


def running() -> Recording:
    """In progress: its solo passes and the first launches are there."""
    begun = served_run(25, suite="live", num_launches=8)
    head = replace(begun.run, status=RunStatus.RUNNING, finished=None, load_end=None)
    return replace(begun, run=head)


def begin_running(store: Store, *, num_launches: int) -> Recording:
    """Write the run in progress as far as that many launches; the whole of it is returned."""
    whole = running()
    store.begin(whole.run)
    for solo in whole.solos:
        store.append(whole.run.id, solo)
    for launch in whole.launches[:num_launches]:
        store.append(whole.run.id, launch)
    return whole


def fill(store: Store) -> None:
    """Everything above."""
    for recording in (*layers(), *others()):
        store.add_recording(recording)
    begin_running(store, num_launches=3)
    store.save_baseline("main", run_id(0), saved=EPOCH)
