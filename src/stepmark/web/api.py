"""The API: a function for each endpoint, from the archive and a query to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from stepmark.keeping import MachineNoise, machines
from stepmark.records.history import CaseHistory
from stepmark.store.baseline import Baseline
from stepmark.store.search import RunPage
from stepmark.web.archive import Archive
from stepmark.web.comparison import compare
from stepmark.web.documents import (
    ComparisonDocument,
    NamedCount,
    SamplesDocument,
    comparison_document,
    named_counts,
    run_document,
    samples_document,
)
from stepmark.web.endpoint import Download, encode
from stepmark.web.exports import export
from stepmark.web.problems import Refused
from stepmark.web.progress import Progress
from stepmark.web.queries import (
    CasesQuery,
    CompareQuery,
    ExportQuery,
    HistoryQuery,
    NoQuery,
    RunsQuery,
    SamplesQuery,
)

Parts = Mapping[str, str]


def runs(archive: Archive, _: Parts, query: RunsQuery) -> RunPage:
    return archive.store.search(
        text=query.text,
        suite=query.suite,
        machine=query.machine,
        branch=query.branch,
        since=query.since_seconds,
        until=query.until_seconds,
        status=query.status,
        limit=query.limit,
        offset=query.offset,
    )


def run(archive: Archive, parts: Parts, _: NoQuery) -> bytes:
    return archive.answer("run", archive.find(parts["run"]), lambda found: encode(run_document(found)))


def progress(archive: Archive, parts: Parts, _: NoQuery) -> Progress:
    return archive.progress(archive.find(parts["run"]))


def samples(archive: Archive, parts: Parts, query: SamplesQuery) -> SamplesDocument:
    recording = archive.store.load(archive.find(parts["run"]))
    if query.case not in [case.id for case in recording.run.cases]:
        raise Refused(
            HTTPStatus.NOT_FOUND, f"run {recording.run.id} has no case {query.case}", remedy="see its page"
        )
    return samples_document(recording, query.case)


def export_run(archive: Archive, parts: Parts, query: ExportQuery) -> Download:
    return export(archive.judged(archive.find(parts["run"])), query.format)


def baselines(archive: Archive, _: Parts, __: NoQuery) -> tuple[Baseline, ...]:
    return archive.store.baselines()


def comparison(archive: Archive, _: Parts, query: CompareQuery) -> ComparisonDocument:
    return comparison_document(compare(archive, query))


def suites(archive: Archive, _: Parts, __: NoQuery) -> tuple[NamedCount, ...]:
    return named_counts(archive.store.suites())


def branches(archive: Archive, _: Parts, __: NoQuery) -> tuple[NamedCount, ...]:
    return named_counts(archive.store.branches())


def cases(archive: Archive, _: Parts, query: CasesQuery) -> tuple[str, ...]:
    return archive.store.case_ids(query.text or "", query.limit)


def history(archive: Archive, _: Parts, query: HistoryQuery) -> CaseHistory:
    return archive.history(query.case, phase=query.phase, machine=query.machine)


def machine_list(archive: Archive, _: Parts, __: NoQuery) -> tuple[MachineNoise, ...]:
    return machines(archive.store)
