"""Run ids: short, and sorted by the time the run started."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Without 0, 1, i, l, o and u: an id is read aloud and typed."""
_LENGTH = 4
"""30^4 = 810 000: two runs that start in the same second on two machines hardly ever meet."""


def new_run_id(now: float, random: Random) -> str:
    """`20261115-091523-k3f9`; in UTC, because local time runs backwards once a year."""
    moment = datetime.fromtimestamp(now, tz=UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{''.join(random.choices(_ALPHABET, k=_LENGTH))}"
