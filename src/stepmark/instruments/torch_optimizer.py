"""A step's optimizer, made from its trainable parameters: its phase is its step and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def make_optimizer(make: Callable[[Any], Any], trainable: list[torch.nn.Parameter]) -> Any:
    """The optimizer, whose step can be called without arguments."""
    if not trainable:
        raise ValueError("this step has an optimizer but no parameters to train")
    optimizer = make(trainable)
    if not callable(getattr(optimizer, "step", None)):
        raise TypeError(
            f"the optimizer is of type {type(optimizer).__name__} and has no step to call: of several make "
            "one object with a step that calls theirs"
        )
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError(
            "LBFGS calls forward and backward inside its own step, which has no phases then: measure the "
            "whole of it as an operation, sm.Ops({'step': lambda: optimizer.step(closure)}), modes=['ops']"
        )
    return optimizer
