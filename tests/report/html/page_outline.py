"""The outline of a page: its elements without the words, and its headings, tables and controls with them."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "link", "img"}
SHOWN = ("h1", "h2", "h3", "h4", "caption", "th", "summary", "button", "option", "dt")
"""Elements whose words are part of the outline."""


class Outline(HTMLParser):
    """Collects the elements with the names of their attributes, attributes by element, and blocks of data."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.shape: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[tuple[str, dict[str, str], list[str]]] = []
        self.blocks: dict[str, str] = {}
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()
        self.unclosed += [tag for tag, _, _ in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.shape.append((tag, tuple(sorted(known))))
        self.attributes.append((tag, known))
        if tag not in VOID:
            self.open.append((tag, known, []))

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1][2].append(data)

    def handle_endtag(self, tag: str) -> None:
        started, known, words = self.open.pop() if self.open else ("nothing", {}, [])
        if started != tag:
            self.unclosed.append(f"{started} closed by {tag}")
        text = "".join(words)
        if self.open and tag not in ("script", "style"):
            self.open[-1][2].append(text)
        if tag == "script":
            self.blocks[known.get("data-packed", "series" if "data-series" in known else "code")] = text
        elif tag in SHOWN:
            depth = sum(each[0] in ("section", "article", "details", "table") for each in self.open)
            mark = "".join(
                f" [{name}={known[name]}]" for name in ("id", "scope", "aria-sort") if name in known
            )
            self.words.append(f"{'  ' * depth}{tag}{mark} {' '.join(text.split())}")


def packed(text: str) -> Any:
    """What the page's script reads from a packed block."""
    return json.loads(zlib.decompress(base64.b64decode(text)))
