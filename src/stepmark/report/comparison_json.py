"""A comparison as one JSON document, with everything its records hold.

    {"format": 1, "baseline": {...}, "candidate": {...}, "terms": {...}, "differences": [...],
     "only_baseline": [...], "only_candidate": [...], "cases": [...]}

Cases have a line each, so documents compare line by line. History of `format`: 1, 2026-11, first.
"""

from __future__ import annotations

from stepmark.records.comparison import Comparison
from stepmark.report.unpacked import encode, plain

FORMAT = 1


def render(comparison: Comparison) -> str:
    """The document, ending in a newline."""
    head = plain(comparison)
    cases = head.pop("cases")
    lines = (
        encode({"case_id": case.case.id, **fields})
        for case, fields in zip(comparison.cases, cases, strict=True)
    )
    opening = encode({"format": FORMAT, **head}).removesuffix("}")
    return f'{opening},\n"cases": [\n' + ",\n".join(lines) + "]}\n"
