"""Reference files: a recording as compressed lines and back, thinned, without what is nobody's business."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.errors import StoreError, UsageError
from stepmark.published.reference_file import BLOCKS, from_reference, head_of, to_reference
from stepmark.records.card import CardFacts
from stepmark.records.run import FORMAT, Recording
from stepmark.records.sample import unpack
from stepmark.records.source import FileSource
from stepmark.stats.blocks import integers
from tests.support.properties import steady
from tests.support.recordings import make_recording


def recorded(rounds: int = 20, **more: object) -> Recording:
    return make_recording(num_launches=2, num_rounds=rounds, **more)  # type: ignore[arg-type]


def test_what_is_kept_comes_back() -> None:
    recording = recorded()
    back = from_reference(to_reference(recording))
    assert back.run.cases == recording.run.cases
    assert [solo.evidence for solo in back.solos] == [solo.evidence for solo in recording.solos]
    for kept, launch in zip(back.launches, recording.launches, strict=True):
        assert [lane.samples for lane in kept.lanes] == [lane.samples for lane in launch.lanes]
        assert [lane.rounds for lane in kept.lanes] == [lane.rounds for lane in launch.lanes]
    assert head_of(to_reference(recording)) == back.run


def test_the_same_recording_gives_the_same_bytes() -> None:
    assert to_reference(recorded()) == to_reference(recorded())


@steady
@given(st.integers(1, 200), st.integers(1, 60))
def test_blocks_are_thinned_in_time_not_by_value(rounds: int, blocks: int) -> None:
    recording = recorded(rounds)
    back = from_reference(to_reference(recording, blocks=blocks))
    lane, whole = back.launches[0].lanes[0], recording.launches[0].lanes[0]
    numbers = unpack(lane.rounds)
    assert len(numbers) == min(rounds, blocks)
    assert list(numbers) == sorted(set(numbers))
    for sample, before in zip(lane.samples, whole.samples, strict=True):
        expected = integers(before.nanoseconds)[np.array(numbers)]
        assert integers(sample.nanoseconds).tolist() == expected.tolist()
    if min(rounds, blocks) > 1:
        assert (numbers[0], numbers[-1]) == (0, rounds - 1)


def test_what_tells_of_the_machine_and_not_of_its_speed_is_left_out() -> None:
    recording = recorded(100)
    environment = recording.run.environment
    torch = replace(environment.torch, cards=(CardFacts(name="H200", uuid="GPU-123"),))
    host = replace(environment.host, hostname="secret-host", os="Linux-6.8.0-our-own-build-x86_64")
    run = replace(
        recording.run,
        environment=replace(environment, torch=torch, host=host, command=("stepmark", "/home/me/x")),
    )
    data = gzip.decompress(to_reference(replace(recording, run=run)))
    for word in (b"secret-host", b"our-own-build", b"GPU-123", b"/home/me"):
        assert word not in data
    assert b"H200" in data
    assert b'"Linux-6.8.0"' in data
    assert all(
        len(unpack(lane.rounds)) == BLOCKS for lane in from_reference(gzip.compress(data)).launches[0].lanes
    )


def test_a_run_of_files_is_no_reference() -> None:
    recording = recorded()
    run = replace(recording.run, sources=(FileSource(path="/x/bench.py"),))
    with pytest.raises(UsageError, match="files of this machine"):
        to_reference(replace(recording, run=run))


@pytest.mark.parametrize("data", [b"", b"what?", gzip.compress(b"{}", mtime=0), gzip.compress(b"", mtime=0)])
def test_other_files(data: bytes) -> None:
    with pytest.raises(StoreError, match="no reference file"):
        from_reference(data)


def test_a_newer_format() -> None:
    recording = recorded()
    data = to_reference(replace(recording, run=replace(recording.run, format=FORMAT + 1)))
    with pytest.raises(StoreError, match="newer stepmark"):
        from_reference(data)
