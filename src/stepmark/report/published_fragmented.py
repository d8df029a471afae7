"""The published FragmentedLinear result as tables: times, and peaks with what belongs to the layer."""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.fragmented_text import MEBIBYTE, FragmentedText
from stepmark.published.fragmented import HARD, LINEAR, SOFT
from stepmark.published.own_peak import Peak, peaks
from stepmark.report.shown_table import ShownTable

KEYS = ("n", "batch", "fragments")


def tables(document: FragmentedText) -> tuple[ShownTable, ...]:
    return (_times(document), _peaks(document))


def _times(document: FragmentedText) -> ShownTable:
    return ShownTable(
        title="Published times, ms",
        groups=(("", 3), ("forward", 3), ("backward and Adam", 3)),
        head=(*KEYS, *("linear", "soft", "hard") * 2),
        rows=tuple(_time_rows(document)),
        sides="rrr" + "r" * 6,
        note="soft: soft selection; hard: what the file calls inference, which is trained as well",
    )


def _time_rows(document: FragmentedText) -> Iterator[tuple[str, ...]]:
    for section in document.sections:
        for soft, hard in zip(section.train, section.inference, strict=True):
            figures = (section.linear, soft.figures, hard.figures)
            yield (
                str(section.input_size),
                str(section.batch_size),
                str(soft.fragments),
                *(each.forward for each in figures),
                *(each.backward for each in figures),
            )


def _peaks(document: FragmentedText) -> ShownTable:
    found = {(peak.n, peak.batch, peak.fragments, peak.variant): peak for peak in peaks(document)}
    return ShownTable(
        title="Peak memory, MiB: as published, and without the nn.Linear left over from before",
        groups=(("", 3), ("linear", 1), ("soft", 3), ("hard", 3)),
        head=(*KEYS, "peak", *("peak", "own", "ratio") * 2),
        rows=tuple(_peak_row(peak, found) for peak in found.values() if peak.variant == SOFT),
        sides="rrr" + "r" * 7,
        note="ratio: the layer's own peak over nn.Linear's; above 1.1 it is one of the forward pass",
    )


def _peak_row(soft: Peak, found: dict[tuple[int, int, int | None, str], Peak]) -> tuple[str, ...]:
    linear = found[soft.n, soft.batch, None, LINEAR]
    hard = found[soft.n, soft.batch, soft.fragments, HARD]
    cells = [f"{linear.published / MEBIBYTE:.1f}"]
    for peak in (soft, hard):
        cells += [
            f"{peak.published / MEBIBYTE:.1f}",
            f"{peak.own / MEBIBYTE:.1f}",
            f"{peak.own_ratio:.2f}",
        ]
    return (str(soft.n), str(soft.batch), str(soft.fragments), *cells)
