"""Fresh interpreters: what is ours and torch's is imported before the current folder is searched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_ROOT = str(Path(__file__).parents[2])


def interpreter(code: str, *arguments: int) -> list[str]:
    """The command of one that finds stepmark where this process has it. In the current folder there may be a
    stepmark.py or a random.py, which are not ours and not torch's."""
    found = f"import sys; sys.path.append({_ROOT!r}); {code}"
    return [sys.executable, "-P", "-c", found, *map(str, arguments)]


def search_current_folder() -> None:
    """For bench files, once all that stepmark and torch are made of has been imported."""
    if not os.environ.get("PYTHONSAFEPATH") and "" not in sys.path:
        sys.path.insert(0, "")
