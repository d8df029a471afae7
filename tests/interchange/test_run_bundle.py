"""Run bundles: whole runs there and back, and what is none refused before it can do harm."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.errors import StoreError
from stepmark.interchange import run_bundle
from stepmark.interchange.run_bundle import BundleTooLarge, from_bundle, to_bundle
from stepmark.published.reference_file import to_reference
from stepmark.records.run import FORMAT, Recording
from stepmark.records.trial import LaunchTrial, SoloTrial
from tests.support.arbitrary import runs, trials
from tests.support.properties import steady
from tests.support.recordings import make_recording


@steady
@given(runs(), trials())
def test_every_run_comes_back_whole(run: object, mixed: list[SoloTrial | LaunchTrial]) -> None:
    recording = Recording(
        run=run,  # type: ignore[arg-type]
        solos=tuple(trial for trial in mixed if isinstance(trial, SoloTrial)),
        launches=tuple(trial for trial in mixed if isinstance(trial, LaunchTrial)),
    )
    assert from_bundle(to_bundle(recording)) == recording


def test_the_same_run_gives_the_same_bytes() -> None:
    assert to_bundle(make_recording()) == to_bundle(make_recording())


def test_a_reference_file_reads_as_a_bundle() -> None:
    recording = make_recording(num_rounds=5)
    assert from_bundle(to_reference(recording)).run.cases == recording.run.cases


@steady
@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="no run bundle"):
        from_bundle(data)
    with pytest.raises(StoreError, match="no run bundle"):
        from_bundle(gzip.compress(data))


@pytest.mark.parametrize("cut", [1, 10, -1, -9])
def test_a_bundle_that_was_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(StoreError, match="no run bundle"):
        from_bundle(to_bundle(make_recording())[:cut])


def test_what_follows_a_bundle_is_refused() -> None:
    whole = to_bundle(make_recording())
    with pytest.raises(StoreError, match="something follows"):
        from_bundle(whole + whole)


def test_a_small_file_that_unpacks_to_a_huge_one_is_noticed_early() -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(bytes(2**20)) for _ in range(64)) + bomb.flush()
    assert len(packed) < 2**17
    with pytest.raises(BundleTooLarge, match="1 MiB"):
        from_bundle(packed, max_bytes=2**20)


def with_orders(*orders: tuple[str, ...]) -> Recording:
    recording = make_recording(num_launches=1)
    return replace(recording, launches=(replace(recording.launches[0], round_orders=orders),))


def test_an_order_that_comes_often_is_held_once() -> None:
    found = from_bundle(to_bundle(with_orders(*[("dense", "mine"), ("mine", "dense")] * 500)))
    orders = found.launches[0].round_orders
    assert len(orders) == 1000
    assert len({id(order) for order in orders}) == 2


@pytest.mark.parametrize("limit", ["MAX_LINE_VALUES", "MAX_VALUES"])
def test_more_values_than_fit_into_memory_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """A byte of a bundle may become ten thousand in memory."""
    recording = make_recording()
    lines = gzip.decompress(to_bundle(recording)).splitlines()
    numbers = [line.count(b",") + line.count(b"[") + line.count(b"{") for line in lines]
    number = max(numbers) if limit == "MAX_LINE_VALUES" else sum(numbers)
    monkeypatch.setattr(run_bundle, limit, number)
    from_bundle(to_bundle(recording))
    monkeypatch.setattr(run_bundle, limit, number - 1)
    with pytest.raises(BundleTooLarge, match="values"):
        from_bundle(to_bundle(recording))


def test_orders_of_rounds_do_not_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are as many as there were rounds, and each is held once."""
    plain = make_recording(num_launches=1)
    lines = gzip.decompress(to_bundle(plain)).splitlines()
    number = sum(line.count(b",") + line.count(b"[") + line.count(b"{") for line in lines)
    monkeypatch.setattr(run_bundle, "MAX_VALUES", number + 2)
    from_bundle(to_bundle(with_orders(*[("dense", "mine")] * 1000)))


def test_a_small_bundle_stays_small() -> None:
    """Of two million orders a few hundred kilobytes were, and two gigabytes became."""
    packed = to_bundle(with_orders(*[("ab",)] * 2_000_000))
    assert len(packed) < 2**19
    tracemalloc.start()
    try:
        with pytest.raises(BundleTooLarge):
            from_bundle(packed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20


def test_a_line_that_nests_without_end_is_no_bundle() -> None:
    """Whatever stands before the type of a trial is passed over, however deep it is."""
    head = gzip.decompress(to_bundle(make_recording())).splitlines()[0]
    deep = b'{"cell":' + b"[" * 100_000 + b"]" * 100_000 + b',"type":"launch"}'
    with pytest.raises(StoreError, match="no run bundle"):
        from_bundle(gzip.compress(head + b"\n" + deep))


def test_a_newer_format_is_told_apart_from_garbage() -> None:
    recording = make_recording()
    newer = replace(recording, run=replace(recording.run, format=FORMAT + 1))
    with pytest.raises(StoreError, match="newer stepmark"):
        from_bundle(to_bundle(newer))


def test_unknown_fields_are_refused() -> None:
    lines = gzip.decompress(to_bundle(make_recording())).splitlines()
    head = msgspec.json.decode(lines[0]) | {"surprise": 1}
    with pytest.raises(StoreError, match="surprise"):
        from_bundle(gzip.compress(b"\n".join([msgspec.json.encode(head), *lines[1:]])))
