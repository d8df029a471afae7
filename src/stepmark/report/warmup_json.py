"""A warm-up study as one JSON document: every iteration of every launch with its gauges, and the summary.

    {"format": 1, "recording": {"case": ..., "trials": [{"iterations": [...]}, ...]}, "summary": {...}}

`format` is FORMAT of records/warmup.py; `summary` is null where no launch came to its end.
"""

from __future__ import annotations

from stepmark.records.warmup import FORMAT, WarmupRecording, WarmupSummary
from stepmark.report.unpacked import encode, plain


def render_warmup_json(recording: WarmupRecording, summary: WarmupSummary | None) -> str:
    """The document, a line a part."""
    summed = encode(plain(summary)) if summary is not None else "null"
    return f'{{"format": {FORMAT},\n"recording": {encode(plain(recording))},\n"summary": {summed}}}\n'
