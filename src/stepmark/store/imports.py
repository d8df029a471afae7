"""Imports: documents of other tools, kept as records that give their files back byte for byte."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from stepmark.interchange.formats import Document, format_of
from stepmark.records.record import Record
from stepmark.store.codec import Codec
from stepmark.store.schema import imports


class Import(Record, frozen=True, kw_only=True):
    """A file that was taken over."""

    id: str
    imported: float
    """Seconds since the epoch."""
    name: str
    """What the user calls it; the file's name at first."""
    document: Document

    @property
    def format(self) -> str:
        return format_of(self.document).name


class ImportHead(Record, frozen=True, kw_only=True):
    """One line of a list, without the document."""

    id: str
    imported: float
    name: str
    format: str


_IMPORT = Codec(Import)


def insert_import(connection: Connection, made: Import) -> None:
    row = {
        "id": made.id,
        "imported": made.imported,
        "name": made.name,
        "format": made.format,
        "record": _IMPORT.encode(made),
    }
    connection.execute(insert(imports), row)


def load_import(connection: Connection, import_id: str) -> Import | None:
    """None where there is no such import."""
    record = connection.scalar(select(imports.c.record).where(imports.c.id == import_id))
    return None if record is None else _IMPORT.decode(record)


def load_import_heads(connection: Connection, limit: int | None) -> tuple[ImportHead, ...]:
    """Newest first."""
    query = (
        select(imports.c.id, imports.c.imported, imports.c.name, imports.c.format)
        .order_by(imports.c.imported.desc(), imports.c.id.desc())
        .limit(limit)
    )
    return tuple(
        ImportHead(id=row.id, imported=row.imported, name=row.name, format=row.format)
        for row in connection.execute(query)
    )
