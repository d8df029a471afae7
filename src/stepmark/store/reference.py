"""References: how a user names a run."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from stepmark.errors import UsageError

LATEST = "latest"
_NUM_SHOWN = 5


def match(reference: str, ids: Sequence[str]) -> str:
    """The run meant by a full id, the beginning of one, or `latest`; `ids` are newest first."""
    if reference in ids:
        return reference
    if not ids:
        raise UsageError("there are no runs yet", remedy="measure something with stepmark run")
    if reference == LATEST:
        return ids[0]
    candidates = [run_id for run_id in ids if run_id.startswith(reference)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise UsageError(
            f"'{reference}' is the beginning of {len(candidates)} runs: {_some(candidates)}",
            remedy="write more of the id",
        )
    nearest = get_close_matches(reference, ids, n=3) or ids[:3]
    raise UsageError(
        f"there is no run '{reference}'",
        remedy=f"did you mean {_some(nearest)}? stepmark runs lists them all",
    )


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NUM_SHOWN} more" if len(ids) > _NUM_SHOWN else ""
    return ", ".join(ids[:_NUM_SHOWN]) + more
