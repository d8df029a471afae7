"""Adam and AdamW, readable: one tensor at a time, in the formulas' own steps.

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
           Moments have the parameter's dtype, as torch's do.
Sources    Kingma & Ba, "Adam", arXiv 1412.6980, algorithm 1; Loshchilov & Hutter, "Decoupled Weight Decay
           Regularization", arXiv 1711.05101, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}
"""Largest error of an entry of a parameter after ten steps, against float64 with the same gradients, relative
to the largest entry. Half parameters are rounded at every step."""


class Adam(torch.optim.Optimizer):
    """Adam with L2 regularisation, as torch.optim.Adam."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        _check_settings(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._update(parameter, _dense(parameter.grad), group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        gradient = self._decay(parameter, gradient, group)
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        # torch.optim keeps a tensor here; taken as a number, its state can be loaded.
        state["step"] = step = int(state["step"]) + 1
        first, second = state["exp_avg"], state["exp_avg_sq"]
        beta1, beta2 = group["betas"]
        first.mul_(beta1).add_(gradient, alpha=1.0 - beta1)
        second.mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
        first_corrected = first / (1.0 - beta1**step)
        second_corrected = second / (1.0 - beta2**step)
        parameter.sub_(group["lr"] * first_corrected / (second_corrected.sqrt() + group["eps"]))

    def _decay(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """The gradient that enters the moments: of the loss and of the penalty wd p^2 / 2."""
        return gradient.add(parameter, alpha=group["weight_decay"]) if group["weight_decay"] else gradient


class AdamW(Adam):
    """Adam with decoupled weight decay, as torch.optim.AdamW."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def _decay(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """Shrinks the parameter and leaves the gradient alone."""
        parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
        return gradient


def _dense(gradient: Tensor) -> Tensor:
    if gradient.is_sparse or gradient.is_complex():
        kind = "sparse" if gradient.is_sparse else "complex"
        shape = tuple(gradient.shape)
        raise ValueError(f"expected a dense, real gradient, got a {kind} one of shape {shape}")
    return gradient


def _check_settings(*, lr: float, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    for name, value in {"lr": lr, "eps": eps, "weight_decay": weight_decay}.items():
        if not value >= 0.0:
            raise ValueError(f"{name} must be at least 0, got {value}")
    if len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
        raise ValueError(f"betas must be two numbers in [0, 1), got {betas}")
