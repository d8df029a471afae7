"""The ledger: one row a measurement, with its time, its ratio to the baseline and its verdict.

The table of a cell, the list of its phases and the table of a sweep are all ledgers; they differ in the keys
before the label of a row and in the extra columns behind the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from stepmark.records.verdict import Reason, VerdictKind
from stepmark.report import format as show
from stepmark.report.grid import Column, Grid, Piece, align, make_grid
from stepmark.report.page import Page
from stepmark.report.view import PhaseView
from stepmark.report.wording import marks, time_heading

STYLES: Mapping[VerdictKind, str] = {
    VerdictKind.FASTER: "bold green",
    VerdictKind.SLOWER: "bold red",
    VerdictKind.EQUIVALENT: "bold cyan",
    VerdictKind.INCONCLUSIVE: "yellow",
    VerdictKind.INVALID: "magenta",
}
HEADING, NOTE = "dim", "magenta"
LABEL, NUMBER = Column(fold=True), Column(right=True)
BESIDE, BESIDE_RIGHT = Column(gap=1), Column(right=True, gap=1)
NUMERIC = re.compile(r"-?\d+(\.\d+)?|")


class Entry(NamedTuple):
    """One measurement, or what came in its place."""

    keys: tuple[str, ...]
    group: str
    """The keys as one text, for pages too narrow to give each a column."""
    label: str
    phase: PhaseView | None
    baseline: bool = False
    note: str = ""
    """In the place of the numbers where there are none."""
    detail: str = ""
    """On a line of its own."""
    kind: VerdictKind | None = None
    reasons: tuple[Reason, ...] = ()
    marks: str = ""
    """Of the findings about it."""
    replications: str = ""
    """Launches and rounds, said beside the baseline of a cell, where there is room."""
    extras: tuple[Piece, ...] = ()
    """Pieces of the extra columns."""


class Titles(NamedTuple):
    """What stands above the columns."""

    keys: tuple[str, ...] = ()
    label: str = "variant"
    time: str | None = None
    extras: tuple[str, ...] = ()


class Look(NamedTuple):
    """How the numbers of a ledger are written."""

    page: Page
    unit: show.TimeUnit | None
    """Shared by all times, or None: each has its own."""
    reasons: Sequence[Reason]
    """Those of the run, in the order of their numbers."""
    spread: bool = True
    """Show the ± of the times."""


def ledger(entries: Sequence[Entry], titles: Titles, look: Look) -> Grid:
    """Lay the entries out, each key in a column of its own if the page is wide enough.

    On a narrower page the ± of the times is left out; on a still narrower one the keys stand on lines of
    their own.
    """
    grid = _in_columns(entries, titles, look)
    if not titles.keys or grid.least_width <= look.page.width:
        return grid
    brief = _in_columns(entries, titles, look._replace(spread=False))
    return brief if brief.least_width <= look.page.width else _in_groups(entries, titles, look)


def _in_columns(entries: Sequence[Entry], titles: Titles, look: Look) -> Grid:
    compared = any(entry.kind or entry.marks for entry in entries)
    columns = [*_key_columns(entries, len(titles.keys)), LABEL, NUMBER]
    columns += [BESIDE_RIGHT] if look.spread else []
    columns += [NUMBER, BESIDE, Column(), BESIDE] if compared else []
    columns += [NUMBER for _ in titles.extras]
    rows = [_heading(titles, look, compared=compared)]
    before: tuple[str, ...] | None = None
    for entry, middle in zip(entries, _middles(entries, look, compared=compared), strict=True):
        keys = entry.keys if entry.keys != before else ("",) * len(entry.keys)
        rows.append([*map(Piece, keys), Piece(entry.label), *middle, *entry.extras])
        if entry.detail:
            blank = [Piece("") for _ in (*keys, entry.label)]
            rows.append([*blank, Piece(entry.detail, NOTE, span=len(columns) - len(blank), fold=True)])
        before = entry.keys
    return make_grid(columns, rows, page=look.page)


def _key_columns(entries: Sequence[Entry], num_keys: int) -> list[Column]:
    """Numbers to the right, words to the left."""
    return [Column(right=all(NUMERIC.fullmatch(entry.keys[n]) for entry in entries)) for n in range(num_keys)]


def _heading(titles: Titles, look: Look, *, compared: bool) -> list[Piece]:
    pieces = [Piece(title, HEADING) for title in (*titles.keys, titles.label)]
    pieces.append(Piece(time_heading(titles.time, look.unit), HEADING, span=1 + look.spread))
    if compared:
        pieces += [Piece("time / baseline", HEADING, span=2), Piece("verdict", HEADING, span=2)]
    return [*pieces, *(Piece(title, HEADING) for title in titles.extras)]


def _in_groups(entries: Sequence[Entry], titles: Titles, look: Look) -> Grid:
    """The keys on a line of their own above the rows they belong to."""
    bare = [entry._replace(keys=(), label=f"  {entry.label}") for entry in entries]
    grid = _in_columns(bare, titles._replace(keys=()), look)
    left = iter(grid.rows)
    rows = [next(left)]
    before: str | None = None
    for entry in entries:
        if entry.group != before:
            rows.append((Piece(look.page.show(entry.group), span=len(grid.columns), fold=True),))
            before = entry.group
        rows += islice(left, 2 if entry.detail else 1)
    return grid._replace(rows=tuple(rows))


def _middles(entries: Sequence[Entry], look: Look, *, compared: bool) -> Iterator[list[Piece]]:
    """Time, ratio and verdict of each entry, decimals below decimals."""
    times = _times(entries, look.unit)
    ratios = align(
        [show.ratio(entry.phase.ratio) if entry.phase and entry.phase.ratio else "" for entry in entries]
    )
    for entry, time, ratio in zip(entries, times, ratios, strict=True):
        pieces = [Piece(entry.note, NOTE, span=1 + look.spread + 2 * compared, fold=True)]
        if entry.phase:
            pieces = [Piece(time)]
            pieces += [Piece(show.plus_minus(entry.phase.time), "dim")] if look.spread else []
            if compared and entry.phase.ratio:
                pieces += [Piece(ratio), Piece(show.interval(entry.phase.ratio), "dim")]
            elif compared:
                role = f"baseline {entry.replications}".rstrip() if entry.baseline else ""
                pieces.append(Piece(role, "dim", span=2))
        if compared:
            beside = f"{marks(entry.reasons, look.reasons)} {entry.marks}".strip()
            pieces.append(Piece(entry.kind or "", STYLES[entry.kind] if entry.kind else ""))
            pieces.append(Piece(beside, "yellow"))
        yield pieces


def _times(entries: Sequence[Entry], unit: show.TimeUnit | None) -> list[str]:
    texts = [show.seconds(entry.phase.time, unit=unit) if entry.phase else "" for entry in entries]
    if unit:
        return align(texts)
    numbers = align([text.partition(show.NBSP)[0] for text in texts])
    names = [text.partition(show.NBSP)[2] for text in texts]
    return [number and f"{number}{show.NBSP}{name:<2}" for number, name in zip(numbers, names, strict=True)]
