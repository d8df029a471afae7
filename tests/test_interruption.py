"""Ctrl-C, SIGTERM, SIGHUP: at once, unless a trial is being stored; whichever thread receives the signal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from stepmark.interruption import Interruption

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def heeding_hangups() -> Iterator[None]:
    """As without nohup, whatever the tests were started with."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_it_raises_at_once(number: int) -> None:
    with Interruption(), pytest.raises(KeyboardInterrupt):
        send(number)


@pytest.mark.parametrize("number", SIGNALS)
def test_it_waits_for_the_end_of_a_write(number: int) -> None:
    done = []
    with Interruption() as interruption:
        with pytest.raises(KeyboardInterrupt), interruption.held_back():  # noqa: PT012 - it raises at the end
            send(number)
            done.append("stored")
        with interruption.held_back():
            done.append("again")
    assert done == ["stored", "again"], "one signal interrupts once"


def test_it_waits_though_another_thread_receives_the_signal() -> None:
    done = []
    with Interruption() as interruption, pytest.raises(KeyboardInterrupt), interruption.held_back():  # noqa: PT012
        thread = threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
        thread.start()
        thread.join()
        done.append("stored")
    assert done == ["stored"]


def test_while_stopping_a_second_one_changes_nothing() -> None:
    with Interruption() as interruption, interruption.ignored():
        send(signal.SIGINT)


def stop_and_save(saved: list[str]) -> None:
    """As an engine does that is stopped in a launch; whoever is impatient presses again meanwhile."""
    try:
        send(signal.SIGTERM)
    finally:
        send(signal.SIGINT)
        send(signal.SIGHUP)
        saved.append("launch")


def test_a_second_one_does_not_stop_what_the_first_makes_somebody_save() -> None:
    saved: list[str] = []
    with Interruption(), pytest.raises(KeyboardInterrupt):
        stop_and_save(saved)
    assert saved == ["launch"]


def test_a_second_one_stops_where_the_first_was_swallowed() -> None:
    with Interruption() as interruption:
        with pytest.raises(KeyboardInterrupt):
            stop_and_save([])
        with pytest.raises(KeyboardInterrupt), interruption.held_back():
            pass
        with interruption.held_back():
            pass


def test_an_error_in_the_write_is_not_hidden() -> None:
    with Interruption() as interruption, pytest.raises(ValueError, match="disk"), interruption.held_back():
        raise ValueError("disk")


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interruption():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_who_was_told_to_outlive_the_terminal_does() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Interruption():
        send(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGTERM)


def test_outside_the_main_thread_it_does_nothing() -> None:
    errors: list[BaseException] = []

    def use() -> None:
        try:
            with Interruption() as interruption, interruption.held_back():
                pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert errors == []
