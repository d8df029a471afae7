"""The first tables: runs with their cases, solo trials, launches, lanes and samples."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_runs()
    _create_solos()
    _create_launches()


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("started", sa.Double, nullable=False),
        sa.Column("finished", sa.Double),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("load_end", sa.Text),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("stepmark", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("suites", sa.Text, nullable=False),
        sa.Column("num_cases", sa.Integer, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_started", "runs", ["started"])
    op.create_table(
        "cases",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "position", name="pk_cases"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_cases_runs"),
    )


def _create_solos() -> None:
    op.create_table(
        "solo_trials",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_solo_trials"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_solo_trials_runs"),
    )
    op.create_index("ix_solo_trials_run_id_id", "solo_trials", ["run_id", "id"])
    op.create_table(
        "solo_samples",
        sa.Column("solo_id", sa.Integer, nullable=False),
        *_sample_columns(),
        sa.PrimaryKeyConstraint("solo_id", "position", name="pk_solo_samples"),
        sa.ForeignKeyConstraint(["solo_id"], ["solo_trials.id"], name="fk_solo_samples_solo_trials"),
    )


def _create_launches() -> None:
    op.create_table(
        "launches",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("cell_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("round_orders", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_launches"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_launches_runs"),
        sa.UniqueConstraint("run_id", "cell_id", "number", name="uq_launches_run_id_cell_id_number"),
    )
    op.create_index("ix_launches_run_id_id", "launches", ["run_id", "id"])
    op.create_table(
        "lanes",
        sa.Column("launch_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("variant", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("warmup", sa.LargeBinary),
        sa.Column("rounds", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("launch_id", "position", name="pk_lanes"),
        sa.ForeignKeyConstraint(["launch_id"], ["launches.id"], name="fk_lanes_launches"),
    )
    op.create_table(
        "samples",
        sa.Column("launch_id", sa.Integer, nullable=False),
        sa.Column("lane", sa.Integer, nullable=False),
        *_sample_columns(),
        sa.PrimaryKeyConstraint("launch_id", "lane", "position", name="pk_samples"),
        sa.ForeignKeyConstraint(
            ["launch_id", "lane"], ["lanes.launch_id", "lanes.position"], name="fk_samples_lanes"
        ),
    )


def _sample_columns() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("nanoseconds", sa.LargeBinary, nullable=False),
    )
