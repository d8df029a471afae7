"""The store: where runs are kept, trial by trial, and found again."""

from __future__ import annotations

from collections.abc import Iterable

from stepmark.errors import RunExists, StoreError, UsageError
from stepmark.records.ceilings import Ceilings
from stepmark.records.environment import LoadFacts
from stepmark.records.history import HistoryPoint
from stepmark.records.run import Recording, Run, RunStatus
from stepmark.records.run_summary import KnownMachine, RunLevel, RunSummary
from stepmark.records.trial import Trial
from stepmark.store.baseline import Baseline, check_name, insert_baseline, load_baselines, no_baseline
from stepmark.store.ceilings import insert_ceilings, load_ceilings
from stepmark.store.head import RunHead, is_readable, load_head, load_heads, load_ids
from stepmark.store.imports import Import, ImportHead, insert_import, load_import, load_import_heads
from stepmark.store.opened import Opened
from stepmark.store.owner import this_process
from stepmark.store.points import load_case_ids, load_facts, load_levels, load_phases, load_points
from stepmark.store.reading import load_recording, load_run
from stepmark.store.reference import is_latest, match
from stepmark.store.resuming import Origin, check_resumable, is_complete
from stepmark.store.search import RunPage, RunQuery, load_branches, load_machines, load_suites, search_runs
from stepmark.store.summaries import drop_summary, replace_summary, stale_runs
from stepmark.store.writing import insert_run, insert_trial, update_run


