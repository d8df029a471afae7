"""Waits: the places at which a step makes the host wait for the accelerator.

torch warns of its own operations that wait (`.item()`, `.cpu()`, nonzero) when it is asked to; explicit waits
are seen by standing in for the functions that people call. Waits of somebody else's library are not seen.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import torch

_WARNING = "called a synchronizing CUDA operation"
_INSPECTION = Path(__file__).parent
_EXPLICIT: tuple[tuple[Any, str], ...] = (
    (torch.cuda, "synchronize"),
    (torch.accelerator, "synchronize"),
    (torch.cuda.Stream, "synchronize"),
    (torch.cuda.Event, "synchronize"),
)


@contextmanager
def watched_waits(device: torch.device) -> Iterator[list[str]]:
    """Fills the list with the places of the waits inside, each once: `layer.py:12`. Empty on a CPU."""
    places: list[str] = []
    if device.type != "cuda":
        yield places
        return
    before = torch.cuda.get_sync_debug_mode()
    with waits_told() as told:
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield places
        finally:
            torch.cuda.set_sync_debug_mode(before)
    places += dict.fromkeys(told)


@contextmanager
def waits_told() -> Iterator[list[str]]:
    """The places of torch's warnings and of explicit waits, in no order."""
    told: list[str] = []
    with ExitStack() as stack:
        for owner, name in _EXPLICIT:
            wait = getattr(owner, name)
            setattr(owner, name, _telling(wait, told))
            stack.callback(setattr, owner, name, wait)
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        yield told
    warned = [each for each in caught if _WARNING in str(each.message) and not _is_ours(each.filename)]
    told += [_place(each.filename, each.lineno) for each in warned]


def _telling(wait: Callable[..., Any], told: list[str]) -> Callable[..., Any]:
    @wraps(wait)
    def waiting(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        told.append(_place(caller.f_code.co_filename, caller.f_lineno))
        return wait(*args, **kwargs)

    return waiting


def _is_ours(file: str) -> bool:
    """The inspection looks at parameters around an optimizer's step, which is no part of the step."""
    return Path(file).parent == _INSPECTION


def _place(file: str, line: int) -> str:
    return f"{Path(file).name}:{line}"
