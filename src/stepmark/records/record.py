"""The base of every record: frozen, keyword-only, and refused when a field is unknown."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value: made once, compared by content, changed only by `msgspec.structs.replace`."""
