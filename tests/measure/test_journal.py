"""The journal: what was committed can be read, whatever became of the writer."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import mmap
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.measure.journal import (
    JournalFull,
    JournalReader,
    JournalWriter,
    NotTheWorker,
    new_journal_file,
)
from stepmark.measure.protocol import Began, BlockDone, Event
from tests.support.arbitrary import records

events = st.lists(st.one_of([records(kind) for kind in get_args(Event)]), max_size=5)
blocks = st.lists(
    st.builds(
        BlockDone,
        variant=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        round=st.integers(0, 10**6),
        nanoseconds=st.lists(st.integers(0, 2**62), max_size=3).map(tuple),
    ),
    max_size=20,
)
quick = settings(max_examples=40)


@contextmanager
def journal(capacity: int = 1 << 16) -> Iterator[tuple[JournalWriter, JournalReader, mmap]]:
    """Both sides, each with a mapping of its own, and a third to do damage; the descriptor is closed."""
    descriptor = new_journal_file(capacity)
    writer, reader, raw = JournalWriter(descriptor), JournalReader(descriptor), mmap(descriptor, 0)
    os.close(descriptor)
    try:
        yield writer, reader, raw
    finally:
        reader.close()
        raw.close()


def number(index: int) -> BlockDone:
    return BlockDone(variant="mine", round=index, nanoseconds=(index * 7,))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_that_runs_on_reports_nothing() -> None:
    with journal() as (writer, reader, _):
        writer.append(number(1))
        child = os.fork()
        if child == 0:
            try:
                writer.append(number(2))
            except NotTheWorker:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        writer.append(number(3))
        assert reader.read() == [number(1), number(3)]


def test_nobody_cuts_off_what_the_runner_reads() -> None:
    descriptor = new_journal_file(1 << 16)
    try:
        for size in (0, 1 << 20):
            with pytest.raises(PermissionError):
                os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)


@quick
@given(events)
def test_any_events_come_out_as_they_went_in(written: list[Event]) -> None:
    with journal() as (writer, reader, _):
        for event in written:
            writer.append(event)
        assert reader.read() == written
        assert reader.read() == []


@quick
@given(blocks, st.lists(st.booleans(), max_size=20))
def test_whenever_it_is_read_every_event_comes_once_and_in_order(
    written: list[BlockDone], reads: list[bool]
) -> None:
    with journal() as (writer, reader, _):
        seen: list[Event] = []
        for index, event in enumerate(written):
            before = reader.committed
            writer.append(event)
            assert reader.committed > before, "every event is a sign of life"
            if index < len(reads) and reads[index]:
                seen += reader.read()
        assert seen + reader.read() == written


@quick
@given(blocks, st.data())
def test_damage_anywhere_leaves_a_clean_beginning(written: list[BlockDone], data: st.DataObject) -> None:
    with journal() as (writer, reader, raw):
        for event in written:
            writer.append(event)
        position = data.draw(st.integers(0, reader.committed + 15))
        raw[position] ^= data.draw(st.integers(1, 255))
        read = reader.read()
        assert read == written[: len(read)]


@pytest.mark.parametrize("garbage", [b"", b"\x05\x00\x00\x00\x00\x00\x00\x00hello", b"\xff" * 40])
def test_a_torn_tail_is_not_read(garbage: bytes) -> None:
    """The length says more than was written: zeros, a body that is not its check sum, a length beyond all."""
    with journal() as (writer, reader, raw):
        for index in range(3):
            writer.append(number(index))
        end = 8 + reader.committed
        raw[end : end + len(garbage)] = garbage
        raw[0:8] = (reader.committed + 64).to_bytes(8, "little")
        assert reader.read() == [number(0), number(1), number(2)]
        assert reader.read() == []
        raw[0:8] = (2**63).to_bytes(8, "little")
        assert reader.read() == []


def test_a_length_beyond_a_full_journal_is_not_followed() -> None:
    with journal() as (writer, reader, _):
        writer.append(number(0))
        frame = reader.committed
    with journal(capacity=8 + 2 * frame + 3) as (writer, reader, raw):
        writer.append(number(0))
        writer.append(number(1))
        raw[0:8] = (2**63).to_bytes(8, "little")
        assert reader.read() == [number(0), number(1)]


def test_a_frame_half_committed_is_read_when_it_is_whole() -> None:
    with journal() as (writer, reader, raw):
        writer.append(number(0))
        writer.append(number(1))
        whole = bytes(raw[0:8])
        raw[0:8] = (int.from_bytes(whole, "little") - 3).to_bytes(8, "little")
        assert reader.read() == [number(0)]
        raw[0:8] = whole
        assert reader.read() == [number(1)]


def test_a_full_journal_says_so_and_keeps_what_it_has() -> None:
    with journal(capacity=300) as (writer, reader, _):
        writer.append(number(0))
        with pytest.raises(JournalFull, match="no room for"):
            writer.append(BlockDone(variant="x" * 300, round=1, nanoseconds=()))
        writer.append(number(2))
        assert reader.read() == [number(0), number(2)]


def test_a_journal_costs_no_memory_until_it_is_written() -> None:
    descriptor = new_journal_file()
    try:
        assert os.fstat(descriptor).st_size >= 64 << 20
        assert os.fstat(descriptor).st_blocks == 0
    finally:
        os.close(descriptor)


def child(act: Callable[[], None]) -> int:
    """Fork, act, and leave without a trace of the test runner."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        finally:
            os._exit(0)
    return pid


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_reading_while_another_process_writes() -> None:
    with journal(1 << 20) as (writer, reader, _):

        def write() -> None:
            writer.append(Began(pid=os.getpid(), threads=1))
            for index in range(2000):
                writer.append(number(index))

        pid = child(write)
        seen: list[Event] = []
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            seen += reader.read()
        seen += reader.read()
    assert seen == [Began(pid=pid, threads=1), *(number(index) for index in range(2000))]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_writer_killed_in_the_middle_leaves_what_it_committed() -> None:
    with journal(8 << 20) as (writer, reader, _):

        def write() -> None:
            for index in range(10**9):
                writer.append(number(index))

        pid = child(write)
        seen: list[Event] = []
        while len(seen) < 100:
            seen += reader.read()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        seen += reader.read()
    assert seen == [number(index) for index in range(len(seen))]
