"""Optimizers of a step: made from its parameters, refused where they have no step of their own."""

from __future__ import annotations

import pytest
import torch

from stepmark.instruments.torch_optimizer import make_optimizer

TRAINABLE = [torch.nn.Parameter(torch.ones(2))]


def test_an_optimizer_is_made_from_what_is_trained() -> None:
    optimizer = make_optimizer(torch.optim.AdamW, TRAINABLE)
    assert optimizer.param_groups[0]["params"] == TRAINABLE


def test_several_optimizers_are_one_object_with_a_step() -> None:
    with pytest.raises(TypeError, match="the optimizer is of type list and has no step to call"):
        make_optimizer(lambda trainable: [torch.optim.SGD(trainable)], TRAINABLE)


def test_a_step_that_wants_a_closure_has_no_phases() -> None:
    with pytest.raises(TypeError, match=r"LBFGS calls forward and backward inside .* modes=\['ops'\]"):
        make_optimizer(torch.optim.LBFGS, TRAINABLE)
