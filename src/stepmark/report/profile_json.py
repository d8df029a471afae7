"""A profile as one JSON document: every round of the profiler's cost, and the summary with all operations.

    {"format": 1, "recording": {"case": ..., "cost": {"launches": [...]}}, "summary": {"phases": [...], ...}}

`format` is FORMAT of records/profile.py; `summary` is null where nothing was traced. The spans of the trace
are not in it: `--trace` writes them in the format that other tools read.
"""

from __future__ import annotations

from msgspec.structs import replace

from stepmark.records.profile import FORMAT, ProfileRecording, ProfileSummary
from stepmark.report.unpacked import encode, plain


def render_profile_json(recording: ProfileRecording, summary: ProfileSummary | None) -> str:
    """The document, a line a part."""
    without_spans = replace(recording, tracing=replace(recording.tracing, trace=None))
    summed = encode(plain(summary)) if summary is not None else "null"
    return f'{{"format": {FORMAT},\n"recording": {encode(plain(without_spans))},\n"summary": {summed}}}\n'
