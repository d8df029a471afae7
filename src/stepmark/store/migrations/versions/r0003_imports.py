"""Imports: documents of other tools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("imported", sa.Double, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_imports"),
    )
    op.create_index("ix_imports_imported", "imports", ["imported"])
