"""A command to a lane in a process of its own: one byte over a socket, answered by one byte."""

from __future__ import annotations

from enum import IntEnum


class Command(IntEnum):
    """What the runner asks of a lane in a process of its own; each is answered by DONE or FAILED."""

    BUILD = 1
    WARM_UP = 2
    BLOCK = 3
    LEAVE = 4
    DONE = 5
    FAILED = 6
    BLOCK_AFTER_LEAD_IN = 7
    """An unclocked iteration, then a block."""
    RENEW = 8
    """Build the lane anew."""
    END = 9
    """All rounds are over."""
