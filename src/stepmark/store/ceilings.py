"""Ceilings in the store: every measurement of a machine's rates is kept; the best of them count."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from stepmark.records.ceilings import Ceilings
from stepmark.store.codec import Codec
from stepmark.store.schema import ceilings

_CEILINGS = Codec(Ceilings)


def insert_ceilings(connection: Connection, measured: Ceilings) -> None:
    row = {
        "host": measured.host,
        "device": measured.device,
        "threads": measured.threads,
        "torch": measured.torch,
        "record": _CEILINGS.encode(measured),
    }
    connection.execute(insert(ceilings), row)


def load_ceilings(
    connection: Connection, *, host: str, device: str, threads: int, torch: str
) -> tuple[Ceilings, ...]:
    """The oldest first."""
    query = (
        select(ceilings.c.record)
        .where(ceilings.c.host == host, ceilings.c.device == device)
        .where(ceilings.c.threads == threads, ceilings.c.torch == torch)
        .order_by(ceilings.c.id)
    )
    return tuple(_CEILINGS.decode(record) for record in connection.scalars(query))
