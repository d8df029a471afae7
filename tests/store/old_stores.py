"""Stores as older stepmarks left them: the newest tables with what came later taken away."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from stepmark.store import schema

_LATER = {
    "0007": ["ALTER TABLE runs DROP COLUMN origin", "ALTER TABLE runs DROP COLUMN owner"],
    "0006": [
        "DROP TABLE case_summaries",
        "DROP TABLE run_summaries",
        "DROP TABLE histories",
        "DROP TABLE conditions",
        "DROP TABLE run_suites",
        "DROP INDEX ix_runs_machine_started",
        "DROP INDEX ix_runs_branch_started",
        *(f"ALTER TABLE runs DROP COLUMN {column}" for column in ("machine", "commit_id", "dirty", "branch")),
        "ALTER TABLE runs ADD COLUMN record TEXT",
        "UPDATE runs SET record = (SELECT record FROM run_records WHERE run_id = id)",
        "DROP TABLE run_records",
    ],
    "0005": [
        f"ALTER TABLE {table} DROP COLUMN {column}"
        for table in ("samples", "solo_samples")
        for column in ("host", "lag")
    ],
    "0004": ["DROP TABLE ceilings"],
    "0003": ["DROP TABLE imports"],
    "0002": ["DROP TABLE baselines"],
}
"""What each revision brought, the newest first."""


def make_old(file: Path, revision: str) -> None:
    """Take away what came after the revision, fields of records included."""
    connection = sqlite3.connect(file)
    with connection:
        for later, statements in _LATER.items():
            if later > revision:
                for statement in statements:
                    connection.execute(statement)
        connection.execute(f"UPDATE {schema.REVISION_TABLE} SET version_num = ?", (revision,))
        for table, key in (("cases", "position"), ("solo_trials", "id"), ("launches", "id")):
            rows = connection.execute(f"SELECT run_id, {key}, record FROM {table}").fetchall()
            for run, place, record in rows:
                older = json.dumps(_without_regime(json.loads(record)))
                connection.execute(
                    f"UPDATE {table} SET record = ? WHERE run_id = ? AND {key} = ?", (older, run, place)
                )
    connection.close()


def _without_regime(record: dict[str, object]) -> dict[str, object]:
    for holder in (record, record.get("case")):
        cell = holder.get("cell") if isinstance(holder, dict) else None
        if isinstance(cell, dict):
            cell.pop("execution")
            cell.pop("cache")
    return record
