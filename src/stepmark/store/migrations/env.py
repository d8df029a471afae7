"""What Alembic runs: the migrations, on the connection and inside the transaction it is handed."""

from __future__ import annotations

from alembic import context

from stepmark.store.schema import REVISION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=REVISION_TABLE,
    render_as_batch=True,
)
context.run_migrations()
