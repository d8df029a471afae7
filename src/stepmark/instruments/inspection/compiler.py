"""The compiler: what torch's compiler did in this process, and how to set it aside for a while.

It is asked only where it has been imported: that takes seconds, and nobody can have compiled without it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from stepmark.records.inspection import CompilerFacts

_SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_MOST_REASONS = 3
_LONGEST = 120


class CompilerWatch:
    """Counts from its making on: other cases of the process may have compiled before."""

    def __init__(self) -> None:
        self._frames, self._breaks = _frames(), _breaks()

    def facts(self) -> CompilerFacts:
        breaks = _breaks() - self._breaks
        return CompilerFacts(
            frames=max(0, _frames() - self._frames),
            breaks=breaks.total(),
            reasons=tuple(
                reason.splitlines()[0][:_LONGEST] for reason, _ in breaks.most_common(_MOST_REASONS)
            ),
            disabled=_is_disabled(),
        )


def _counters(name: str) -> Counter[str]:
    """A missing counter must not come to be by asking: they are kept in a defaultdict."""
    counters: Mapping[str, Counter[str]] = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return Counter(counters[name]) if name in counters else Counter()


def _frames() -> int:
    return _counters("stats")["unique_graphs"]


def _breaks() -> Counter[str]:
    return _counters("graph_break")


def _is_disabled() -> bool:
    if any(os.environ.get(name) == "1" for name in _SWITCHES):
        return True
    config: Any = sys.modules.get("torch._dynamo.config")
    frame: Any = sys.modules.get("torch._dynamo.eval_frame")
    stance = getattr(getattr(frame, "_stance", None), "stance", "default")
    return bool(getattr(config, "disable", False)) or stance == "force_eager"


@contextmanager
def set_aside() -> Iterator[None]:
    """Compiled code runs as it was written: the compiler must never meet a mode, it would compile for it."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
