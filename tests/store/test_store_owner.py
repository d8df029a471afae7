"""A process is told from others by everything that it does not share with the next one of its number."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import psutil
import pytest
from msgspec.structs import replace

from stepmark.store import owner
from stepmark.store.owner import Owner, is_another, this_process


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def owner_of(pid: int) -> Owner:
    started = psutil.Process(pid).create_time() - psutil.boot_time()
    return replace(this_process(), pid=pid, started=started)


def test_who_asks_is_no_other() -> None:
    assert this_process().pid == os.getpid()
    assert not is_another(this_process())


def test_a_process_that_lives_is_another_until_it_is_killed(other: subprocess.Popen[bytes]) -> None:
    known = owner_of(other.pid)
    assert is_another(known)
    os.kill(other.pid, signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert not is_another(known), "nobody has taken note of its end yet"
    other.wait()
    assert not is_another(known)


def test_who_was_given_its_number_is_not_the_owner(other: subprocess.Popen[bytes]) -> None:
    known = owner_of(other.pid)
    assert not is_another(replace(known, started=known.started - 60.0))
    assert not is_another(replace(known, boot="before"))
    assert not is_another(replace(known, host="elsewhere"))


def test_a_system_that_does_not_name_its_start(
    other: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "_BOOT", owner._BOOT / "nowhere")
    assert this_process().boot == ""
    assert is_another(owner_of(other.pid))
