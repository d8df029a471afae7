"""SwitchBack's info.jsonl: one JSON object a line, 25 keys, times in milliseconds.

The script appends json.dumps of a dictionary, so keys come in one order and numbers as Python writes them.
Lines that do not begin with a brace are kept as text; so is an object with all its keys that another program
spaced or spelled otherwise. `null` stands for what was not measured.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, NoReturn

import msgspec

from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.lines import Loose, is_unicode, join, kept, loose_lines, split
from stepmark.records.record import Record

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Milliseconds = float | None


class Row(Record, frozen=True, kw_only=True, tag="row"):
    """One shape, every operation timed on its own; what each key means is in docs/formats.md."""

    repeat: Count
    batch_size: Count
    """Rows: batch times sequence."""
    dim_out: Count
    dim_in: Count
    wm: int | float
    """Wide over narrow."""
    switch: bool
    """Whether the layer leads from wide to narrow."""
    standard_fwd: Milliseconds
    standard_gw: Milliseconds
    standard_gx: Milliseconds
    rowwise_fwd: Milliseconds
    rowwise_bwd: Milliseconds
    global_fwd: Milliseconds
    global_bwd: Milliseconds
    x_quantize_rowwise: Milliseconds
    g_quantize_rowwise: Milliseconds
    w_quantize_rowwise: Milliseconds
    w_quantize_colwise_transpose: Milliseconds
    w_quantize_global: Milliseconds
    w_quantize_global_transpose: Milliseconds
    cast_x: Milliseconds
    cast_g: Milliseconds
    cast_w: Milliseconds
    time_standard: Milliseconds
    time_rowwise: Milliseconds
    time_global: Milliseconds


KEYS = Row.__struct_fields__
"""All 25."""
CONFIGURATION = KEYS[:6]
OPERATIONS = KEYS[6:-3]
"""Timed on their own."""
TOTALS = {
    "time_standard": ("standard_fwd", "standard_gx", "standard_gw"),
    "time_rowwise": (
        "x_quantize_rowwise",
        "g_quantize_rowwise",
        "w_quantize_colwise_transpose",
        "w_quantize_rowwise",
        "standard_gw",
        "rowwise_fwd",
        "rowwise_bwd",
    ),
    "time_global": (
        "x_quantize_rowwise",
        "g_quantize_rowwise",
        "w_quantize_global",
        "w_quantize_global_transpose",
        "standard_gw",
        "global_fwd",
        "global_bwd",
    ),
}
"""Sums of operations; the casts are in none."""


class SwitchbackLines(Record, frozen=True, kw_only=True, tag="switchback-jsonl"):
    """A whole file."""

    newline: str = "\n"
    parts: tuple[Loose | Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(part for part in self.parts if isinstance(part, Row))


def parse(text: str, name: str) -> SwitchbackLines:
    """Rows, and the text around them."""
    newline, lines = split(text)
    parts: list[Loose | Row] = []
    loose: list[str] = []
    for number, line in enumerate(lines, start=1):
        row = _row(line, name, number) if line.startswith("{") else None
        if row is None or _written(row) != line:
            loose.append(line)
            continue
        parts += [*kept(loose), row]
        loose = []
    parts += kept(loose)
    document = SwitchbackLines(newline=newline, parts=tuple(parts))
    if not document.rows:
        raise BrokenFile(name, 1, 'no line like {"repeat": 64, "batch_size": ...} as json.dumps writes it')
    return document


def render(document: SwitchbackLines) -> str:
    """The inverse of `parse`."""
    lines = (
        line
        for part in document.parts
        for line in ((_written(part),) if isinstance(part, Row) else loose_lines(part))
    )
    return join(document.newline, lines)


def _row(line: str, name: str, number: int) -> Row:
    """The object on a line; its keys may come in another order."""
    if not is_unicode(line):
        raise BrokenFile(name, number, "no JSON object: not UTF-8")
    try:
        fields: dict[str, Any] = json.loads(line, parse_constant=_refuse_constant)
        return msgspec.convert({"type": "row", **fields}, Row)
    except json.JSONDecodeError as error:
        raise BrokenFile(name, number, f"no JSON object: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise BrokenFile(name, number, "no JSON object: nested too deeply") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise BrokenFile(name, number, f"not a row of this format: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _written(row: Row) -> str:
    return json.dumps({key: getattr(row, key) for key in KEYS})
