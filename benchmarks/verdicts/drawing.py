"""Drawing: shapes as SVG text, in colours that read on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

COLOURS = ("#0b6bcb", "#c2410c", "#0f8a5f", "#9333ea", "#b7791f", "#be185d", "#475569")
"""Ours first; all of them at least 3:1 against white and against #0d1117."""
STYLE = """
svg { color: #1f2328; font: 12px system-ui, sans-serif; }
text { fill: currentColor; }
.title { font-weight: 600; }
.quiet { opacity: 0.7; font-size: 11px; }
.grid { stroke: currentColor; opacity: 0.15; }
.axis { stroke: currentColor; opacity: 0.5; }
.band { fill: currentColor; opacity: 0.08; }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; } .data { filter: brightness(1.45); } }
"""


class Drawing:
    """Shapes in the order they are drawn; y grows downwards."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self._size = (width, height)
        self._label = label
        self._shapes: list[str] = []

    def line(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
        (x1, y1), (x2, y2) = start, end
        self._add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def box(self, corner: tuple[float, float], size: tuple[float, float], kind: str) -> None:
        (x, y), (width, height) = corner, size
        self._add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>')

    def text(self, at: tuple[float, float], words: str, *, anchor: str = "start", kind: str = "") -> None:
        x, y = at
        self._add(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'
        )

    def dot(self, at: tuple[float, float], radius: float, colour: str, *, opacity: float = 1.0) -> None:
        x, y = at
        self._add(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="data" fill="{colour}" '
            f'fill-opacity="{opacity}"/>'
        )

    def path(
        self, points: Sequence[tuple[float, float]], colour: str, *, width: float, dash: str = ""
    ) -> None:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add(
            f'<polyline points="{joined}" class="data" fill="none" stroke="{colour}" '
            f'stroke-width="{width}" stroke-dasharray="{dash}"/>'
        )

    def svg(self) -> str:
        width, height = self._size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-label="{escape(self._label)}">\n'
            f"<style>{STYLE}</style>\n" + "\n".join(self._shapes) + "\n</svg>\n"
        )

    def _add(self, shape: str) -> None:
        self._shapes.append(shape)
