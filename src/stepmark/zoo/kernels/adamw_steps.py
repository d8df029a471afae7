"""Which parameters of an optimizer one launch can step, with their state; the rest is handed back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.adamw import DTYPES, Entry, FusedAdam, Launch, Settings
from stepmark.zoo.kernels.backend import Backend, resolve
from stepmark.zoo.kernels.dispatch import is_capturing

Group = dict[str, Any]
State = Mapping[Tensor, dict[str, Any]]
Rest = list[tuple[Group, Tensor]]
MOMENTS = ("exp_avg", "exp_avg_sq")
MOST_TABLES = 8
"""Kept: gradients are made anew in every step, and come to lie in one of few places."""


class Prepared(NamedTuple):
    """A step's launches, the parameters they change with their state, and those they leave."""

    launches: list[Launch]
    changed: list[Tensor]
    states: list[tuple[Tensor, Tensor, Tensor]]
    """Both moments and the count; gradients are not kept alive."""
    rest: Rest

    def has_state_of(self, state: State) -> bool:
        """Whether the tables lead to it; who resets a parameter gives it another."""
        for parameter, (first, second, steps) in zip(self.changed, self.states, strict=True):
            own = state.get(parameter)
            if own is None or own.get("step") is not steps:
                return False
            if own.get("exp_avg") is not first or own.get("exp_avg_sq") is not second:
                return False
        return True


class FusedSteps:
    """The kernel's part of an optimizer's steps, on the device of its first parameter."""

    def __init__(self, backend: Backend, *, decoupled: bool, state_dtype: torch.dtype | None) -> None:
        self.backend, self.decoupled, self.state_dtype = backend, decoupled, state_dtype
        self._fused: FusedAdam | None = None
        self._prepared: dict[tuple[int, ...], Prepared] = {}
        self._captured: list[Prepared] = []

    def step(self, groups: list[Group], state: State) -> Rest:
        """Steps what it can; the parameters that remain to be stepped."""
        leading = next((one for group in groups for one in group["params"] if one.grad is not None), None)
        if leading is None or torch.compiler.is_compiling() or not resolve(self.backend, leading):
            return _with_gradients(groups)
        if self._fused is None:
            if is_capturing():
                raise RuntimeError("an optimizer's first step makes its state: take it before a capture")
            self._fused = FusedAdam(leading.device, decoupled=self.decoupled)
        settings = [_settings(group, leading.device) for group in groups]
        self._fused.write(settings)
        addresses = _addresses(groups, settings)
        prepared = self._prepared.get(addresses)
        if prepared is None or not prepared.has_state_of(state):
            prepared = self._prepare(self._fused, groups, settings, state)
        self._keep(addresses, prepared)
        self._fused.run(prepared.launches)
        # Whoever keeps something derived from a parameter asks its version.
        torch.autograd.graph.increment_version(prepared.changed)
        return prepared.rest

    def write_settings(self, groups: list[Group]) -> None:
        """For replays of a captured step: it reads the settings from the device."""
        if self._fused is not None:
            self._fused.write([_settings(group, self._fused.device) for group in groups])

    def _keep(self, addresses: tuple[int, ...], prepared: Prepared) -> None:
        if is_capturing():
            # A graph reads its tables as long as it lives; outside of it, copies it made have not happened.
            self._captured.append(prepared)
        elif self._prepared.get(addresses) is not prepared:
            while len(self._prepared) >= MOST_TABLES:
                del self._prepared[next(iter(self._prepared))]
            self._prepared[addresses] = prepared

    def _prepare(
        self, fused: FusedAdam, groups: list[Group], settings: list[Settings], state: State
    ) -> Prepared:
        entries: list[Entry] = []
        rest: Rest = []
        for index, group in enumerate(groups):
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if _is_stepped(parameter, fused.device) and _lies_beside(parameter, state[parameter]):
                    entries.append(self._entry(parameter, state[parameter], index))
                else:
                    rest.append((group, parameter))
        changed = [entry.parameter for entry in entries]
        states = [(entry.first, entry.second, entry.steps) for entry in entries]
        return Prepared(fused.prepare(entries, settings), changed, states, rest)

    def _entry(self, parameter: Tensor, state: dict[str, Any], group: int) -> Entry:
        if not state:
            if is_capturing():
                raise RuntimeError("a parameter's first step makes its state: take it before a capture")
            state["step"] = 0
            for name in MOMENTS:
                state[name] = torch.zeros_like(parameter, dtype=self.state_dtype or parameter.dtype)
        for name in MOMENTS:  # loaded ones lie as the parameter did that they were saved of
            state[name] = state[name].contiguous()
        steps, device = state["step"], parameter.device
        if not (isinstance(steps, Tensor) and steps.dtype is torch.float32 and steps.device == device):
            state["step"] = torch.full((), float(steps), dtype=torch.float32, device=device)
        assert parameter.grad is not None
        return Entry(parameter, parameter.grad, state["exp_avg"], state["exp_avg_sq"], state["step"], group)


def _is_stepped(parameter: Tensor, device: torch.device) -> bool:
    """Whether the kernel takes it: in float32 or half, where all its numbers lie in one row."""
    gradient = parameter.grad
    return (
        gradient is not None
        and not gradient.is_sparse
        and parameter.dtype in DTYPES
        and gradient.dtype is parameter.dtype
        and parameter.device == device
        and parameter.is_contiguous()
        and gradient.is_contiguous()
    )


def _lies_beside(parameter: Tensor, state: dict[str, Any]) -> bool:
    """Whether its moments, if it has some, were moved where it was."""
    return all(state[name].device == parameter.device for name in MOMENTS if name in state)


def _addresses(groups: list[Group], settings: list[Settings]) -> tuple[int, ...]:
    """What decides, with the state, whether tables are still right. A gradient that the kernel does not take
    stands apart, lest one that it takes should come to lie at its address; a sparse one has none."""
    found = [one.lr.data_ptr() if isinstance(one.lr, Tensor) else 0 for one in settings]
    for group in groups:
        for parameter in group["params"]:
            found.append(parameter.data_ptr())
            gradient = parameter.grad
            if gradient is None or gradient.is_sparse:
                found.append(0 if gradient is None else -1)
            else:
                is_taken = gradient.is_contiguous() and gradient.dtype is parameter.dtype
                found.append(gradient.data_ptr() if is_taken else -gradient.data_ptr())
    return tuple(found)


def _settings(group: Group, device: torch.device) -> Settings:
    lr = group["lr"]
    if isinstance(lr, Tensor) and not (lr.device == device and lr.dtype == torch.float32):
        lr = float(lr)
    return Settings(lr, group["betas"], group["eps"], group["weight_decay"])


def _with_gradients(groups: list[Group]) -> Rest:
    return [(group, one) for group in groups for one in group["params"] if one.grad is not None]
