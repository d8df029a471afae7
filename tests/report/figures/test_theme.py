"""The theme: enough contrast on light and on dark paper, and the same names in both."""

from __future__ import annotations

import pytest

from stepmark.report.figures.theme import DARK, LIGHT, SHAPES, VERDICT_COLOURS, Palette, theme

palettes = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """Relative, by WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@palettes
def test_text_is_readable(palette: Palette) -> None:
    assert all(contrast(each, palette.paper) >= 4.5 for each in (palette.ink, palette.muted, palette.trouble))


@palettes
def test_marks_stand_out_from_the_paper(palette: Palette) -> None:
    assert all(contrast(each, palette.paper) >= 3.0 for each in palette.category)
    assert all(contrast(each, palette.paper) >= 3.0 for each in VERDICT_COLOURS.values())


@palettes
def test_text_inside_bars_is_readable(palette: Palette) -> None:
    """Large or bold text needs 3:1."""
    assert all(contrast(palette.paper, each) >= 3.0 for each in palette.category)


def test_light_and_dark_style_the_same_things() -> None:
    light, dark = theme(dark=False), theme(dark=True)
    assert light.keys() == dark.keys()
    assert light["style"].keys() == dark["style"].keys()
    assert light != dark


def test_every_shape_of_a_variant_can_be_seen() -> None:
    """A stroke is a line in the colour of its line."""
    assert "stroke" not in SHAPES
    assert len(set(SHAPES)) == len(SHAPES)
