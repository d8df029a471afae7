"""Pages: a Markdown file for each finding, which `stepmark explain` prints and docs/audit.md links to."""

from __future__ import annotations

from importlib.resources import files

from stepmark.records.finding import FindingName


def page_of(name: FindingName) -> str:
    """The page as Markdown."""
    return files("stepmark.audit").joinpath("pages", f"{name}.md").read_text(encoding="utf-8")
