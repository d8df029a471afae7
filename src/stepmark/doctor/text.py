"""Numbers in the doctor's sentences: few digits, with their unit."""

from __future__ import annotations


def share(fraction: float) -> str:
    """`0 %`, `0.04 %`, `0.4 %`, `5 %`, `12 %`."""
    value = 100.0 * fraction
    digits = 0 if value == 0 or value >= 9.95 else 1 if value >= 0.095 else 2
    return f"{f'{value:.{digits}f}'.removesuffix('.0')} %"


def signed_share(fraction: float) -> str:
    """`+0.4 %`, `-12 %`."""
    return f"{'-' if fraction < 0 else '+'}{share(abs(fraction))}"


def cores(number: float) -> str:
    """`1 core`, `1.8 cores`."""
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return f"{text} core" if text == "1" else f"{text} cores"


def span(seconds: float) -> str:
    """`40 ns`, `1.2 ms`, `2 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            value = seconds / size
            return f"{f'{value:.{0 if value >= 9.95 else 1}f}'.removesuffix('.0')} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def times(number: int) -> str:
    """`once`, `7 times`."""
    return "once" if number == 1 else f"{number} times"


def listed(names: list[str], *, most: int = 3) -> str:
    """`a, b, c and 2 more`."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")
