"""What Criterion's units mean: seconds, or things per second."""

from __future__ import annotations

from stepmark.interchange.criterion_lines import Quantity

SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
"""Both characters that look like a mu are met."""
PER_SECOND = {
    **{f"{prefix}elem/s": 1e3**power for power, prefix in enumerate(("", "K", "M", "G"))},
    **{f"{prefix}B/s": 1024.0**power for power, prefix in enumerate(("", "Ki", "Mi", "Gi", "Ti"))},
    **{f"{prefix}B/s": 1e3**power for power, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{f"{prefix}b/s": 1e3**power for power, prefix in enumerate(("", "K", "M", "G", "T"))},
}
_MINUS = str.maketrans("−", "-")


def seconds(quantity: Quantity) -> float | None:
    """None for a measurement that is no time: Criterion can count cycles, too."""
    scale = SECONDS.get(quantity.unit.strip())
    return None if scale is None else _number(quantity) * scale


def per_second(quantity: Quantity) -> float | None:
    """Elements, bytes or bits; None for a unit of somebody's own."""
    scale = PER_SECOND.get(quantity.unit.strip())
    return None if scale is None else _number(quantity) * scale


def fraction(quantity: Quantity) -> float:
    """Of a change: 0.02 for `+2.0000%`."""
    return _number(quantity) / 100.0


def _number(quantity: Quantity) -> float:
    return float(quantity.digits.translate(_MINUS))
