"""Every published row as a cell, so that ours can stand beside it."""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.fragmented_text import FragmentedText
from stepmark.interchange.grid import GridDocument
from stepmark.interchange.switchback_jsonl import SwitchbackLines
from stepmark.published import fragmented, lora, switchback, transformer
from stepmark.published.catalogue import PUBLICATIONS, document_of
from stepmark.published.cell import PublishedCell


def cells_of(name: str) -> tuple[PublishedCell, ...]:
    """The rows of one publication."""
    document = document_of(name)
    match document:
        case FragmentedText():
            return tuple(fragmented.cells(document))
        case SwitchbackLines():
            return tuple(switchback.cells(document))
        case GridDocument():
            return tuple(transformer.cells(document, name))
        case CriterionLog():
            return tuple(lora.cells(document))


def cells() -> tuple[PublishedCell, ...]:
    """All rows, each once: the second transformer file repeats the tables of the first."""
    return tuple(_distinct())


def _distinct() -> Iterator[PublishedCell]:
    seen = set()
    for name in PUBLICATIONS:
        for cell in cells_of(name):
            content = (cell.suite, cell.row, cell.seconds)
            if content not in seen:
                seen.add(content)
                yield cell
