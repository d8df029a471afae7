"""The rows of the published FragmentedLinear result."""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.fragmented_text import Figures, FragmentedText
from stepmark.published.cell import PublishedCell
from stepmark.records.case import AxisValue, Mode

SUITE = "fragmented"
LINEAR, SOFT, HARD = "linear", "fragmented", "fragmented_hard"
"""`fragmented_hard` is what the file calls inference: hard selection inside a training loop."""
BACKWARD = "backward+optimizer"
"""The clock of the published backward pass ran on through Adam's step."""


def cells(document: FragmentedText) -> Iterator[PublishedCell]:
    """81 rows: nn.Linear once a size and batch, FragmentedLinear twice for each number of fragments."""
    for section in document.sections:
        axes: tuple[tuple[str, AxisValue], ...] = (("n", section.input_size), ("batch", section.batch_size))
        yield _cell(LINEAR, axes, section.linear)
        for variant, members in ((SOFT, section.train), (HARD, section.inference)):
            for member in members:
                yield _cell(variant, (*axes, ("fragments", member.fragments)), member.figures)


def _cell(variant: str, axes: tuple[tuple[str, AxisValue], ...], figures: Figures) -> PublishedCell:
    point = ", ".join(f"{name}={value}" for name, value in axes)
    return PublishedCell(
        publication="fragmented",
        row=f"{variant} at {point}",
        suite=SUITE,
        variant=variant,
        axes=axes,
        mode=Mode.TRAIN,
        seconds=(("forward", figures.forward_seconds), (BACKWARD, figures.backward_seconds)),
        peak_bytes=figures.peak_bytes,
        parameters=figures.parameters,
    )
