"""How numbers look in the texts: patterns that match only what would be written the same way again."""

from __future__ import annotations

WHOLE = r"(?:0|[1-9][0-9]{0,14})"
"""Up to 15 digits, without leading zeros: every such number fits 64 bits and a double."""
DECIMAL = r"(?:[0-9]{1,300}\.[0-9]{1,300}|[0-9]{1,300})"
"""Kept as text, so any number of digits."""
