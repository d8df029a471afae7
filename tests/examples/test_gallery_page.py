"""The page of the gallery: made from the files, and as they are now."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.audit.gallery import mistakes
from benchmarks.audit.page import page

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"


def test_the_page_is_made_from_the_files() -> None:
    """Renew it with STEPMARK_WRITE_GOLDEN=1."""
    drawn = page(mistakes())
    if os.environ.get("STEPMARK_WRITE_GOLDEN"):
        PAGE.write_text(drawn, encoding="utf-8")
    else:
        assert PAGE.read_text(encoding="utf-8") == drawn


def test_every_mistake_has_a_section_with_what_mends_it() -> None:
    drawn = page(mistakes())
    for mistake in mistakes():
        section = drawn.partition(f"## {mistake.name.replace('_', ' ')}\n")[2].partition("\n## ")[0]
        assert mistake.headline in section
        assert mistake.company or "```diff\n" in section
