"""Packing: numbers and texts as short strings that a browser can unpack without any library.

A string is zlib's deflate in base64: `DecompressionStream("deflate")` reads it. Integers go byte by byte:
what they exceed the smallest of them by, all lowest bytes first, then all second ones, and so on. The high
bytes of times are nearly all the same, so they take hardly any room.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from stepmark.records.record import Record

Integers = npt.NDArray[np.int64]


class Column(Record, frozen=True, kw_only=True):
    """Packed integers."""

    base: int
    """The smallest."""
    width: int
    """Bytes of each."""
    data: str


def pack_bytes(data: bytes) -> str:
    """Deflated, as base64."""
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def pack_json(value: Any) -> str:
    """A value of JSON, packed; a number that is none in JSON becomes null."""
    try:
        text = _compact(value)
    except ValueError:
        text = _compact(_finite(value))
    return pack_bytes(text.encode())


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pack_column(values: Integers) -> Column:
    """Integers, packed."""
    if values.size == 0:
        return Column(base=0, width=1, data="")
    base = int(values.min())
    excess = (values - base).astype("<u8")
    width = max(1, (int(excess.max()).bit_length() + 7) // 8)
    planes = excess.view(np.uint8).reshape(-1, 8)[:, :width]
    return Column(base=base, width=width, data=pack_bytes(np.ascontiguousarray(planes.T).tobytes()))


def unpack_column(column: Column, count: int) -> Integers:
    """The inverse, as the page's script does it."""
    if not column.data:
        return np.zeros(0, dtype=np.int64)
    planes = np.frombuffer(zlib.decompress(base64.b64decode(column.data)), dtype=np.uint8)
    whole = np.zeros((count, 8), dtype=np.uint8)
    whole[:, : column.width] = planes.reshape(column.width, count).T
    unpacked: Integers = whole.view("<u8").reshape(-1).astype(np.int64) + column.base
    return unpacked
