"""Other threads: work that goes on after a phase returned; threads that spin or wait are no work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Step
from stepmark.instruments.inspection.other_threads import OtherThreads
from stepmark.records.case import Mode
from tests.instruments.inspection.bound import inspected, phase


@pytest.fixture(autouse=True)
def several_threads() -> Iterator[None]:
    """Of torch's operators, which have one in other tests."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def work(seconds: float) -> None:
    """Seconds of a processor, however long that takes."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        threads.submit(work, 0.0).result()
        yield threads


@pytest.fixture
def told_to_stop() -> Iterator[threading.Event]:
    """A sign for :func:`work_until`, given at the end of a test at the latest: work of some milliseconds may
    be over before anybody looks, on a machine where the looking thread has to wait for its turn."""
    stop = threading.Event()
    yield stop
    stop.set()


def work_until(stop: threading.Event) -> None:
    while not stop.is_set():
        pass


def test_a_thread_that_goes_on_working_is_seen(
    pool: ThreadPoolExecutor, told_to_stop: threading.Event
) -> None:
    threads = OtherThreads()
    pool.submit(work_until, told_to_stop)
    assert threads.outstanding() > 0.001


def test_a_thread_that_has_ended_meanwhile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = OtherThreads()
    thread = threading.Thread(target=work, args=(0.02,))

    def look_until_it_has_ended(self: OtherThreads) -> bool:
        if thread.ident is None:
            thread.start()
        thread.join()
        return True

    monkeypatch.setattr(OtherThreads, "_waited_until_quiet", look_until_it_has_ended)
    assert threads.outstanding() > 0.001


def test_threads_that_wait_are_no_work(pool: ThreadPoolExecutor) -> None:
    threads = OtherThreads()
    wake = threading.Event()
    pool.submit(wake.wait)
    assert threads.outstanding() < 0.001
    wake.set()


def test_threads_that_were_waited_for_are_no_work(pool: ThreadPoolExecutor) -> None:
    threads = OtherThreads()
    pool.submit(work, 0.01).result()
    assert threads.outstanding() < 0.001


def test_torchs_own_threads_are_no_work() -> None:
    threads, large = OtherThreads(), torch.ones(400, 400)
    for _ in range(5):
        (large @ large).add_(1)
        assert threads.outstanding() < 0.001


def test_a_team_of_another_thread_that_was_waited_for_is_no_work(pool: ThreadPoolExecutor) -> None:
    """Every thread that computes has threads of OpenMP of its own, which spin after it is done."""
    threads, large = OtherThreads(), torch.ones(400, 400)
    for _ in range(5):
        pool.submit(torch.mm, large, large).result()
        assert threads.outstanding() < 0.001


def test_a_step_that_leaves_its_work_to_a_pool_is_found_out(
    pool: ThreadPoolExecutor, told_to_stop: threading.Event
) -> None:
    def leaves(x: Tensor) -> Tensor:
        pool.submit(work_until, told_to_stop)
        return x * 2

    def waits(x: Tensor) -> Tensor:
        pool.submit(work, 0.002).result()
        return x * 2

    left = inspected(Step(leaves, inputs=randn(4)), Mode.FORWARD)
    told_to_stop.set()
    waited = inspected(Step(waits, inputs=randn(4)), Mode.FORWARD)
    assert phase(left, "forward").outstanding_seconds > 0.001
    assert phase(waited, "forward").outstanding_seconds < 0.001
