"""The store: where runs are kept, trial by trial, and found again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from stepmark.errors import StoreError, UsageError
from stepmark.records.ceilings import Ceilings
from stepmark.records.environment import LoadFacts
from stepmark.records.run import Recording, Run, RunStatus
from stepmark.records.trial import Trial
from stepmark.store.baseline import Baseline, check_name, insert_baseline, load_baselines, no_baseline
from stepmark.store.ceilings import insert_ceilings, load_ceilings
from stepmark.store.connection import connect, writing
from stepmark.store.head import RunHead, load_heads, load_ids
from stepmark.store.imports import Import, ImportHead, insert_import, load_import, load_import_heads
from stepmark.store.location import database_file, parse, prepare_file
from stepmark.store.reading import load_recording, load_run
from stepmark.store.reference import LATEST, match
from stepmark.store.trouble import explained
from stepmark.store.version import ready
from stepmark.store.writing import insert_run, insert_trial, update_run


class Store:
    """An open store; append only, each call one transaction, on disk when it returns.

    Several processes may have one store open: writers take turns, readers never wait.
    """

    def __init__(self, engine: Engine, *, place: str) -> None:
        self._engine = engine
        self.place = place
        """The file, or the URL without its password: what messages call the store."""

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Store:
        """Open a store and bring its tables up to date; with `create=False` a missing one is an error."""
        parsed = parse(url)
        file = database_file(parsed)
        place = str(file) if file else parsed.render_as_string()
        with explained(place):
            if file:
                prepare_file(file, create=create)
            engine = connect(parsed)
            try:
                ready(engine, create=create, place=place)
            except BaseException:
                engine.dispose()
                raise
        return cls(engine, place=place)

    def begin(self, run: Run) -> None:
        """Write the head of a run, before anything is measured."""
        with self._writing(conflict=f"run {run.id} cannot begin") as connection:
            insert_run(connection, run)

    def append(self, run_id: str, trial: Trial) -> None:
        """Add one trial, whole or not at all."""
        with self._writing(conflict=f"run {run_id} cannot take this trial") as connection:
            insert_trial(connection, run_id, trial)

    def finish(self, run_id: str, *, status: RunStatus, finished: float, load_end: LoadFacts) -> None:
        """Say how and when a run ended."""
        with self._writing() as connection:
            if not update_run(connection, run_id, status=status, finished=finished, load_end=load_end):
                raise self._no_run(run_id)

    def reopen(self, run_id: str) -> None:
        """A resumed run is running again: it has no end until it is finished anew."""
        with self._writing() as connection:
            if not update_run(connection, run_id, status=RunStatus.RUNNING):
                raise self._no_run(run_id)

    def load(self, run_id: str) -> Recording:
        """The run with all its trials, in the order in which they were appended."""
        with self._reading() as connection:
            recording = load_recording(connection, run_id)
        if recording is None:
            raise self._no_run(run_id)
        return recording

    def run(self, run_id: str) -> Run:
        """The run without its trials."""
        with self._reading() as connection:
            run = load_run(connection, run_id)
        if run is None:
            raise self._no_run(run_id)
        return run

    def heads(self, limit: int | None) -> tuple[RunHead, ...]:
        """The newest runs, newest first."""
        with self._reading() as connection:
            return load_heads(connection, limit)

    def resolve(self, reference: str) -> str:
        """The id of the run a user means: an id, the beginning of one, a baseline, `latest`, `latest~1`."""
        with self._reading() as connection:
            ids, baselines = load_ids(connection), load_baselines(connection)
        return match(reference, ids, baselines={baseline.name: baseline.run for baseline in baselines})

    def resolve_any(self, reference: str) -> str:
        """Like `resolve`, but imports may be meant as well, by id or name; `latest` is a run."""
        with self._reading() as connection:
            ids, baselines = load_ids(connection), load_baselines(connection)
            heads = load_import_heads(connection, None)
        if reference.startswith(LATEST):
            return match(reference, ids)
        names = {head.name: head.id for head in reversed(heads)}
        names |= {baseline.name: baseline.run for baseline in baselines}
        return match(reference, (*ids, *(head.id for head in heads)), baselines=names)

    def add_import(self, made: Import) -> None:
        """Keep a document of another tool."""
        with self._writing(conflict=f"import {made.id} cannot be kept") as connection:
            insert_import(connection, made)

    def imported(self, import_id: str) -> Import | None:
        """None where the id is not one of an import."""
        with self._reading() as connection:
            return load_import(connection, import_id)

    def import_heads(self, limit: int | None) -> tuple[ImportHead, ...]:
        """The newest imports, newest first."""
        with self._reading() as connection:
            return load_import_heads(connection, limit)

    def add_ceilings(self, measured: Ceilings) -> None:
        """Keep a measurement of a machine's rates."""
        with self._writing() as connection:
            insert_ceilings(connection, measured)

    def ceilings(self, *, host: str, device: str, threads: int, torch: str) -> tuple[Ceilings, ...]:
        """All measurements of this machine and device, with that many threads and that torch."""
        with self._reading() as connection:
            return load_ceilings(connection, host=host, device=device, threads=threads, torch=torch)

    def baselines(self) -> tuple[Baseline, ...]:
        """The names that runs have now, in alphabetical order."""
        with self._reading() as connection:
            return load_baselines(connection)

    def baseline(self, name: str) -> str:
        """The id of the run that has this name."""
        known = self.baselines()
        run_id = next((baseline.run for baseline in known if baseline.name == name), None)
        if run_id is None:
            raise no_baseline(name, known)
        return run_id

    def save_baseline(self, name: str, run_id: str, *, saved: float, replace: bool = False) -> None:
        """Give a run a name; the name of another run only with `replace`."""
        check_name(name)
        with self._writing(conflict=f"'{name}' cannot name run {run_id}") as connection:
            taken = next((each for each in load_baselines(connection) if each.name == name), None)
            if taken is not None and not replace:
                raise UsageError(
                    f"there is a baseline '{name}' already: run {taken.run}",
                    remedy="--force puts the other run in its place; both stay in the store",
                )
            insert_baseline(connection, name, run_id, saved=saved)

    def delete_baseline(self, name: str, *, saved: float) -> None:
        """Give up a name; its run stays in the store."""
        with self._writing() as connection:
            known = load_baselines(connection)
            if all(baseline.name != name for baseline in known):
                raise no_baseline(name, known)
            insert_baseline(connection, name, None, saved=saved)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self.place), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self, *, conflict: str = "the store refuses") -> Iterator[Connection]:
        with explained(self.place):
            try:
                with writing(self._engine).begin() as connection:
                    yield connection
            except IntegrityError as error:
                raise StoreError(
                    f"{conflict}: {error.orig}",
                    remedy="does another process resume the same run? stepmark runs lists what is there",
                ) from error

    def _no_run(self, run_id: str) -> StoreError:
        return StoreError(
            f"there is no run {run_id} in {self.place}", remedy="stepmark runs lists what is there"
        )
