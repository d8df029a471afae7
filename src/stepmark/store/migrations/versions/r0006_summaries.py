"""Summaries: levels and verdicts of finished runs, and what a list of runs shows in columns of its own."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_AT_ONCE = 100
"""Runs whose records are in memory at a time."""


def upgrade() -> None:
    _create_run_tables()
    _create_summaries()
    op.add_column("runs", sa.Column("machine", sa.Text))
    op.add_column("runs", sa.Column("commit_id", sa.Text))
    op.add_column("runs", sa.Column("dirty", sa.Boolean))
    op.add_column("runs", sa.Column("branch", sa.Text))
    _fill()
    with op.batch_alter_table("runs") as table:
        table.drop_column("record")
        table.alter_column("machine", existing_type=sa.Text, nullable=False)
    op.create_index("ix_runs_machine_started", "runs", ["machine", "started"])
    op.create_index("ix_runs_branch_started", "runs", ["branch", "started"])


def _create_run_tables() -> None:
    op.create_table(
        "run_records",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_records"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_records_runs"),
    )
    op.create_table(
        "run_suites",
        sa.Column("suite", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("suite", "run_id", name="pk_run_suites"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_suites_runs"),
    )


def _create_summaries() -> None:
    op.create_table(
        "conditions",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_conditions"),
    )
    op.create_table(
        "run_summaries",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("conditions", sa.Text, nullable=False),
        sa.Column("code", sa.Text),
        sa.Column("verdicts", sa.Text, nullable=False),
        sa.Column("num_failed", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_summaries"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_summaries_runs"),
        sa.ForeignKeyConstraint(["conditions"], ["conditions.key"], name="fk_run_summaries_conditions"),
    )
    op.create_table(
        "histories",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("is_primary", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_histories"),
        sa.UniqueConstraint("case_id", "phase", name="uq_histories_case_id_phase"),
    )
    op.create_table(
        "case_summaries",
        sa.Column("history_id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        *_estimate_columns("level", nullable=False),
        sa.Column("error", sa.Double, nullable=False),
        *_estimate_columns("ratio", nullable=True),
        sa.Column("verdict", sa.Text),
        sa.PrimaryKeyConstraint("history_id", "run_id", name="pk_case_summaries"),
        sa.ForeignKeyConstraint(["history_id"], ["histories.id"], name="fk_case_summaries_histories"),
        sa.ForeignKeyConstraint(["run_id"], ["run_summaries.run_id"], name="fk_case_summaries_run_summaries"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_case_summaries_run_id", "case_summaries", ["run_id"])


def _estimate_columns(name: str, *, nullable: bool) -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column(name, sa.Double, nullable=nullable),
        sa.Column(f"{name}_low", sa.Double, nullable=nullable),
        sa.Column(f"{name}_high", sa.Double, nullable=nullable),
        sa.Column(f"{name}_confidence", sa.Double, nullable=nullable),
        sa.Column(f"{name}_method", sa.Text, nullable=nullable),
        sa.Column(f"{name}_launches", sa.Integer, nullable=nullable),
    )


def _fill() -> None:
    """What the records say about machine, commit and suites, where it can be searched."""
    connection = op.get_bind()
    connection.execute(sa.text("INSERT INTO run_records (run_id, record) SELECT id, record FROM runs"))
    ids = connection.scalars(sa.text("SELECT id FROM runs ORDER BY id")).all()
    query = sa.text("SELECT id, suites, record FROM runs WHERE id IN :ids").bindparams(
        sa.bindparam("ids", expanding=True)
    )
    for begin in range(0, len(ids), _AT_ONCE):
        found = connection.execute(query, {"ids": ids[begin : begin + _AT_ONCE]}).all()
        connection.execute(
            sa.text(
                "UPDATE runs SET machine = :machine, commit_id = :commit_id, dirty = :dirty WHERE id = :id"
            ).bindparams(sa.bindparam("dirty", type_=sa.Boolean)),
            [{"id": run_id} | _facts(record) for run_id, _, record in found],
        )
        suites = [
            {"suite": name, "run_id": run_id}
            for run_id, names, _ in found
            for name in dict.fromkeys(_names(names))
        ]
        if suites:
            connection.execute(
                sa.text("INSERT INTO run_suites (suite, run_id) VALUES (:suite, :run_id)"), suites
            )


def _facts(record: str) -> dict[str, Any]:
    """A record that another program damaged has no facts; reading its run says so."""
    environment = _part(_read(record), "environment")
    repository = _part(environment, "repository")
    commit, dirty = repository.get("commit"), repository.get("dirty")
    machine = _part(environment, "host").get("hostname")
    return {
        "machine": machine if isinstance(machine, str) else "",
        "commit_id": commit if isinstance(commit, str) else None,
        "dirty": dirty if isinstance(dirty, bool) else None,
    }


def _names(suites: str) -> list[str]:
    """None where the list is damaged."""
    listed = _read(suites)
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def _part(whole: Any, name: str) -> dict[str, Any]:
    """Empty where there is nothing, or something else."""
    part = whole.get(name) if isinstance(whole, dict) else None
    return part if isinstance(part, dict) else {}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError, TypeError):
        return None
