"""Bench files of a run: whether they still say what they said when it began.

Every worker imports them anew. Launches before a change and after it would be replications of two things.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stepmark.errors import BenchFileError
from stepmark.records.source import FileSource, Source


class BenchFiles:
    """As they are when this is made."""

    def __init__(self, sources: Iterable[Source]) -> None:
        paths = [Path(source.path) for source in sources if isinstance(source, FileSource)]
        self._texts = {path: _text(path) for path in paths}

    def refuse_change(self) -> None:
        """Raise where one is different now, or gone."""
        for path, text in self._texts.items():
            if _text(path) != text:
                raise BenchFileError(
                    f"{path.name} was changed, moved or deleted while it was measured",
                    remedy="put it back and stepmark run --resume latest goes on, or start a new run",
                )


def _text(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
