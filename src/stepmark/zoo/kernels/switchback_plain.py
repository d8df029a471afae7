"""Calls of a SwitchBack layer that plain products compute, remembered: the next one asks nothing else.

Choosing again takes 50 to 150 µs of the host of an H200, where a small nn.Linear's passes take 200: a layer
that has chosen plain products would be slower than nn.Linear for having chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import is_for_a_graph

MOST_CALLS = 4096
"""That are remembered; a layer that has seen more shapes asks again."""


class PlainCalls:
    """Of one layer. Empty after a copy or a pickle. Graphs have choices of their own, and under autocast
    tensors are not what they seem: neither is remembered."""

    def __init__(self) -> None:
        self._known: set[Hashable] = set()

    def __reduce__(self) -> tuple[type[PlainCalls], tuple[()]]:
        return PlainCalls, ()

    def has(self, x: Tensor, weight: Tensor, bias: Tensor | None, settings: Hashable) -> bool:
        """Whether one like this was remembered."""
        if not self._known or _is_special():
            return False
        return _key(x, weight, bias, settings) in self._known

    def remembering(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, settings: Hashable
    ) -> Callable[[], None] | None:
        """What to call when plain products are chosen for this call."""
        return None if _is_special() else partial(self._remember, x, weight, bias, settings)

    def _remember(self, *call: Any) -> None:
        if len(self._known) >= MOST_CALLS:
            self._known.clear()
        self._known.add(_key(*call))


def _is_special() -> bool:
    return torch.is_autocast_enabled("cuda") or is_for_a_graph()


def _key(x: Tensor, weight: Tensor, bias: Tensor | None, settings: Hashable) -> Hashable:
    of_bias = None if bias is None else bias.requires_grad
    grads = (torch.is_grad_enabled(), x.requires_grad, weight.requires_grad, of_bias)
    return x.shape, x.dtype, weight.shape, weight.dtype, x.get_device(), weight.get_device(), grads, settings
