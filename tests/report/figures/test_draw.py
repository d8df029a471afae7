"""Drawing: files with title and description of their own, and a script that is made once and kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from stepmark.report.figures import draw
from stepmark.report.figures.draw import png, standalone, svg
from stepmark.report.figures.forest import forest
from stepmark.report.figures.theme import DARK, LIGHT
from tests.report.examples import EXAMPLES

(FIGURE,) = forest(EXAMPLES["normal"]())


def test_an_svg_has_title_description_and_paper() -> None:
    light, dark = svg(FIGURE), svg(FIGURE, dark=True)
    assert FIGURE.title in light
    assert "1 INCONCLUSIVE" in light
    assert LIGHT.paper in light
    assert DARK.paper in dark


def test_a_png_is_as_many_pixels_as_its_scale_says() -> None:
    one, two = (int.from_bytes(png(FIGURE, scale=scale)[16:20], "big") for scale in (1.0, 2.0))
    assert abs(two - 2 * one) <= 2


def test_a_long_title_takes_several_lines() -> None:
    long = "a title of many words " * 20
    lines = standalone(replace(FIGURE, title=long))["title"]["text"]
    assert len(lines) > 1
    assert " ".join(lines).split() == long.split()


def test_the_script_is_made_once_and_then_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for made in ("first", "second"):
        monkeypatch.setattr(draw, "_made", lambda text=made: text)
        draw._bundle.cache_clear()
        assert draw._bundle(tmp_path / "cache") == "first"
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".js"]
    draw._bundle.cache_clear()


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw, "_made", lambda: "script")
    blocked = tmp_path / "file"
    blocked.write_text("")
    draw._bundle.cache_clear()
    assert draw._bundle(blocked / "cache") == "script"
    draw._bundle.cache_clear()
