"""What memory tensors take: what autograd keeps, and the most that a step had at one time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate

import torch
from torch import Tensor


@contextmanager
def saved_storages() -> Iterator[dict[int, torch.UntypedStorage]]:
    """Storages that autograd keeps for backward while this is open, by address; each counts once."""
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield kept


def peak_bytes(action: Callable[[], object]) -> int:
    """The most that an action had allocated on the CPU at one time, by torch's profiler."""
    gc.collect()  # or what is thrown away during the action would count against it
    with torch.profiler.profile(profile_memory=True) as profile:
        action()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return int(max(accumulate(changes)))
