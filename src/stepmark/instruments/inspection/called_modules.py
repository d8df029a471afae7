"""Called modules: which of them ran, and whether any ran as in training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.module import register_module_forward_pre_hook


class CalledModules:
    """The step's own modules, and others that a function holds."""

    def __init__(self, own: Sequence[nn.Module]) -> None:
        self._own = {id(one) for top in own for one in top.modules()}
        self._called: dict[int, nn.Module] = {}
        self._training = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        handle = register_module_forward_pre_hook(self._note)
        try:
            yield
        finally:
            handle.remove()

    def training(self) -> bool | None:
        """Nobody sets the mode of modules that only a function knows: of those, only the ones count that
        compute something else in training."""
        return self._training if self._called else None

    def _note(self, module: nn.Module, _: Any) -> None:
        self._called[id(module)] = module
        if module.training and (id(module) in self._own or _differs_in_training(module)):
            self._training = True


def _differs_in_training(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    return isinstance(module, _BatchNorm | nn.RReLU)
