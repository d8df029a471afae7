"""FragmentedLinear against nn.Linear: hard selection without gradients, and the forward pass of training.

Side by side in one process over the published grid; inputs change from call to call, so that the chosen
fragments do. The limit is 1 / (U/F + 1/16), U the number of fragments that a call chose:
python -m benchmarks.zoo_fragmented [--features 4096 8192] [--batch 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import cycle

import numpy as np
import torch
from torch import nn

from benchmarks.interleaved import interleave, ratio
from benchmarks.machine import machine_line
from stepmark.zoo.fragmented import FragmentedLinear
from stepmark.zoo.fragmented_reference import fragment_scores

NUM_INPUTS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--fragments", type=int, nargs="+", default=[2, 8, 32, 128])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each row")
    parser.add_argument("--threads", type=int, default=1, help="more need cores without neighbours")
    told = parser.parse_args()
    torch.set_num_threads(told.threads)
    print(machine_line(), f"· {told.threads} thread(s)")
    names = [
        "n",
        "batch",
        "fragments",
        "Linear ms",
        "hard ms",
        "Linear / hard",
        "limit",
        "soft ms",
        "soft / Linear",
    ]
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for features in told.features:
        for batch in told.batch:
            for fragments in told.fragments:
                print(_row(features, batch, fragments, told.seconds), flush=True)


def _row(features: int, batch: int, fragments: int, seconds: float) -> str:
    torch.manual_seed(0)
    linear, layer = nn.Linear(features, features), FragmentedLinear(features, features, fragments)
    inputs = [torch.randn(batch, features) for _ in range(NUM_INPUTS)]
    plain, hard = _calls(linear, inputs), _calls(layer, inputs)
    with torch.no_grad():
        layer.eval()
        times = interleave({"linear": plain, "hard": hard}, seconds=seconds / 2)
        chosen = [len(set(fragment_scores(x, layer.selector).argmax(-1).tolist())) for x in inputs]
    layer.train()
    training = interleave({"linear": plain, "soft": hard}, seconds=seconds / 2)
    limit = 1.0 / (float(np.mean(chosen)) / fragments + 1.0 / 16.0)
    columns = [
        *(str(number) for number in (features, batch, fragments)),
        *(f"{1e3 * np.median(times[name]):.3f}" for name in ("linear", "hard")),
        str(ratio(times["linear"], times["hard"])),
        f"{limit:.2f}",
        f"{1e3 * np.median(training['soft']):.3f}",
        str(ratio(training["soft"], training["linear"])),
    ]
    return f"| {' | '.join(columns)} |"


def _calls(layer: nn.Module, inputs: list[torch.Tensor]) -> Callable[[], object]:
    each = cycle(inputs)
    return lambda: layer(next(each))


if __name__ == "__main__":
    main()