class Store(Opened):
    """An open store; append only, each call one transaction, on disk when it returns.

    Several processes may have one store open: writers take turns, readers never wait.
    """

    def begin(self, run: Run) -> None:
        """Write the head of a run, before anything is measured; whoever does owns it until it ends."""
        with self._writing(conflict=f"run {run.id} cannot begin") as connection:
            insert_run(connection, run, origin=Origin.MEASURED)

    def append(self, run_id: str, trial: Trial) -> None:
        """Add one trial, whole or not at all."""
        with self._writing(conflict=f"run {run_id} cannot take this trial") as connection:
            insert_trial(connection, run_id, trial)

    def finish(self, run_id: str, *, status: RunStatus, finished: float, load_end: LoadFacts) -> None:
        """Say how and when a run ended."""
        with self._writing() as connection:
            if not update_run(connection, run_id, status=status, finished=finished, load_end=load_end):
                raise self._no_run(run_id)

    def check_resumable(self, run_id: str) -> None:
        """Refuse what must not be gone on with; to be asked before anything of the run is executed."""
        with self._reading() as connection:
            check_resumable(connection, run_id)

    def reopen(self, run_id: str) -> bool:
        """A resumed run is running again: it has no end until it is finished anew. Of two processes that
        resume it at the same moment one is refused. False where the other has been so quick that the run came
        to its end meanwhile."""
        with self._writing() as connection:
            check_resumable(connection, run_id)
            if is_complete(connection, run_id):
                return False
            if not update_run(connection, run_id, status=RunStatus.RUNNING, owner=this_process()):
                raise self._no_run(run_id)
            drop_summary(connection, run_id)
        return True

    def add_recording(self, recording: Recording) -> bool:
        """Keep a whole run that was measured elsewhere; False where the very same one is there already. It
        cannot be resumed."""
        run_id = recording.run.id
        with self._writing(conflict=f"run {run_id} cannot be kept") as connection:
            known = load_recording(connection, run_id)
            if known is None:
                insert_run(connection, recording.run)
                for trial in recording.trials:
                    insert_trial(connection, run_id, trial)
        if known not in (None, recording):
            raise RunExists(
                f"there is another run {run_id} in {self.place}",
                remedy="ids of runs are unique: was one of the two changed by hand?",
            )
        return known is None

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

    def heads(self, limit: int | None, *, readable: bool = False) -> tuple[RunHead, ...]:
        """The newest runs, newest first; on demand without those of a newer format, which are only listed."""
        with self._reading() as connection:
            return load_heads(connection, limit, where=[is_readable()] if readable else ())

    def head(self, run_id: str) -> RunHead:
        """The line of one run in a list of them."""
        with self._reading() as connection:
            head = load_head(connection, run_id)
        if head is None:
            raise self._no_run(run_id)
        return head

    def search(
        self,
        text: str | None = None,
        *,
        suite: str | None = None,
        machine: str | None = None,
        branch: str | None = None,
        since: float | None = None,
        until: float | None = None,
        status: RunStatus | None = None,
        limit: int | None = 50,
        offset: int = 0,
    ) -> RunPage:
        """Runs that fit, newest first; RunQuery says what each condition means."""
        query = RunQuery(
            text=text,
            suite=suite,
            machine=machine,
            branch=branch,
            since=since,
            until=until,
            status=status,
        )
        with self._reading() as connection:
            return search_runs(connection, query, limit=limit, offset=offset)

    def suites(self) -> tuple[tuple[str, int], ...]:
        """Names of suites that runs measured, with how many runs each."""
        with self._reading() as connection:
            return load_suites(connection)

    def branches(self) -> tuple[tuple[str, int], ...]:
        """Names of branches that runs were made on, with how many runs each."""
        with self._reading() as connection:
            return load_branches(connection)

    def machines(self) -> tuple[KnownMachine, ...]:
        """Machines that runs were measured on, the one with the newest run first."""
        with self._reading() as connection:
            return load_machines(connection)

    def machine_levels(self, machine: str, *, num_runs: int) -> tuple[RunLevel, ...]:
        """Levels in the newest runs of known code: what the machine's noise is estimated from."""
        with self._reading() as connection:
            return load_levels(connection, machine, num_runs=num_runs)

    def keep_summary(self, summary: RunSummary) -> None:
        """In place of the one that is there, if any."""
        with self._writing(conflict=f"run {summary.run} cannot be summarized") as connection:
            replace_summary(connection, summary)

    def stale(self, *, version: int, limit: int) -> tuple[str, ...]:
        """Ids of finished runs that have no summary, or one of an older version; the newest first."""
        with self._reading() as connection:
            return stale_runs(connection, version=version, limit=limit)

    def case_ids(self, text: str = "", limit: int = 50) -> tuple[str, ...]:
        """Cases with a history in whose id every word of the text stands."""
        with self._reading() as connection:
            return load_case_ids(connection, text, limit)

    def case_phases(self, case_id: str) -> tuple[str, ...]:
        """Phases with a history, the primary one first."""
        with self._reading() as connection:
            return load_phases(connection, case_id)

    def case_points(
        self, case_id: str, phase: str | None = None, machine: str | None = None
    ) -> tuple[HistoryPoint, ...]:
        """A case in every summarized run, the oldest first; without a phase its primary one is meant."""
        with self._reading() as connection:
            phase = phase or next(iter(load_phases(connection, case_id)), "")
            return load_points(connection, case_id, phase, machine=machine)

    def conditions(self, keys: Iterable[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """What runs under each of these conditions share, as names and values."""
        with self._reading() as connection:
            return load_facts(connection, {*keys})

    def resolve(self, reference: str) -> str:
        """The id of the run a user means: an id, the beginning of one, a baseline, `latest`, `latest~1`."""
        with self._reading() as connection:
            if load_head(connection, reference) is not None:
                return reference
            ids, baselines = load_ids(connection), load_baselines(connection)
        return match(reference, ids, baselines={baseline.name: baseline.run for baseline in baselines})

    def resolve_any(self, reference: str) -> str:
        """Like `resolve`, but imports may be meant as well, by id or name; `latest` is a run."""
        with self._reading() as connection:
            ids, baselines = load_ids(connection), load_baselines(connection)
            heads = load_import_heads(connection, None)
        if is_latest(reference):
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

    def _no_run(self, run_id: str) -> StoreError:
        return StoreError(
            f"there is no run {run_id} in {self.place}", remedy="stepmark runs lists what is there"
        )
