"""A neighbour that comes and goes: processes that spin for 1 to 8 s and rest for 1 to 8 s, till told to end.

    python benchmarks/verdicts/bursts.py SEED OWNER

spins on one core for as long as its parent has the process id OWNER. All burners of one neighbour have the
same seed, so they are busy at the same time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from random import Random

SHORTEST, LONGEST = 1.0, 8.0
BURNERS = 2
_GLANCE = 0.02
"""Seconds between two looks at whether the owner still lives."""


def schedule(seed: str) -> Iterator[tuple[bool, float]]:
    """Busy or not, and for how many seconds, without end."""
    random = Random(seed)
    first = random.random() < 0.5
    for busy in cycle((first, not first)):
        yield busy, random.uniform(SHORTEST, LONGEST)


@contextmanager
def bursts(seed: str) -> Iterator[None]:
    """The neighbour lives as long as the block, on the cores of this process."""
    burners: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(BURNERS):
            command = [sys.executable, "-S", __file__, seed, str(os.getpid())]
            burners.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
        yield
    finally:
        for burner in burners:
            burner.kill()
        for burner in burners:
            burner.wait()


def _burn(seed: str, owner: int) -> None:
    for busy, seconds in schedule(seed):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.getppid() != owner:
                return
            glance = min(end, time.monotonic() + _GLANCE)
            if busy:
                while time.monotonic() < glance:
                    pass
            else:
                time.sleep(_GLANCE)


if __name__ == "__main__":
    _burn(sys.argv[1], int(sys.argv[2]))
