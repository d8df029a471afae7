"""Upkeep: a thread that summarizes finished runs which are not yet, so that lists and histories know them."""

from __future__ import annotations

import logging
from threading import Event, Thread

from stepmark.errors import StepmarkError
from stepmark.keeping import refresh
from stepmark.store.store import Store

LOG = logging.getLogger("stepmark.web")
BATCH = 5
"""Runs summarized before others may go on."""
PAUSE = 0.02
"""Seconds between batches: readers come first."""
LOOK_AGAIN = 10.0
"""Seconds after which runs that other processes finished are noticed."""


class Upkeep:
    """Begins with `start`, ends with `stop`; a store that cannot be written to is left as it is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = Event()
        self._thread = Thread(target=self._work, name="stepmark upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            try:
                done = refresh(self._store, limit=BATCH)
            except StepmarkError as error:
                LOG.warning("runs are not summarized: %s", error.problem)
                return
            pause = PAUSE if done else LOOK_AGAIN
