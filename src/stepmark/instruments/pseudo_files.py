"""Pseudo files: /proc and /sys below a root, where anything may be missing or forbidden."""

from __future__ import annotations

from pathlib import Path


class PseudoFiles:
    """Reads small files; None, or nothing, where one cannot be read."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def text(self, path: str) -> str | None:
        """Stripped."""
        try:
            return (self._root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """The whole number that the file holds."""
        return _whole(self.text(path))

    def paths(self, pattern: str) -> list[str]:
        """Those that match, sorted, fit for the other verbs."""
        try:
            return sorted(str(path.relative_to(self._root)) for path in self._root.glob(pattern))
        except OSError:
            return []

    def texts(self, pattern: str) -> list[str]:
        """What can be read of the files that match."""
        return [text for path in self.paths(pattern) if (text := self.text(path)) is not None]

    def numbers(self, pattern: str) -> list[int]:
        """The whole numbers among them."""
        return [number for text in self.texts(pattern) if (number := _whole(text)) is not None]

    def fields(self, path: str) -> dict[str, str]:
        """A file of `name value` or `name: value` lines."""
        lines = (self.text(path) or "").splitlines()
        pairs = (line.replace(":", " ", 1).split(maxsplit=1) for line in lines)
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}

    def exists(self, path: str) -> bool:
        return (self._root / path).exists()


def _whole(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
