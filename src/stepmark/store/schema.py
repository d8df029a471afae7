"""The tables of the store, as the code reads and writes them; the migrations build the same ones.

runs ─┬─ run_records, run_suites, cases
      ├─ solo_trials ── solo_samples
      ├─ launches ── lanes ── samples
      ├─ baselines
      └─ run_summaries ── case_summaries ── histories
imports
ceilings

Rows are only ever added; of a run, status, finished, load_end and owner change as it goes on. Summaries
alone are derived, and may be thrown away: they are made again. A `record` is the JSON of what is only read
whole, a BLOB is packed little-endian int64. Columns beside them are there to be queried.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

REVISION = "0007"
"""What the migrations lead to; a test holds it against them."""
REVISION_TABLE = "stepmark_schema"
"""A name of our own: another program's Alembic table in the same database is not ours."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
    }
)

# What a list of runs shows and searches, and nothing else: ten thousand of these rows are read in an instant.
runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("started", Double, nullable=False, index=True),
    Column("finished", Double),
    Column("status", Text, nullable=False),
    Column("load_end", Text),
    Column("format", Integer, nullable=False),
    Column("stepmark", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("suites", Text, nullable=False),
    Column("num_cases", Integer, nullable=False),
    Column("machine", Text, nullable=False),
    Column("commit_id", Text),
    Column("dirty", Boolean),
    Column("branch", Text),
    Column("origin", Text),
    Column("owner", Text),
    Index(None, "machine", "started"),
    Index(None, "branch", "started"),
)

run_records = Table(
    "run_records",
    metadata,
    Column("run_id", Text, ForeignKey(runs.c.id), primary_key=True),
    Column("record", Text, nullable=False),
)

run_suites = Table(
    "run_suites",
    metadata,
    Column("suite", Text, primary_key=True),
    Column("run_id", Text, ForeignKey(runs.c.id), primary_key=True),
)

cases = Table(
    "cases",
    metadata,
    Column("run_id", Text, ForeignKey(runs.c.id), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("case_id", Text, nullable=False),
    Column("record", Text, nullable=False),
)

# Ids of trials grow in the order of appending. They start with the run in an index, so that a run is read in
# that order without sorting.
solo_trials = Table(
    "solo_trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Text, ForeignKey(runs.c.id), nullable=False),
    Column("case_id", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index(None, "run_id", "id"),
)

solo_samples = Table(
    "solo_samples",
    metadata,
    Column("solo_id", Integer, ForeignKey(solo_trials.c.id), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("iterations", Integer, nullable=False),
    Column("nanoseconds", LargeBinary, nullable=False),
    Column("host", LargeBinary),
    Column("lag", LargeBinary),
)

# A launch's record names each order of its lanes once, and round_orders says which one each round ran: 200
# rounds of two lanes come in two orders. Launches are read in a third of the time it takes to spell all out.
launches = Table(
    "launches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Text, ForeignKey(runs.c.id), nullable=False),
    Column("cell_id", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("record", Text, nullable=False),
    Column("round_orders", LargeBinary, nullable=False),
    Index(None, "run_id", "id"),
    UniqueConstraint("run_id", "cell_id", "number"),
)

lanes = Table(
    "lanes",
    metadata,
    Column("launch_id", Integer, ForeignKey(launches.c.id), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("variant", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("warmup", LargeBinary),
    Column("rounds", LargeBinary, nullable=False),
)

samples = Table(
    "samples",
    metadata,
    Column("launch_id", Integer, primary_key=True),
    Column("lane", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("iterations", Integer, nullable=False),
    Column("nanoseconds", LargeBinary, nullable=False),
    Column("host", LargeBinary),
    Column("lag", LargeBinary),
    ForeignKeyConstraint(["launch_id", "lane"], ["lanes.launch_id", "lanes.position"]),
)

# The newest row of a name counts; one without a run says that the name was given up.
baselines = Table(
    "baselines",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("run_id", Text, ForeignKey(runs.c.id)),
    Column("saved", Double, nullable=False),
    Index(None, "name", "id"),
)

# Documents of other tools; they belong to no run.
imports = Table(
    "imports",
    metadata,
    Column("id", Text, primary_key=True),
    Column("imported", Double, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("record", Text, nullable=False),
)

# Of machines, whichever runs used them; every measurement is kept.
ceilings = Table(
    "ceilings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("host", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("threads", Integer, nullable=False),
    Column("torch", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index(None, "host", "device", "threads", "torch"),
)

# Derived, with the version of the rules that made them; a run without a row here is yet to be summarized.
run_summaries = Table(
    "run_summaries",
    metadata,
    Column("run_id", Text, ForeignKey(runs.c.id), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("conditions", Text, ForeignKey("conditions.key"), nullable=False),
    Column("code", Text),
    Column("verdicts", Text, nullable=False),
    Column("num_failed", Integer, nullable=False),
)

conditions = Table(
    "conditions",
    metadata,
    Column("key", Text, primary_key=True),
    Column("facts", Text, nullable=False),
)

# One row for each phase of a case, whichever runs measured it. The primary phase is the one that the verdict
# was about when the case was first seen.
histories = Table(
    "histories",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("case_id", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("is_primary", Boolean, nullable=False),
    UniqueConstraint("case_id", "phase"),
)

# In SQLite the table is its primary key: a history lies in one piece on the disk.
case_summaries = Table(
    "case_summaries",
    metadata,
    Column("history_id", Integer, ForeignKey(histories.c.id), primary_key=True),
    Column("run_id", Text, ForeignKey(run_summaries.c.run_id), primary_key=True),
    Column("level", Double, nullable=False),
    Column("level_low", Double, nullable=False),
    Column("level_high", Double, nullable=False),
    Column("level_confidence", Double, nullable=False),
    Column("level_method", Text, nullable=False),
    Column("level_launches", Integer, nullable=False),
    Column("error", Double, nullable=False),
    Column("ratio", Double),
    Column("ratio_low", Double),
    Column("ratio_high", Double),
    Column("ratio_confidence", Double),
    Column("ratio_method", Text),
    Column("ratio_launches", Integer),
    Column("verdict", Text),
    Index(None, "run_id"),
    sqlite_with_rowid=False,
)
