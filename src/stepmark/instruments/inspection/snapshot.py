"""The snapshot: everything that an inspected iteration may change, put back as it was afterwards."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from stepmark.instruments.inspection.storages import unrepeated
from stepmark.instruments.inspection.subject import Subject
from stepmark.instruments.torch_clock import TorchInstrument


class RandomState:
    """States of every generator that a step may draw from."""

    def __init__(self, device: torch.device) -> None:
        self._python = random.getstate()
        self._torch = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if device.type == "cuda" else []
        numpy: Any = sys.modules.get("numpy")
        self._numpy = numpy.random.get_state() if numpy else None

    def restore(self) -> None:
        random.setstate(self._python)
        torch.set_rng_state(self._torch)
        if self._cuda:
            torch.cuda.set_rng_state_all(self._cuda)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)


class Snapshot:
    """Values of parameters, buffers, inputs and optimizer state, modes, random generators, torch's flags."""

    def __init__(self, subject: Subject) -> None:
        self._values = [(tensor, _copied(tensor)) for tensor in _each_once(subject.own())]
        self._training = [(one, one.training) for top in subject.modules for one in top.modules()]
        self._flags: Mapping[str, str] = TorchInstrument().flags()
        self._random = RandomState(subject.device)

    def restore(self) -> None:
        with torch.no_grad():
            for tensor, values in self._values:
                if values is not None:
                    unrepeated(tensor.data).copy_(values)
        for module, training in self._training:
            module.training = training
        TorchInstrument().restore(self._flags)
        self._random.restore()


def _each_once(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def _copied(tensor: torch.Tensor) -> torch.Tensor | None:
    """None where values cannot be written back one by one."""
    return unrepeated(tensor.detach()).clone() if tensor.layout is torch.strided else None
