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
"""Seconds after which runs that others finished are noticed, and a store that refused is asked again."""


class Upkeep:
    """Begins with `start`, ends with `stop`; what goes wrong in between is said once, and tried again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = Event()
        self._said = ""
        self._thread = Thread(target=self._work, name="stepmark upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            pause = PAUSE if self._some() else LOOK_AGAIN

    def _some(self) -> bool:
        """Whether there may be more."""
        try:
            done = refresh(self._store, limit=BATCH)
        except StepmarkError as error:
            self._say(error.problem)
            return False
        except Exception as error:  # out of memory, or a mistake of ours: neither may end the thread
            self._say(f"{type(error).__name__}: {error}", error)
            return False
        self._said = ""
        return done > 0

    def _say(self, problem: str, error: Exception | None = None) -> None:
        if problem != self._said:
            LOG.warning("runs are not summarized: %s", problem, exc_info=error)
        self._said = problem
