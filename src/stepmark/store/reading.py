"""Reading: rows as the recording they were written from, in seven queries whatever its size."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Column, Connection, Table, select

from stepmark.errors import StoreError
from stepmark.records.run import FORMAT, Recording, Run, RunStatus
from stepmark.records.sample import Sample, unpack
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial
from stepmark.store import codec
from stepmark.store.schema import (
    cases,
    lanes,
    launches,
    run_records,
    runs,
    samples,
    solo_samples,
    solo_trials,
)

LaneKey = tuple[int, int]
"""Launch and position."""


def load_recording(connection: Connection, run_id: str) -> Recording | None:
    """The run with its trials in the order of appending; None where there is no such run."""
    run = load_run(connection, run_id)
    if run is None:
        return None
    return Recording(
        run=run, solos=_load_solos(connection, run_id), launches=_load_launches(connection, run_id)
    )


def load_run(connection: Connection, run_id: str) -> Run | None:
    """The run without its trials; None where there is no such run."""
    known = select(runs, run_records.c.record).join(run_records).where(runs.c.id == run_id)
    head = connection.execute(known).mappings().one_or_none()
    if head is None:
        return None
    if (written := head["format"]) > FORMAT:
        raise StoreError(
            f"run {run_id} was written by a newer stepmark (format {written}, this one reads up to {FORMAT})",
            remedy="upgrade stepmark",
        )
    query = select(cases.c.record).where(cases.c.run_id == head["id"]).order_by(cases.c.position)
    return replace(
        codec.RUN.decode(head["record"]),
        cases=tuple(codec.CASE.decode(record) for record in connection.scalars(query)),
        status=msgspec.convert(head["status"], RunStatus),
        finished=head["finished"],
        load_end=None if head["load_end"] is None else codec.LOAD.decode(head["load_end"]),
    )


def _load_solos(connection: Connection, run_id: str) -> tuple[SoloTrial, ...]:
    query = (
        select(solo_samples.c.solo_id, *_sample_columns(solo_samples))
        .join(solo_trials)
        .where(solo_trials.c.run_id == run_id)
        .order_by(solo_trials.c.id, solo_samples.c.position)
    )
    found: defaultdict[int, list[Sample]] = defaultdict(list)
    for solo_id, *columns in connection.execute(query):
        found[solo_id].append(_sample(*columns))
    trials = (
        select(solo_trials.c.id, solo_trials.c.record)
        .where(solo_trials.c.run_id == run_id)
        .order_by(solo_trials.c.id)
    )
    return tuple(
        replace(codec.SOLO.decode(record), samples=tuple(found[solo_id]))
        for solo_id, record in connection.execute(trials)
    )


def _load_launches(connection: Connection, run_id: str) -> tuple[LaunchTrial, ...]:
    lanes_of = _load_lanes(connection, run_id)
    query = (
        select(launches.c.id, launches.c.record, launches.c.round_orders)
        .where(launches.c.run_id == run_id)
        .order_by(launches.c.id)
    )
    found = []
    for launch_id, record, round_orders in connection.execute(query):
        bare = codec.LAUNCH.decode(record)
        orders = tuple(map(bare.round_orders.__getitem__, unpack(round_orders)))
        found.append(replace(bare, lanes=tuple(lanes_of[launch_id]), round_orders=orders))
    return tuple(found)


def _load_lanes(connection: Connection, run_id: str) -> defaultdict[int, list[LaneTrial]]:
    samples_of = _load_samples(connection, run_id)
    query = (
        select(lanes.c.launch_id, lanes.c.position, lanes.c.record, lanes.c.warmup, lanes.c.rounds)
        .join(launches)
        .where(launches.c.run_id == run_id)
        .order_by(launches.c.id, lanes.c.position)
    )
    found: defaultdict[int, list[LaneTrial]] = defaultdict(list)
    for launch_id, position, record, warmup, rounds in connection.execute(query):
        bare = codec.LANE.decode(record)
        lane = replace(
            bare,
            samples=tuple(samples_of[launch_id, position]),
            rounds=rounds,
            warmup=None if bare.warmup is None else replace(bare.warmup, nanoseconds=warmup),
        )
        found[launch_id].append(lane)
    return found


def _load_samples(connection: Connection, run_id: str) -> defaultdict[LaneKey, list[Sample]]:
    query = (
        select(samples.c.launch_id, samples.c.lane, *_sample_columns(samples))
        .join(launches, launches.c.id == samples.c.launch_id)
        .where(launches.c.run_id == run_id)
        .order_by(launches.c.id, samples.c.lane, samples.c.position)
    )
    found: defaultdict[LaneKey, list[Sample]] = defaultdict(list)
    for launch_id, lane, *columns in connection.execute(query):
        found[launch_id, lane].append(_sample(*columns))
    return found


def _sample_columns(table: Table) -> tuple[Column[Any], ...]:
    columns = table.c
    return columns.phase, columns.iterations, columns.nanoseconds, columns.host, columns.lag


def _sample(phase: str, iterations: int, nanoseconds: bytes, host: bytes | None, lag: bytes | None) -> Sample:
    return Sample(
        phase=phase, iterations=iterations, nanoseconds=nanoseconds, host=host or b"", lag=lag or b""
    )
