"""Showing a run before it is kept: what pages make of one run alone is made once, to see that it can be.

The JSON files are left out: they spell every record out, which takes a gigabyte for the largest uploads, and
draw no conclusion that could fail.
"""

from __future__ import annotations

from stepmark.records.run import Judgement, Recording
from stepmark.web.archive import JudgedRun
from stepmark.web.documents import run_document
from stepmark.web.endpoint import encode
from stepmark.web.exports import export
from stepmark.web.queries import ExportFormat
from stepmark.web.run_page import render_report

TABLES = (ExportFormat.CSV, ExportFormat.MARKDOWN, ExportFormat.CRITERION)


def show(recording: Recording, judgement: Judgement) -> None:
    """Report, document and tables; whatever one of them raises comes through."""
    found = JudgedRun(recording, judgement)
    render_report(found)
    encode(run_document(found))
    for kind in TABLES:
        export(found, kind)
