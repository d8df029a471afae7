"""Programs that tests of the store run as processes of their own; each prints JSON lines.

python -m tests.store.programs contend NUM_WRITERS NUM_TRIALS URL...    writers that start at the same moment
python -m tests.store.programs kill NUM_KILLS SEED URL...               writers killed at random moments
python -m tests.store.programs fill LIMIT URL                           append until the disk is full
python -m tests.store.programs attempt URL...                           begin a run in a store, new or not
python -m tests.store.programs hold URL [finished]                      begin a run, say its id, and live on
python -m tests.store.programs resume URL RUN                           the same with a run that is there
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from stepmark.errors import StoreError
from stepmark.records.environment import LoadFacts
from stepmark.records.run import RunStatus
from stepmark.records.trial import LaunchTrial
from stepmark.store import migration  # noqa: F401  so that forked writers need not import it
from stepmark.store.store import Store
from tests.support.recordings import make_recording, make_run

_TEMPLATE = make_recording(num_launches=1, num_rounds=50).launches[0]


def launch(number: int) -> LaunchTrial:
    """The trial every program appends as its `number`th."""
    return replace(_TEMPLATE, number=number, seed=f"seed {number}")


def write(url: str, run_id: str, num_trials: int, acknowledge: Callable[[int], object]) -> None:
    """A whole run; `acknowledge` hears of the head as 0 and of the nth trial as n, once they are stored."""
    with Store.open(url) as store:
        store.begin(make_run(id=run_id, status=RunStatus.RUNNING))
        acknowledge(0)
        for number in range(num_trials):
            store.append(run_id, launch(number))
            acknowledge(number + 1)


def contend(num_writers: int, num_trials: int, *urls: str) -> None:
    for url in urls:
        waiting, starting = os.pipe()
        pids = []
        for writer in range(num_writers):
            if (pid := os.fork()) == 0:
                os.close(starting)
                os.read(waiting, 1)  # returns when the last copy of `starting` is closed
                write(url, f"run-{writer}", num_trials, acknowledge=lambda _: None)
                os._exit(0)
            pids.append(pid)
        os.close(starting)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        os.close(waiting)
        print(json.dumps({"url": url, "statuses": statuses}))


def send_dot(pipe: int, _: int) -> None:
    os.write(pipe, b".")


def kill(num_kills: int, seed: int, *urls: str) -> None:
    generator = random.Random(seed)
    for number in range(num_kills):
        url, run_id = urls[number % len(urls)], f"run-{number}"
        reading, writing = os.pipe()
        if (pid := os.fork()) == 0:
            write(url, run_id, 10_000, acknowledge=partial(send_dot, writing))
            os._exit(0)
        os.close(writing)
        time.sleep(generator.uniform(0.0, 0.15))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(reading, "rb") as pipe:
            print(json.dumps({"url": url, "run": run_id, "acknowledged": len(pipe.read())}))


def fill(limit: int, url: str) -> None:
    """`limit` bounds the size of every file; 0 leaves it to the disk."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    stored: list[int] = []
    try:
        write(url, "run", 10_000, acknowledge=stored.append)
    except StoreError as error:
        print(json.dumps({"acknowledged": stored[-1], "problem": error.problem, "remedy": error.remedy}))
    with Store.open(url, create=False) as store:
        numbers = [trial.number for trial in store.load("run").launches]
    print(json.dumps({"readable": len(numbers), "ordered": numbers == sorted(numbers)}))


def attempt(*urls: str) -> None:
    for url in urls:
        for create in (True, False):
            try:
                with Store.open(url, create=create) as store:
                    store.begin(make_run(id="another"))
                print(json.dumps({"problem": None}))
            except StoreError as error:
                print(json.dumps({"problem": error.problem, "remedy": error.remedy}))


def hold(url: str, *finished: str) -> None:
    with Store.open(url) as store:
        store.begin(make_run(id="held", status=RunStatus.RUNNING))
        if finished:
            store.finish("held", status=RunStatus.INTERRUPTED, finished=1.0, load_end=LoadFacts(time=1.0))
        print("held", flush=True)
        time.sleep(60.0)


def resume(url: str, run_id: str) -> None:
    with Store.open(url) as store:
        store.reopen(run_id)
        print(run_id, flush=True)
        time.sleep(60.0)


PROGRAMS: dict[str, Callable[..., None]] = {
    "contend": contend,
    "kill": kill,
    "fill": fill,
    "attempt": attempt,
    "hold": hold,
    "resume": resume,
}

if __name__ == "__main__":
    program, *given = sys.argv[1:]
    PROGRAMS[program](*(int(word) if word.isdigit() else word for word in given))
