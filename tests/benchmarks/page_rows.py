"""Rows of the GPU's data with known answers, and the tables that are made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def put(folder: Path, name: str, day: str, rows: list[dict[str, Any]]) -> None:
    """One file of data."""
    data = {"environment": {"date": f"{day}T12:00:00+00:00"}, "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(data))


def cells_of(text: str) -> list[list[str]]:
    """A table's lines below its titles."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
