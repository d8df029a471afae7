"""Baselines: names of stored runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "baselines",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("saved", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_baselines"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_baselines_runs"),
    )
    op.create_index("ix_baselines_name_id", "baselines", ["name", "id"])
