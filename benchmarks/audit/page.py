"""The page docs/gallery.md: every mistake in its file's own words, and what mends it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from benchmarks.audit.gallery import NOT_SHOWN, Mistake, Specimen
from stepmark.records.finding import FindingName

HEAD = """# The gallery of mistakes

Each file in `examples/mistakes/` is a benchmark as somebody might write it in good faith, with one mistake in
it. Its twin in `examples/mended/` is the same benchmark put right. `stepmark run examples/mistakes/NAME.py`
shows what the audit says; [The audit](audit.md) explains the findings.

This page is made from the files. What a published benchmark did is told where it did it.
"""
CONSTANTS = re.compile(r"^(FINDING|VARIANT|DEVICE|COMPANY) = .*\n", re.MULTILINE)


def page(mistakes: Iterable[Mistake]) -> str:
    """Sections in the order of the findings; of each, the file that has its name comes first."""
    ranked = sorted(mistakes, key=_rank)
    reasons = "\n".join(f"- `{finding}`: {reason}" for finding, reason in NOT_SHOWN.items())
    closing = f"## Findings without a file\n\n{reasons}\n"
    return "\n".join([HEAD, *(_section(mistake) for mistake in ranked), closing])


def _rank(mistake: Mistake) -> tuple[int, bool, str]:
    named_after = mistake.name == mistake.finding.replace("-", "_")
    return list(FindingName).index(FindingName(mistake.finding)), not named_after, mistake.name


def _section(mistake: Mistake) -> str:
    where = "" if mistake.device == "cpu" else f" on `{mistake.device}`"
    changed = _difference(mistake.path, mistake.mended)
    said = "\n".join(mistake.said.splitlines()[1:]).strip()
    parts = [
        f"## {mistake.name.replace('_', ' ')}",
        f"`examples/mistakes/{mistake.path.name}`{where}: **{mistake.finding}**",
        mistake.headline,
        said,
        f"Mended: {_lowered(mistake.mended.headline)}",
        f"```diff\n{changed}\n```" if changed else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _lowered(sentence: str) -> str:
    """As it stands after a colon; names of code keep their case."""
    first = sentence.split(maxsplit=1)[0]
    return sentence if not first.istitle() else sentence[0].lower() + sentence[1:]


def _difference(path: Path, mended: Specimen) -> str:
    before, after = _code(path), _code(mended.path)
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    return "\n".join("..." if line.startswith("@@") else line for line in lines[1:])


def _code(path: Path) -> list[str]:
    """The file without its docstring, imports and the constants that the tests read."""
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text).body
    start = next(node for node in body[1:] if not isinstance(node, ast.Import | ast.ImportFrom))
    return CONSTANTS.sub("", "\n".join(text.splitlines()[start.lineno - 1 :]) + "\n").strip().splitlines()
