"""Writing: a run's head and its trials, as rows."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from sqlalchemy import Connection, Table, insert, update

from stepmark.records.environment import LoadFacts
from stepmark.records.outcome import Outcome
from stepmark.records.run import Run, RunStatus
from stepmark.records.sample import Sample, pack
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial, Trial
from stepmark.store import codec, schema
from stepmark.store.owner import OWNER, Owner, this_process
from stepmark.store.resuming import Origin

Row = dict[str, Any]


def insert_run(connection: Connection, run: Run, *, origin: Origin = Origin.TAKEN_IN) -> None:
    """The head, and the cases the run is going to measure; it can be resumed where it says so."""
    begun = origin is Origin.MEASURED and run.status is RunStatus.RUNNING
    suites = tuple(outline.name for outline in run.suites)
    repository = run.environment.repository
    head = {
        "id": run.id,
        "started": run.started,
        "format": run.format,
        "stepmark": run.environment.stepmark,
        "command": codec.NAMES.encode(run.environment.command),
        "suites": codec.NAMES.encode(suites),
        "num_cases": len(run.cases),
        "machine": run.environment.host.hostname,
        "commit_id": repository and repository.commit,
        "dirty": repository and repository.dirty,
        "branch": repository and repository.branch,
        "origin": origin,
    }
    progress = _progress(
        status=run.status,
        finished=run.finished,
        load_end=run.load_end,
        owner=this_process() if begun else None,
    )
    connection.execute(insert(schema.runs), head | progress)
    record = codec.RUN.encode(replace(run, cases=(), load_end=None))
    connection.execute(insert(schema.run_records), {"run_id": run.id, "record": record})
    named = [{"suite": name, "run_id": run.id} for name in dict.fromkeys(suites)]
    _insert_all(connection, schema.run_suites, named)
    cases = [
        {"run_id": run.id, "position": position, "case_id": case.id, "record": codec.CASE.encode(case)}
        for position, case in enumerate(run.cases)
    ]
    _insert_all(connection, schema.cases, cases)


def update_run(
    connection: Connection,
    run_id: str,
    *,
    status: RunStatus,
    finished: float | None = None,
    load_end: LoadFacts | None = None,
    owner: Owner | None = None,
) -> bool:
    """Change what may change of a head; False where there is no such run."""
    change = update(schema.runs).where(schema.runs.c.id == run_id)
    progress = _progress(status=status, finished=finished, load_end=load_end, owner=owner)
    return connection.execute(change, progress).rowcount == 1


def insert_trial(connection: Connection, run_id: str, trial: Trial) -> None:
    """A solo trial or a launch with everything below it."""
    if isinstance(trial, SoloTrial):
        _insert_solo(connection, run_id, trial)
    else:
        _insert_launch(connection, run_id, trial)


def _insert_solo(connection: Connection, run_id: str, trial: SoloTrial) -> None:
    row = {
        "run_id": run_id,
        "case_id": trial.case.id,
        "outcome": trial.outcome,
        "record": codec.SOLO.encode(replace(trial, samples=())),
    }
    solo_id = _insert_one(connection, schema.solo_trials, row)
    _insert_all(connection, schema.solo_samples, _sample_rows(trial.samples, {"solo_id": solo_id}))


def _insert_launch(connection: Connection, run_id: str, trial: LaunchTrial) -> None:
    orders = {order: index for index, order in enumerate(dict.fromkeys(trial.round_orders))}
    row = {
        "run_id": run_id,
        "cell_id": trial.cell.id,
        "number": trial.number,
        "record": codec.LAUNCH.encode(replace(trial, lanes=(), round_orders=tuple(orders))),
        "round_orders": pack(orders[order] for order in trial.round_orders),
    }
    launch_id = _insert_one(connection, schema.launches, row)
    lanes, samples = [], []
    for position, lane in enumerate(trial.lanes):
        lanes.append({"launch_id": launch_id, "position": position} | _lane_row(lane))
        samples += _sample_rows(lane.samples, {"launch_id": launch_id, "lane": position})
    _insert_all(connection, schema.lanes, lanes)
    _insert_all(connection, schema.samples, samples)


def _progress(
    *, status: RunStatus, finished: float | None, load_end: LoadFacts | None, owner: Owner | None
) -> Row:
    return {
        "status": status,
        "finished": finished,
        "load_end": None if load_end is None else codec.LOAD.encode(load_end),
        "owner": None if owner is None else OWNER.encode(owner),
    }


def _lane_row(lane: LaneTrial) -> Row:
    """Packed numbers get columns of their own: inside JSON they would be a third longer, and opaque."""
    warmup = lane.warmup
    bare_warmup = None if warmup is None else replace(warmup, nanoseconds=b"")
    return {
        "variant": lane.variant,
        "outcome": lane.failure.outcome if lane.failure else Outcome.MEASURED,
        "record": codec.LANE.encode(replace(lane, samples=(), rounds=b"", warmup=bare_warmup)),
        "warmup": None if warmup is None else warmup.nanoseconds,
        "rounds": lane.rounds,
    }


def _sample_rows(samples: tuple[Sample, ...], key: Row) -> list[Row]:
    return [
        key
        | {
            "position": position,
            "phase": sample.phase,
            "iterations": sample.iterations,
            "nanoseconds": sample.nanoseconds,
            "host": sample.host or None,
            "lag": sample.lag or None,
        }
        for position, sample in enumerate(samples)
    ]


def _insert_one(connection: Connection, table: Table, row: Row) -> int:
    """The new row's id."""
    key = connection.execute(insert(table), row).inserted_primary_key
    assert key is not None
    return int(key[0])


def _insert_all(connection: Connection, table: Table, rows: list[Row]) -> None:
    if rows:  # SQLAlchemy takes an empty list for one row of defaults
        connection.execute(insert(table), rows)
