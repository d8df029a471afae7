"""Ceilings: the rates that a machine reached."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "ceilings",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("device", sa.Text, nullable=False),
        sa.Column("threads", sa.Integer, nullable=False),
        sa.Column("torch", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ceilings"),
    )
    op.create_index(
        "ix_ceilings_host_device_threads_torch", "ceilings", ["host", "device", "threads", "torch"]
    )
