"""Drawing: whether this Python can draw charts, asked before anything is measured for one."""

from __future__ import annotations

import sys

from stepmark.errors import UsageError


def check_drawing() -> None:
    """Altair reads its own docstrings when it is imported, and fails where there are none."""
    if sys.flags.optimize > 1:
        raise UsageError(
            "charts cannot be drawn by a Python that leaves docstrings out (-OO)",
            remedy="unset PYTHONOPTIMIZE, or set it to 1",
        )
