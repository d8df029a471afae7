"""The autograd graph behind a tensor: its nodes, its leaves, and what it keeps for the backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

ACCUMULATE = "AccumulateGrad"
_RAW = "_raw_saved_"


def nodes_behind(tensors: Iterable[torch.Tensor]) -> list[Any]:
    """Every node that a backward pass from here would visit."""
    waiting = [tensor.grad_fn for tensor in tensors]
    seen: dict[Any, None] = {}
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen[node] = None
            waiting += [following for following, _ in node.next_functions]
    return list(seen)


def leaves_among(nodes: Iterable[Any]) -> list[torch.Tensor]:
    """Tensors into which a pass over the nodes accumulates gradients."""
    return [node.variable for node in nodes if type(node).__name__ == ACCUMULATE]


def saved_by(nodes: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Tensors that the nodes keep. What hooks keep (checkpoints, offloading) is theirs: unpacking it could
    compute it anew."""
    for node in nodes:
        for name in dir(node):
            if name.startswith(_RAW):
                yield from _unhooked(node, name)
        if hasattr(type(node), "saved_tensors"):  # asking the node itself would unpack them
            yield from _attributes(node)


def _unhooked(node: Any, name: str) -> Iterator[torch.Tensor]:
    try:
        raw = getattr(node, name)
    except RuntimeError:  # freed by a backward pass
        return
    for saved in raw if isinstance(raw, list | tuple) else (raw,):
        tensor = getattr(saved, "data", None)
        if getattr(saved, "unpack_hook", None) is None and isinstance(tensor, torch.Tensor):
            yield tensor


def _attributes(node: Any) -> Iterator[torch.Tensor]:
    """A Function of one's own may keep tensors on its context."""
    for value in getattr(node, "__dict__", {}).values():
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, torch.Tensor):
                yield one
