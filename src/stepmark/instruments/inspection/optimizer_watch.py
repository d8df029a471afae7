"""The optimizer watch: what optimizers hold, and which of it has other values after they stepped."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from stepmark.instruments.inspection.impression import impression
from stepmark.instruments.inspection.storages import storages_of
from stepmark.records.inspection import OptimizerFacts


class OptimizerWatch:
    """Hooks on every optimizer of torch, and the parameters themselves for others."""

    def __init__(self, parameters: Mapping[str, torch.Tensor], declared: Any) -> None:
        self._own = {storage._cdata for one in parameters.values() for storage in storages_of(one)}
        self._trainable = [one for one in parameters.values() if one.requires_grad]
        self._declared = declared
        self._before: dict[int, tuple[torch.Tensor, object]] = {}
        self._with_gradient: set[int] = set()
        self._changed: set[int] = set()
        self._steps = 0

    @contextmanager
    def iteration(self) -> Iterator[None]:
        handles = [
            register_optimizer_step_pre_hook(lambda optimizer, *_: self._stepping(_held_by(optimizer))),
            register_optimizer_step_post_hook(lambda optimizer, *_: self._stepped(_held_by(optimizer))),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @contextmanager
    def declared_step(self) -> Iterator[None]:
        """Around the phase of an optimizer that the case declares: one that is not torch's runs no hooks."""
        if isinstance(self._declared, torch.optim.Optimizer):
            yield
            return
        steps = self._steps
        self._stepping(self._trainable)
        yield
        if self._steps == steps:
            self._stepped(self._trainable)

    @property
    def in_doubt(self) -> bool:
        """Whether gradients were there and nothing has changed yet: an optimizer may gather several passes
        before it updates."""
        return self._steps > 0 and bool(self._with_gradient) and not self._changed

    def passed_by(self, reached: Iterable[torch.Tensor]) -> list[torch.Tensor]:
        """Those that no optimizer holds. Of an optimizer that is not torch's, and of one that holds copies of
        the step's weights, nobody knows what it updates."""
        is_torchs = self._declared is None or isinstance(self._declared, torch.optim.Optimizer)
        if not self._steps or not is_torchs or self._foreign():
            return []
        held = [tensor for tensor, _ in self._before.values()]
        left = _not_among(reached, held)
        # One of several optimizers may step now and then: all that live are asked, where it matters.
        return (
            _not_among(left, [one for each in _living_optimizers() for one in _held_by(each)]) if left else []
        )

    def facts(self, passed_by: Iterable[str] = ()) -> OptimizerFacts | None:
        if not self._steps and self._declared is None:
            return None
        return OptimizerFacts(
            steps=self._steps,
            parameters=len(self._before),
            foreign=len(self._foreign()),
            with_gradient=len(self._with_gradient),
            changed=len(self._changed),
            passed_by=tuple(passed_by),
        )

    def _foreign(self) -> list[torch.Tensor]:
        """None where the step has no parameters that are known."""
        held = [tensor for tensor, _ in self._before.values()] if self._own else []
        return [one for one in held if not any(key._cdata in self._own for key in storages_of(one))]

    def _stepping(self, held: list[torch.Tensor]) -> None:
        for tensor in held:
            if id(tensor) not in self._before:
                self._before[id(tensor)] = (tensor, impression(tensor))
            if tensor.grad is not None:
                self._with_gradient.add(id(tensor))

    def _stepped(self, held: list[torch.Tensor]) -> None:
        self._steps += 1
        for tensor in held:
            known = self._before.get(id(tensor))
            if known is not None and id(tensor) not in self._changed and impression(tensor) != known[1]:
                self._changed.add(id(tensor))


def _not_among(tensors: Iterable[torch.Tensor], others: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """By where they lie."""
    known = {storage._cdata for one in others for storage in storages_of(one)}
    return [one for one in tensors if not any(key._cdata in known for key in storages_of(one))]


def _living_optimizers() -> list[torch.optim.Optimizer]:
    return [one for one in gc.get_objects() if issubclass(type(one), torch.optim.Optimizer)]


def _held_by(optimizer: Any) -> list[torch.Tensor]:
    return [
        one for group in optimizer.param_groups for one in group["params"] if isinstance(one, torch.Tensor)
    ]
