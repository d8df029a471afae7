"""Drift: where optimizers lead ordinary stacks of layers that have no loss.

With a gradient of the output that stays the same, and with a short one whose sign alternates.

    python -m benchmarks.audit.drift
"""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import nn

from benchmarks.audit.correct import OPTIMIZERS, PLAIN
from benchmarks.machine import machine_line
from stepmark.instruments.torch_iteration import Iteration

STACKS = 60
LOOKS = (40, 200, 1000)
"""Steps after which weights are looked at: a solo pass has up to 40, a launch some hundreds and more."""
TAKEN = ("sgd", "momentum", "adam", "adamw fused", "rmsprop", "adagrad")


def stack(number: int) -> tuple[nn.Module, torch.Tensor, Any]:
    """The same for the same number: layers, their input, and what makes their optimizer."""
    draw = random.Random(number)
    torch.manual_seed(number)
    names = draw.choices(sorted(PLAIN), k=draw.randint(1, 4))
    features = 2 * draw.randint(2, 16)
    module = nn.Sequential(nn.Linear(features, features), *(PLAIN[name](features) for name in names))
    x = torch.randn(draw.randint(1, 4), draw.randint(2, 8), features)
    return module, x, OPTIMIZERS[draw.choice(TAKEN)]


def ruined(number: int, *, alternating: bool) -> list[bool]:
    """At each look: whether a weight is not finite."""
    module, x, make = stack(number)
    trained: list[torch.Tensor] = [one for one in module.parameters() if one.requires_grad]
    optimizer = make(trained)
    iteration = Iteration(module, None, [x], [], leaves=trained, seed=number, updated=alternating)
    found = []
    for step in range(1, LOOKS[-1] + 1):
        iteration.prepare()
        iteration.forward()
        iteration.backward()
        optimizer.step()
        if step in LOOKS:
            found.append(not all(one.isfinite().all() for one in trained))
    return found


def main() -> None:
    torch.set_num_threads(1)
    print(machine_line())
    for alternating in (False, True):
        every = [ruined(number, alternating=alternating) for number in range(STACKS)]
        counts = [sum(column) for column in zip(*every, strict=True)]
        told = ", ".join(f"{count} after {steps}" for count, steps in zip(counts, LOOKS, strict=True))
        print(f"gradient {'alternating' if alternating else 'the same'}: of {STACKS} not finite {told}")


if __name__ == "__main__":
    main()
