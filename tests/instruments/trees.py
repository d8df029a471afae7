"""Trees of pseudo files, written from a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stepmark.instruments.pseudo_files import PseudoFiles


def plant(root: Path, texts: Mapping[str, str]) -> PseudoFiles:
    """Write the files below the root."""
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return PseudoFiles(root)
