"""Exports: a run as a file to download, in the formats of the command line."""

from __future__ import annotations

from stepmark.interchange.run_bundle import ENDING, to_bundle
from stepmark.report.formats import render
from stepmark.web.archive import JudgedRun
from stepmark.web.endpoint import Download
from stepmark.web.queries import ExportFormat

_KINDS = {
    ExportFormat.JSON: ("application/json", ".json"),
    ExportFormat.JSONL: ("application/x-ndjson", ".jsonl"),
    ExportFormat.CSV: ("text/csv; charset=utf-8", ".csv"),
    ExportFormat.MARKDOWN: ("text/markdown; charset=utf-8", ".md"),
    ExportFormat.CRITERION: ("text/plain; charset=utf-8", ".txt"),
    ExportFormat.BUNDLE: ("application/gzip", ENDING),
}
MEDIA_TYPES = tuple(media_type.partition(";")[0] for media_type, _ in _KINDS.values())


def export(found: JudgedRun, kind: ExportFormat) -> Download:
    """The file, named after the run."""
    media_type, ending = _KINDS[kind]
    data = (
        to_bundle(found.recording)
        if kind is ExportFormat.BUNDLE
        else render(kind.value, found.judgement, found.recording).encode()
    )
    return Download(data, media_type, f"{found.recording.run.id}{ending}")
