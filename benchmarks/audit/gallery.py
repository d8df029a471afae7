"""The gallery: mistakes as files, each with the finding that must name it, read without running them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"

NOT_SHOWN = {
    "throttled": "no bench file can heat a processor on demand, or lower a quota",
    "clock-drift": "no bench file can change a processor's frequency",
    "quantised-clock": "no bench file can make the machine's clock coarse",
}
"""Findings without a file, and why; the rules are tested on made evidence."""


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """One bench file of the gallery."""

    path: Path
    said: str
    """The file's own words."""
    launches: int
    """That it takes to see what there is to see."""
    device: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def headline(self) -> str:
        return self.said.partition("\n")[0]

    @property
    def in_print(self) -> str:
        """What a published benchmark did, where one did; empty elsewhere."""
        return next((part for part in self.said.split("\n\n") if part.startswith("In print: ")), "")


@dataclass(frozen=True, kw_only=True)
class Mistake(Specimen):
    """A file with a mistake, beside its mended twin."""

    finding: str
    variant: str
    """The case that must have it."""
    company: int
    """Busy processes that must run beside it."""
    mended: Specimen


def mistakes() -> tuple[Mistake, ...]:
    """All of them, by name."""
    return tuple(_mistake(path) for path in sorted((EXAMPLES / "mistakes").glob("*.py")))


def good_examples() -> tuple[Path, ...]:
    """Bench files that never had a mistake."""
    return tuple(sorted(EXAMPLES.glob("bench_*.py")))


def _mistake(path: Path) -> Mistake:
    said, constants = _read(path)
    twin = EXAMPLES / "mended" / path.name
    twin_said, twin_constants = _read(twin)
    device, launches = constants.get("DEVICE", "cpu"), constants.get("LAUNCHES", 1)
    return Mistake(
        path=path,
        said=said,
        launches=launches,
        device=device,
        finding=constants["FINDING"],
        variant=constants["VARIANT"],
        company=constants.get("COMPANY", 0),
        mended=Specimen(
            path=twin, said=twin_said, launches=twin_constants.get("LAUNCHES", launches), device=device
        ),
    )


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """The docstring and the plain constants of a file; some of these files change the process at import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return (ast.get_docstring(tree) or "").strip(), constants
