"""torch's compiler for lanes that share a process: together they have the room that each would have alone.

torch counts how often a function was compiled anew, wraps all modules of its own in the same one, and from
the ninth on runs them as they were written, with a line in its log. Alone a case has eight of these; of nine
compiled variants in a launch one would not be compiled, and its time be called a compiled one's. A second
limit, of 256 in all, ends it whatever the first allows: both are raised. The room is one for all: a lane that
is compiled over and over has the others' too, where alone it would stop after eight.
"""

from __future__ import annotations

import sys

_LIMITS = ("cache_size_limit", "accumulated_cache_size_limit")
"""As torch 2.6 calls them; later ones also recompile_limit and accumulated_recompile_limit."""
_room: dict[str, int] = {}
"""What torch allows one process, by limit, once a lane of this one was built with the compiler there."""


def make_room() -> None:
    """After a lane was built, whether or not it compiles: all but the first raise what torch allows by as
    much. Whoever compiles has imported the compiler by then."""
    if "torch._dynamo" not in sys.modules:
        return
    from torch._dynamo import config

    for limit in _LIMITS:
        allowed = getattr(config, limit)
        if limit in _room:
            setattr(config, limit, allowed + _room[limit])
        else:
            _room[limit] = allowed
