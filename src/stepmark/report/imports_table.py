"""The list of imported files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Protocol

from stepmark.report import format as show
from stepmark.report.sheet import Sheet
from stepmark.report.shown_table import ShownTable, table_lines


class ImportHead(Protocol):
    """What the list needs to know of an import."""

    @property
    def id(self) -> str: ...
    @property
    def imported(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...


def imports_table(heads: Sequence[ImportHead], *, zone: tzinfo | None = None) -> Sheet:
    """In the order given; times of day are local unless a zone is named."""
    table = ShownTable(
        title="Imported files",
        head=("import", "imported", "format", "name"),
        rows=tuple(
            (head.id, show.moment(head.imported, zone=zone), head.format, head.name) for head in heads
        ),
        sides="lllf",
    )
    return Sheet(lambda page: table_lines(table, page)[:-1])
