"""The table of the API's endpoints, in the order of its documentation."""

from __future__ import annotations

from http import HTTPStatus

from stepmark.keeping import MachineNoise
from stepmark.records.history import CaseHistory
from stepmark.store.baseline import Baseline
from stepmark.store.search import RunPage
from stepmark.web import api
from stepmark.web.documents import ComparisonDocument, NamedCount, RunDocument, SamplesDocument
from stepmark.web.endpoint import Endpoint
from stepmark.web.exports import MEDIA_TYPES
from stepmark.web.progress import Progress
from stepmark.web.queries import (
    CasesQuery,
    CompareQuery,
    ExportQuery,
    HistoryQuery,
    RunsQuery,
    SamplesQuery,
)

_NOT_FOUND = (HTTPStatus.NOT_FOUND,)

ENDPOINTS = (
    Endpoint(
        path="/api/runs",
        name="listRuns",
        about="Runs that fit, the newest first, a page at a time.",
        call=api.runs,
        answer=RunPage,
        query=RunsQuery,
    ),
    Endpoint(
        path="/api/runs/{run}",
        name="showRun",
        about="A run with what was concluded from it: estimates, verdicts and findings of every case.",
        call=api.run,
        answer=RunDocument,
        errors=_NOT_FOUND,
    ),
    Endpoint(
        path="/api/runs/{run}/progress",
        name="showProgress",
        about="How far a run is.",
        call=api.progress,
        answer=Progress,
        errors=_NOT_FOUND,
    ),
    Endpoint(
        path="/api/runs/{run}/samples",
        name="listSamples",
        about="Every raw sample of a case, launch by launch in the order of the rounds.",
        call=api.samples,
        answer=SamplesDocument,
        query=SamplesQuery,
        errors=_NOT_FOUND,
    ),
    Endpoint(
        path="/api/runs/{run}/export",
        name="exportRun",
        about="A run as a file, in the formats of stepmark export.",
        call=api.export_run,
        answer=None,
        query=ExportQuery,
        media_types=MEDIA_TYPES,
        errors=_NOT_FOUND,
    ),
    Endpoint(
        path="/api/compare",
        name="compareRuns",
        about="Two runs that were not interleaved, case by case; what must not be compared is INVALID.",
        call=api.comparison,
        answer=ComparisonDocument,
        query=CompareQuery,
        errors=_NOT_FOUND,
    ),
    Endpoint(
        path="/api/cases",
        name="listCases",
        about="Ids of cases that have a history.",
        call=api.cases,
        answer=tuple[str, ...],
        query=CasesQuery,
    ),
    Endpoint(
        path="/api/history",
        name="showHistory",
        about="A case over all finished runs: its levels, the stretches in which it stayed, its changes.",
        call=api.history,
        answer=CaseHistory,
        query=HistoryQuery,
        errors=_NOT_FOUND,
    ),
    Endpoint(
        path="/api/machines",
        name="listMachines",
        about="Machines and how far levels of unchanged code wander on them.",
        call=api.machine_list,
        answer=tuple[MachineNoise, ...],
    ),
    Endpoint(
        path="/api/baselines",
        name="listBaselines",
        about="Runs that have names.",
        call=api.baselines,
        answer=tuple[Baseline, ...],
    ),
    Endpoint(
        path="/api/suites",
        name="listSuites",
        about="Suites that were measured, and in how many runs.",
        call=api.suites,
        answer=tuple[NamedCount, ...],
    ),
    Endpoint(
        path="/api/branches",
        name="listBranches",
        about="Branches that runs were made on, and how many.",
        call=api.branches,
        answer=tuple[NamedCount, ...],
    ),
)
