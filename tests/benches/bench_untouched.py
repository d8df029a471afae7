"""Layers that have kernels, on whatever device: each process writes down what of a GPU's it has touched."""

import os
import sys
from pathlib import Path

import torch
from torch import nn

import stepmark as sm
from stepmark.zoo import AdamW, FragmentedLinear, LayerNorm, LoRALinear, RMSNorm, SwitchBackLinear, softmax

SEEN = Path(os.environ["STEPMARK_TEST_SEEN"])
LAYERS = {
    "dense": lambda: nn.Linear(32, 32),
    "fragmented": lambda: FragmentedLinear(32, 32, fragments=4),
    "switchback": lambda: SwitchBackLinear(32, 32),
    "lora": lambda: LoRALinear(in_features=32, out_features=32, zero_b=False),
}

suite = sm.Suite("untouched")


class Telling(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layers = nn.Sequential(layer, RMSNorm(32), LayerNorm(32))

    def forward(self, x):
        y = softmax(self.layers(x))
        tell()
        return y


def tell():
    touched = [name for name in ("pynvml", "cuda", "cupy") if name in sys.modules]
    touched += [
        name for name in sys.modules if name.startswith("stepmark.zoo.") and name.endswith("_kernels")
    ]
    if torch.cuda.is_initialized():
        touched.append("cuda-context")
    (SEEN / str(os.getpid())).write_text("\n".join(touched))


def variant_of(name, make):
    @suite.variant(name=name, baseline=name == "dense")
    def build(c):
        return sm.Step(Telling(make()), inputs=sm.randn(4, 32), optimizer=AdamW)


for one, made in LAYERS.items():
    variant_of(one, made)
