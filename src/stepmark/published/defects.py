"""The defects of each publication."""

from __future__ import annotations

from stepmark.interchange.criterion import CriterionLog
from stepmark.interchange.fragmented_text import FragmentedText
from stepmark.interchange.grid import GridDocument
from stepmark.interchange.switchback_jsonl import SwitchbackLines
from stepmark.published import (
    fragmented_defects,
    lora_defects,
    switchback_defects,
    transformer_defects,
)
from stepmark.published.catalogue import document_of
from stepmark.published.defect import Defect


def defects_of(name: str) -> tuple[Defect, ...]:
    """The gravest first."""
    document = document_of(name)
    match document:
        case FragmentedText():
            return fragmented_defects.defects(document)
        case SwitchbackLines():
            return switchback_defects.defects(document)
        case GridDocument():
            return transformer_defects.defects(document)
        case CriterionLog():
            return lora_defects.defects(document)
