"""The archive: a store as the application reads it, with references resolved and rendered answers kept."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

from stepmark.errors import UsageError
from stepmark.keeping import case_history
from stepmark.pipeline import judged
from stepmark.records.history import CaseHistory
from stepmark.records.run import Judgement, Recording
from stepmark.store.head import RunHead
from stepmark.store.store import Store
from stepmark.web.cache import ByteCache
from stepmark.web.problems import Refused
from stepmark.web.progress import Progress, progress_of, stamp_of

MAX_BYTES = 32 * 2**20
"""Of rendered answers: some thirty reports of a usual run, ten of the largest."""


class JudgedRun(NamedTuple):
    """A run with what was concluded from it."""

    recording: Recording
    judgement: Judgement


class Archive:
    """Everything that pages and API read. Runs are judged when they are asked for, and what was made of them
    is kept; a run in progress is judged anew when it has grown."""

    def __init__(self, store: Store, *, max_bytes: int = MAX_BYTES) -> None:
        self.store = store
        self._cache = ByteCache(max_bytes=max_bytes)

    def find(self, reference: str) -> str:
        """The id of the run that is meant; what cannot be found is a 404, as is what no store is asked."""
        if "\0" in reference:
            raise Refused(HTTPStatus.NOT_FOUND, "the name of a run has no zero byte", remedy="see /api/runs")
        try:
            return self.store.resolve(reference)
        except UsageError as error:
            raise Refused(HTTPStatus.NOT_FOUND, error.problem, remedy=error.remedy) from None

    def head(self, run_id: str) -> RunHead:
        """The run's line in the list."""
        return self.store.head(run_id)

    def progress(self, run_id: str) -> Progress:
        return progress_of(self.head(run_id), self.store.run(run_id))

    def judged(self, run_id: str) -> JudgedRun:
        """Read and judged now."""
        recording = self.store.load(run_id)
        return JudgedRun(recording, judged(recording))

    def history(self, case_id: str, *, phase: str | None, machine: str | None) -> CaseHistory:
        """Of a case, its primary phase if none is named; one that no run has is a 404."""
        try:
            return case_history(self.store, case_id, phase=phase, machine=machine)
        except UsageError as error:
            raise Refused(HTTPStatus.NOT_FOUND, error.problem, remedy=error.remedy) from None

    def answer(self, kind: str, run_id: str, make: Callable[[JudgedRun], bytes]) -> bytes:
        """What `make` makes of a run, kept until the run changes."""
        key = (kind, run_id, stamp_of(self.head(run_id)))
        return self._cache.answer(key, lambda: make(self.judged(run_id)))

    def rendered(self, key: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        """What `make` makes, kept under a key that names everything it depends on."""
        return self._cache.answer(key, make)
