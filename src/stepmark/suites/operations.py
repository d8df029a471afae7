"""Norms and softmax, as chains of elementary operations and in one kernel: the published shapes."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.zoo.norms import layer_norm, layer_norm_reference, rms_norm, rms_norm_reference
from stepmark.zoo.softmax import softmax, softmax_reference

SHAPES = {"4x16x1024": (4, 16, 1024), "64x512": (64, 512), "2048x4096": (2048, 4096)}
EPS = 1e-5

AXES = {"shape": [*SHAPES]}
PRESETS = {
    "quick": {"shape": ["4x16x1024"]},
    "standard": {"shape": ["4x16x1024", "64x512"]},
    "published": {"shape": ["4x16x1024"]},
}


def _suite(name: str, about: str) -> Suite:
    return Suite(name, axes=AXES, modes=["forward", "train"], presets=PRESETS, about=about)


softmax_stable = _suite("softmax_stable", "Softmax over the last dimension.")
layer_norms = _suite("layer_norm", "Layer norm over the last dimension, without weights.")
rms_norms = _suite("rms_norm", "Root mean square norm over the last dimension, without weights.")


def _step(function: Callable[[Tensor], Tensor], c: Point) -> Step:
    return Step(function, inputs=randn(*SHAPES[c.shape], requires_grad=True))


@softmax_stable.variant(baseline=True, name="chain")
def softmax_chain(c: Point) -> Step:
    """max, subtract, exp, sum, divide."""
    return _step(lambda x: softmax_reference(x, dim=-1), c)


@softmax_stable.variant(name="kernel")
def softmax_kernel(c: Point) -> Step:
    """One kernel: torch's, or on CUDA the faster of torch's and a Triton one."""
    return _step(lambda x: softmax(x, dim=-1), c)


@layer_norms.variant(baseline=True, name="chain")
def layer_norm_chain(c: Point) -> Step:
    """mean, subtract, square, mean, root, divide."""
    return _step(lambda x: layer_norm_reference(x, eps=EPS), c)


@layer_norms.variant(name="kernel")
def layer_norm_kernel(c: Point) -> Step:
    """One kernel: torch's, or on CUDA the faster of torch's and a Triton one."""
    return _step(lambda x: layer_norm(x, eps=EPS), c)


@rms_norms.variant(baseline=True, name="chain")
def rms_norm_chain(c: Point) -> Step:
    """square, mean, root, divide."""
    return _step(lambda x: rms_norm_reference(x, eps=EPS), c)


@rms_norms.variant(name="kernel")
def rms_norm_kernel(c: Point) -> Step:
    """The zoo's: on a CPU written out with its own backward, on CUDA a Triton kernel or torch's."""
    return _step(lambda x: rms_norm(x, eps=EPS), c)


@rms_norms.variant(name="layer_norm")
def dearer_norm(c: Point) -> Step:
    """nn.LayerNorm without weights, which does more."""
    return _step(nn.LayerNorm(SHAPES[c.shape][-1], eps=EPS, elementwise_affine=False), c)
