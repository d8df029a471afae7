"""Device times: samples get the host's times and the lags of the device beside their nanoseconds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    for table in ("solo_samples", "samples"):
        op.add_column(table, sa.Column("host", sa.LargeBinary))
        op.add_column(table, sa.Column("lag", sa.LargeBinary))
