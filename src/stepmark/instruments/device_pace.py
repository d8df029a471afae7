"""The pace of a device: its clock frequency and what holds it down, read while it is warm.

A processor is read by its fastest core, an accelerator through its card; nothing is ever set.
"""

from __future__ import annotations

from functools import cache, partial

from stepmark.instruments.card import Card, open_card
from stepmark.instruments.processor_state import megahertz
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.measure.launch import Pace
from stepmark.measure.protocol import Paced
from stepmark.measure.watch import Glance
from stepmark.records.card import reasons_named

_opened = cache(open_card)
"""One for a process: opening the driver's library takes milliseconds."""


def pace_of(device: str) -> Pace:
    """What reads the pace of this device."""
    return partial(processor_pace, PseudoFiles()) if device == "cpu" else partial(card_pace, _opened(device))


def glance_of(device: str) -> Glance | None:
    """What reads the card between blocks; None where there is none, or asking takes too long."""
    card = None if device == "cpu" else _opened(device)
    return card.glance if card is not None else None


def processor_pace(files: PseudoFiles) -> Paced:
    return Paced(megahertz=megahertz(files))


def card_pace(card: Card | None) -> Paced:
    seen = card.look() if card is not None else None
    if seen is None:
        return Paced()
    return Paced(megahertz=seen.megahertz, slowed_by=reasons_named(seen.reasons), card=seen)
