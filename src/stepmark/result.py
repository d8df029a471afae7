"""A result: what `stepmark.run` hands back to a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepmark.errors import UsageError
from stepmark.pipeline import judged
from stepmark.records.estimate import Summary
from stepmark.records.finding import Finding
from stepmark.records.run import CaseJudgement, Judgement, Recording
from stepmark.records.settings import Policy
from stepmark.records.verdict import Verdict
from stepmark.report.formats import render

_FORMAT_OF_SUFFIX = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".txt": "table"}


class Result:
    """A run with its judgement."""

    def __init__(self, recording: Recording, policy: Policy | None = None) -> None:
        self.recording = recording
        self.judgement: Judgement = judged(recording, policy)

    @property
    def id(self) -> str:
        return self.recording.run.id

    @property
    def cases(self) -> tuple[CaseJudgement, ...]:
        """Every case with its outcome, estimates and verdicts."""
        return self.judgement.cases

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per case that is not a baseline: the verdict on its primary phase."""
        return tuple(case.verdict for case in self.cases if case.verdict is not None)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """Every phase of every measured case."""
        return tuple(summary for case in self.cases for summary in case.summaries)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.judgement.findings

    def render(self, format: str = "table") -> str:
        """The report as text."""
        return render(format, self.judgement, self.recording)

    def save(self, target: str | Path) -> None:
        """Write to a file by its ending (.json, .jsonl, .csv, .md, .txt), or copy the run into a store
        (.db, .sqlite, or a database URL)."""
        place = str(target)
        if "://" in place or place.endswith((".db", ".sqlite")):
            self._copy_to_store(place)
            return
        path = Path(target)
        if path.suffix not in _FORMAT_OF_SUFFIX:
            raise UsageError(
                f"'{path.name}' has an ending stepmark does not write",
                remedy=f"use one of: {', '.join([*_FORMAT_OF_SUFFIX, '.db'])}",
            )
        text = self.render(_FORMAT_OF_SUFFIX[path.suffix])
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}", remedy="name another file") from None

    def _copy_to_store(self, place: str) -> None:
        from stepmark.store.location import store_url
        from stepmark.store.store import Store

        with Store.open(store_url(place)) as store:
            store.add_recording(self.recording)

    def to_frame(self) -> Any:
        """One row per case and phase as a pandas DataFrame; needs pandas."""
        try:
            import pandas
        except ImportError:
            raise UsageError("to_frame needs pandas", remedy="pip install 'stepmark[frame]'") from None
        from io import StringIO

        return pandas.read_csv(StringIO(self.render("csv")))

    def __repr__(self) -> str:
        return f"<Result {self.id}: {len(self.cases)} cases, {len(self.verdicts)} verdicts>"
