"""References: how a user names a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from stepmark.errors import UsageError

LATEST = "latest"
_LATEST = re.compile(rf"{LATEST}(?:~0*([0-9]{{1,9}}))?")
"""So many digits count every run there will ever be; Python refuses to read numbers of thousands of them."""
_NUM_SHOWN = 5


def is_latest(reference: str) -> bool:
    """Whether a run is meant by its place in the order of time."""
    return _LATEST.fullmatch(reference) is not None


def match(reference: str, ids: Sequence[str], *, baselines: Mapping[str, str] | None = None) -> str:
    """The run meant by a full id, the beginning of one, the name of a baseline, or `latest`, with `latest~1`
    for the one before it; `ids` are newest first."""
    baselines = baselines or {}
    if reference in ids:
        return reference
    if not ids:
        raise UsageError("there are no runs yet", remedy="measure something with stepmark run")
    if newest := _LATEST.fullmatch(reference):
        return _back(reference, int(newest[1] or 0), ids)
    if reference in baselines:
        return baselines[reference]
    candidates = [run_id for run_id in ids if run_id.startswith(reference)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise UsageError(
            f"'{reference}' is the beginning of {len(candidates)} runs: {_some(candidates)}",
            remedy="write more of the id",
        )
    nearest = get_close_matches(reference, [*baselines, *ids], n=3) or ids[:3]
    raise UsageError(
        f"there is no run '{reference}'",
        remedy=f"did you mean {_some(nearest)}? stepmark runs lists them all",
    )


def _back(reference: str, num: int, ids: Sequence[str]) -> str:
    if num >= len(ids):
        raise UsageError(
            f"'{reference}' is too far back: there are {len(ids)} runs",
            remedy=f"the oldest is {LATEST}~{len(ids) - 1}, run {ids[-1]}",
        )
    return ids[num]


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NUM_SHOWN} more" if len(ids) > _NUM_SHOWN else ""
    return ", ".join(ids[:_NUM_SHOWN]) + more
