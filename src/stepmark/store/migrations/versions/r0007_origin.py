"""Origin and owner: whether a run was measured into this store, and the process that measures it now."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("runs", sa.Column("origin", sa.Text))
    op.add_column("runs", sa.Column("owner", sa.Text))
