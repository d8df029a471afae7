"""CSV's own grammar: a cell that every reader takes for one, and no spreadsheet for a formula.

Names and messages are users'. A lone carriage return ends a row for most readers, and Python's writer does
not quote it. A text that begins like a formula is computed by the spreadsheet that opens the file, whoever
wrote it; an apostrophe before it says that it is text.
"""

from __future__ import annotations

Value = str | int | float | bool | None
_FORMULA = ("=", "+", "-", "@", "\t", "\n")


def as_cell(value: Value) -> str:
    """Numbers as they are, nothing for what is not known."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    return "" if value is None else str(value)


def _text(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA) else text
