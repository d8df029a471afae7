"""Peak memory without the leftover layer: what FragmentedLinear itself needed in the published run.

Method.       The script kept the nn.Linear of a size alive while FragmentedLinear was measured: its weights
              and last gradients, two floats a parameter. They are taken off the published peak.
Formula.      P = parameters of the layer, PL = n^2 + n, c = n / 32, all in bytes
              linear     = 20 P + W + X       4 P each: weights, gradients, two moments, a temporary
              fragmented = max(20 P, 16 P + G) + 8 PL + W + X + F n + 8 n
              own        = published - 8 PL
              W = 2 x 8.125 MiB, the workspaces of cuBLAS for the forward and the backward thread
              X = 16 B n: input, target, output and its gradient
              G = 8 B F n while it is trained softly (the einsum's intermediate, twice)
              G = 4 B n^2 / F with hard selection (the gathered copy of the chosen weights)
Assumptions.  fp32; Adam over lists of tensors; a GPU before Hopper (whose workspaces are larger).
Source.       The harness as published, read; the terms fit the 81 published peaks (see the tests).
Fails.        By up to 2.3 MiB where the peak is in the forward pass: its other tensors are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.fragmented_text import MEBIBYTE, Figures, FragmentedText, Section
from stepmark.published.fragmented import HARD, LINEAR, SOFT
from stepmark.records.record import Record

WORKSPACES = 2 * 8.125 * MEBIBYTE


class Peak(Record, frozen=True, kw_only=True):
    """One published peak, taken apart; everything in bytes."""

    n: int
    batch: int
    fragments: int | None
    variant: str
    published: float
    linear: float
    """The published peak of nn.Linear at the same size and batch."""
    leftover: float
    """Of the layer measured before."""
    step: float
    """20 P: what the optimizer's step needs at least."""
    forward: float
    """16 P + G: what the forward pass needs beside the state of the optimizer."""
    masks: float
    tensors: float
    """X."""

    @property
    def own(self) -> float:
        return self.published - self.leftover

    @property
    def published_ratio(self) -> float:
        return self.published / self.linear

    @property
    def own_ratio(self) -> float:
        return self.own / self.linear

    @property
    def predicted(self) -> float:
        return max(self.step, self.forward) + self.leftover + WORKSPACES + self.tensors + self.masks

    @property
    def in_step(self) -> bool:
        """Whether the peak is the optimizer's, as nn.Linear's is, and not one of the forward pass."""
        return self.step >= self.forward


def peaks(document: FragmentedText) -> Iterator[Peak]:
    """All 81."""
    for section in document.sections:
        yield _peak(section, section.linear, variant=LINEAR)
        for variant, members in ((SOFT, section.train), (HARD, section.inference)):
            for member in members:
                yield _peak(section, member.figures, variant=variant, fragments=member.fragments)


def _peak(section: Section, figures: Figures, *, variant: str, fragments: int | None = None) -> Peak:
    n = section.input_size
    between = 0.0 if fragments is None else _intermediate(section, variant, fragments)
    return Peak(
        n=n,
        batch=section.batch_size,
        fragments=fragments,
        variant=variant,
        published=figures.peak_bytes,
        linear=section.linear.peak_bytes,
        leftover=0.0 if fragments is None else 8.0 * (n * n + n),
        step=20.0 * figures.parameters,
        forward=16.0 * figures.parameters + between,
        masks=0.0 if fragments is None else fragments * n + 8.0 * n,
        tensors=16.0 * section.batch_size * n,
    )


def _intermediate(section: Section, variant: str, fragments: int) -> float:
    n, batch = section.input_size, section.batch_size
    if variant == SOFT:
        return 8.0 * batch * fragments * section.output_size
    return 4.0 * batch * (n / fragments) * section.output_size
