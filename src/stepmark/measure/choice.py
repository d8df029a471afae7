"""Choosing one case of many by a name that its user typed."""

from __future__ import annotations

from collections.abc import Sequence

from stepmark.errors import UsageError
from stepmark.records.case import Case

SHOWN_CASES = 20


def choose(cases: Sequence[Case], text: str | None, *, purpose: str) -> Case:
    """The one case that the text names: its variant, its id, or the beginning of its id. `purpose` is what is
    made of one case at a time: `a profile`."""
    fitting = list(cases) if text is None else _named(cases, text)
    if len(fitting) == 1:
        return fitting[0]
    listed = fitting or list(cases)
    ids = [case.id for case in listed[:SHOWN_CASES]]
    more = len(listed) - len(ids)
    detail = "\n".join([*ids, f"and {more} more"] if more else ids)
    if not fitting:
        raise UsageError(
            f"no case is called '{text}'", remedy="name one of the cases above with --case", detail=detail
        )
    what = f"'{text}' names" if text else "the target has"
    raise UsageError(
        f"{what} {len(fitting)} cases, and {purpose} is of one",
        remedy="choose one of the cases above with --case, or narrow them with --set, --dtype and --mode",
        detail=detail,
    )


def _named(cases: Sequence[Case], text: str) -> list[Case]:
    """Whole names before beginnings; the suite's name may be left out."""
    whole = [case for case in cases if text in (case.variant, case.id)]
    return whole or [
        case for case in cases if case.id.startswith(text) or case.id.partition("/")[2].startswith(text)
    ]
