"""Adam and AdamW: readable, one tensor at a time in the formulas' own steps; on a GPU all in one launch.

Shapes     p, g, m, v have the parameter's shape; t counts its updates from 1
Formulas   m = b1 m + (1 - b1) g                 v = b2 v + (1 - b2) g^2
           m^ = m / (1 - b1^t)                   v^ = v / (1 - b2^t)
           p = p - lr m^ / (sqrt(v^) + eps)
Decay      Adam   g = g + wd p before all else: the penalty passes through the moments
           AdamW  p = p - lr wd p - lr m^ / (sqrt(v^) + eps): it does not, hence "decoupled"
Which AdamW  Two orders are in print. This one takes decay and update both from the old p; so do torch and the
           published LoRA benchmark. The course handout (CS336) first updates, with
           alpha_t = lr sqrt(1 - b2^t) / (1 - b1^t) and p - alpha_t m / (sqrt(v) + eps), and then decays the
           new p. It differs by lr wd times the update, and in eps, which stands there beside the uncorrected
           root. The paper's algorithm 2 multiplies wd by the schedule alone, not by lr as well.
State      step, exp_avg, exp_avg_sq: torch's names, so that a state_dict moves between these and torch's.
           Moments have the parameter's dtype, as torch's do, if none is named. Settings that torch has and
           these have not are refused where they are on.
Backend    "torch" is the readable way. "triton", which "auto" takes on a GPU, computes in float32 and steps
           all dense parameters of the first one's device in one launch per dtype, from tables of addresses
           that are made anew when a tensor has moved. It can be captured in a CUDA graph, after one step that
           was not; replays count their steps, and read lr where it is a float32 tensor on the device.
Sources    Kingma & Ba, "Adam", arXiv 1412.6980, algorithm 1; Loshchilov & Hutter, "Decoupled Weight Decay
           Regularization", arXiv 1711.05101, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from stepmark.zoo.kernels.adamw_steps import FusedSteps
from stepmark.zoo.kernels.backend import Backend, check_backend

TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}
"""Largest error of an entry of a parameter after ten steps, against float64 with the same gradients, relative
to the largest entry. Half parameters are rounded at every step."""


class Adam(torch.optim.Optimizer):
    """Adam with L2 regularisation, as torch.optim.Adam. `state_dtype` keeps the moments, and computes, in
    another dtype than the parameters', float32 for half ones; `backend` as below."""

    _decoupled = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        state_dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        _check_settings(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        check_backend(backend)
        self.state_dtype, self.backend = state_dtype, backend
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Update every parameter that has a gradient: those a kernel takes at once, the others one by one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group, parameter in self._kernel().step(self.param_groups, self.state):
                self._update(parameter, _dense(parameter.grad), group)
        return loss

    def write_settings(self) -> None:
        """Hand lr, betas, eps and weight decay, where they changed, to steps that a CUDA graph holds. Plain
        steps do so themselves."""
        self._kernel().write_settings(self.param_groups)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        wide = parameter.to(self.state_dtype or parameter.dtype)
        gradient = self._decay(wide, gradient.to(wide.dtype), group)
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(wide)
            state["exp_avg_sq"] = torch.zeros_like(wide)
        # torch.optim keeps a tensor here; taken as a number, its state can be loaded.
        state["step"] = step = int(state["step"]) + 1
        first, second = state["exp_avg"], state["exp_avg_sq"]
        beta1, beta2 = group["betas"]
        first.mul_(beta1).add_(gradient, alpha=1.0 - beta1)
        second.mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
        first_corrected = first / (1.0 - beta1**step)
        second_corrected = second / (1.0 - beta2**step)
        wide.sub_(group["lr"] * first_corrected / (second_corrected.sqrt() + group["eps"]))
        if wide is not parameter:
            parameter.copy_(wide)

    def _decay(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """The gradient that enters the moments: of the loss and of the penalty wd p^2 / 2."""
        return gradient.add(parameter, alpha=group["weight_decay"]) if group["weight_decay"] else gradient

    def _kernel(self) -> FusedSteps:
        if self._fused is None:
            self._fused = FusedSteps(self.backend, decoupled=self._decoupled, state_dtype=self.state_dtype)
        return self._fused

    _fused: FusedSteps | None = None
    """Knows addresses: made anew whenever groups or state are replaced."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self._refuse_unknown(param_group)
        self._fused = None
        super().add_param_group(param_group)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "state_dtype": self.state_dtype, "backend": self.backend}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._fused = None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As torch's, which casts moments to the parameter's dtype; where they have their own, it stays."""
        given: list[dict[str, Any]] = []

        def see(_: torch.optim.Optimizer, loaded: dict[str, Any]) -> None:
            for group in loaded["param_groups"]:
                self._refuse_unknown(group)
            given.append(loaded)

        seeing = self.register_load_state_dict_pre_hook(see)
        try:
            super().load_state_dict(state_dict)
        finally:
            seeing.remove()
        if self.state_dtype is None:
            return
        ours = [parameter for group in self.param_groups for parameter in group["params"]]
        theirs = [number for group in given[-1]["param_groups"] for number in group["params"]]
        for parameter, number in zip(ours, theirs, strict=True):
            for name, value in given[-1]["state"].get(number, {}).items():
                if name in ("exp_avg", "exp_avg_sq"):
                    moved = value.to(device=parameter.device, dtype=self.state_dtype, copy=True)
                    self.state[parameter][name] = moved

    def _refuse_unknown(self, group: dict[str, Any]) -> None:
        """What torch's group asks for and no step here would do: it would go on, and to somewhere else."""
        foreign = {"amsgrad", "maximize", *(() if self._decoupled else ("decoupled_weight_decay",))}
        for name in sorted(foreign & group.keys()):
            if group[name]:
                raise ValueError(
                    f"{type(self).__name__} has no {name}, which this group of parameters asks for"
                )


class AdamW(Adam):
    """Adam with decoupled weight decay, as torch.optim.AdamW."""

    _decoupled = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        *,
        state_dtype: torch.dtype | None = None,
        backend: Backend = "auto",
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, state_dtype=state_dtype, backend=backend)

    def _decay(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """Shrinks the parameter and leaves the gradient alone."""
        parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
        return gradient


def _dense(gradient: Tensor | None) -> Tensor:
    assert gradient is not None
    if gradient.is_sparse or gradient.is_complex():
        kind = "sparse" if gradient.is_sparse else "complex"
        shape = tuple(gradient.shape)
        raise ValueError(f"expected a dense, real gradient, got a {kind} one of shape {shape}")
    return gradient


def _check_settings(
    *, lr: float | Tensor, betas: tuple[float, float], eps: float, weight_decay: float
) -> None:
    for name, value in {"lr": lr, "eps": eps, "weight_decay": weight_decay}.items():
        if not value >= 0.0:
            raise ValueError(f"{name} must be at least 0, got {value}")
    if len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
        raise ValueError(f"betas must be two numbers in [0, 1), got {betas}")
