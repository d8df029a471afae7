"""The zoo: layers, models and optimizers in plain PyTorch, for training scripts as much as for benchmarks.

Nothing here knows the harness. Each module states its formula, shapes and tolerances, with a literal
reference beside the fast version.
"""

from __future__ import annotations

from stepmark.zoo.adam import Adam, AdamW
from stepmark.zoo.capture import captured
from stepmark.zoo.fragmented import FragmentedLinear
from stepmark.zoo.int8 import int8_linear_global, int8_linear_rowwise
from stepmark.zoo.lora import LoRAAdapter, LoRALinear
from stepmark.zoo.losses import cross_entropy
from stepmark.zoo.norms import LayerNorm, RMSNorm, layer_norm, rms_norm
from stepmark.zoo.quantize import (
    quantize_columnwise_transpose,
    quantize_global,
    quantize_global_transpose,
    quantize_rowwise,
)
from stepmark.zoo.sizes import SIZES, TransformerConfig
from stepmark.zoo.softmax import softmax
from stepmark.zoo.step_graph import StepGraph
from stepmark.zoo.switchback import SwitchBackLinear
from stepmark.zoo.transformer import TransformerLM

__all__ = [
    "SIZES",
    "Adam",
    "AdamW",
    "FragmentedLinear",
    "LayerNorm",
    "LoRAAdapter",
    "LoRALinear",
    "RMSNorm",
    "StepGraph",
    "SwitchBackLinear",
    "TransformerConfig",
    "TransformerLM",
    "captured",
    "cross_entropy",
    "int8_linear_global",
    "int8_linear_rowwise",
    "layer_norm",
    "quantize_columnwise_transpose",
    "quantize_global",
    "quantize_global_transpose",
    "quantize_rowwise",
    "rms_norm",
    "softmax",
]
