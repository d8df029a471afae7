"""The report as a file: where it goes, checked before anything is measured, and its path when it is there."""

from __future__ import annotations

import os
from pathlib import Path

from stepmark.cli.drawing import check_drawing
from stepmark.errors import UsageError
from stepmark.records.run import Judgement, Recording


def default_name(run_id: str) -> Path:
    """In the current folder."""
    return Path(f"stepmark-{run_id}.html")


def checked_html(named: str | None) -> Path | None:
    """The file that --html names, if its folder is there and it may be written."""
    if named is None:
        return None
    check_drawing()
    path = Path(named)
    if path.is_dir():
        raise UsageError(f"{named} is a folder", remedy=f"name a file in it: {path / 'report.html'}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", remedy="make it first, or name another")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path} cannot be written: Permission denied", remedy="name another file")
    return path


def write_html(judgement: Judgement, recording: Recording, path: Path) -> Path:
    """Write the report; the whole path of it, which a terminal can make a link of."""
    from stepmark.pages import make_page
    from stepmark.report.html.document import render_page

    text = render_page(make_page(judgement, recording))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", remedy="name another file") from error
    return path.resolve()
