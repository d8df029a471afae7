"""A sheet: lines that are laid out only when a console says how wide it is."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from rich.console import Console, ConsoleOptions
from rich.text import Text

from stepmark.report.page import MAX_WIDTH, Page


class Sheet:
    """A rich renderable: `console.print(sheet)`."""

    def __init__(self, lay_out: Callable[[Page], list[Text]]) -> None:
        self._lay_out = lay_out

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        page = Page(width=min(options.max_width, MAX_WIDTH), ascii_only=options.ascii_only)
        for text in self._lay_out(page):
            if text.cell_len > options.max_width:
                # The console would crop it, and nothing may be lost: continue on the next line.
                text.no_wrap, text.overflow = False, "fold"
            yield text

    def text(self, *, width: int = 80) -> str:
        """As plain text, without colours."""
        file = io.StringIO()
        Console(file=file, width=width, height=100, color_system=None, legacy_windows=False).print(self)
        return file.getvalue()
