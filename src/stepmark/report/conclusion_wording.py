"""Conclusions as plain sentences, the names that users gave apart from the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from msgspec.structs import replace

from stepmark.records.conclusion import AxisRange, Conclusion, KindCount, MemoryRatio, PhaseConclusion
from stepmark.records.estimate import Estimate
from stepmark.records.record import Record
from stepmark.records.verdict import VerdictKind
from stepmark.report import format as show

SAME_MEMORY = 0.005
"""Ratios of memory closer to 1 than this read as the same."""
UNTOLD = (VerdictKind.INCONCLUSIVE, VerdictKind.INVALID)
"""Verdicts that need their reasons beside them."""


class Piece(Record, frozen=True, kw_only=True):
    """A part of a sentence."""

    text: str
    name: bool = False
    """A name that a user gave."""


Sentence = tuple[Piece, ...]


def sentence(conclusion: Conclusion) -> Sentence:
    """`mine` is 1.31x slower than `dense` in step (1.29 to 1.33); by phase, …; it needs 1.02x the memory."""
    clauses = [clause for clause in _clauses(conclusion) if clause]
    return _capital(_merged((*_joined(clauses, "; "), _text("."))))


def plain(parts: Sentence) -> str:
    """As text, names in backticks."""
    return "".join(f"`{part.text}`" if part.name else part.text for part in parts)


def _clauses(conclusion: Conclusion) -> Iterable[Sentence]:
    names = (_name(conclusion.variant), _name(conclusion.baseline))
    if conclusion.phases:
        primary = conclusion.phases[0]
        everywhere = sum(each.found.cells for each in conclusion.ranges) == primary.cells
        if conclusion.ranges and everywhere:
            said = f" ({primary.phase}) is {_listed(_in_ranges(conclusion))}"
            yield (names[0], _text(" against "), names[1], _text(said))
        else:
            yield _about_primary(primary, *names, margin=conclusion.margin)
            yield _about_ranges(conclusion)
    else:
        yield (names[0], _text(" was not compared with "), names[1])
    yield _about_phases(conclusion)
    yield _about_memory(conclusion.memory)
    yield _about_failures(conclusion)


def _about_primary(phase: PhaseConclusion, variant: Piece, baseline: Piece, *, margin: float) -> Sentence:
    """The first clause: the phase that the verdicts are about."""
    one = phase.unanimous
    if one is None:
        told = [_text(f"{_kind_in_cells(kind, margin)} in {kind.cells}") for kind in phase.kinds]
        return (
            _text(f"of {show.plural(phase.cells, 'cell')}, "),
            variant,
            _text(" against "),
            baseline,
            _text(f" ({phase.phase}) is "),
            *_joined([(each,) for each in told], ", "),
        )
    cells = {1: "", 2: " in both cells"}.get(phase.cells, f" in all {phase.cells} cells")
    said = f" {_in_phase(phase, one, margin)}{cells}"
    return (variant, _text(f" {_against(one)} "), baseline, _text(said))


def _against(one: KindCount) -> str:
    match one.kind:
        case VerdictKind.FASTER | VerdictKind.SLOWER:
            word = "faster" if one.kind is VerdictKind.FASTER else "slower"
            return f"is {_factor(one)} {word} than"
        case VerdictKind.EQUIVALENT:
            return "is as fast as"
        case VerdictKind.INCONCLUSIVE:
            return "is undecided against"
        case VerdictKind.INVALID:
            return "has no valid comparison with"


def _in_phase(phase: PhaseConclusion, one: KindCount, margin: float) -> str:
    """`in step (1.29 to 1.33)`."""
    told = [_interval(one), *(reason.value for reason in one.reasons if one.kind in UNTOLD)]
    note = f" ({'; '.join(part for part in told if part)})" if any(told) else ""
    if one.kind is VerdictKind.EQUIVALENT:
        return f"in {phase.phase}, within {show.percent(margin)}{note}"
    return f"in {phase.phase}{note}"


def _kind_in_cells(kind: KindCount, margin: float) -> str:
    match kind.kind:
        case VerdictKind.FASTER:
            return f"{_factor(kind)} faster"
        case VerdictKind.SLOWER:
            return f"{_factor(kind)} slower"
        case VerdictKind.EQUIVALENT:
            return f"within {show.percent(margin)}"
        case VerdictKind.INCONCLUSIVE:
            return "undecided"
        case VerdictKind.INVALID:
            return "without a valid comparison"


def _factor(kind: KindCount) -> str:
    """`1.31x`, `1.31x to 1.52x`; a faster one by the inverse, `1.25x` for 0.80."""
    assert kind.least is not None
    assert kind.most is not None
    least, most = kind.least, kind.most
    if kind.kind is VerdictKind.FASTER:
        least, most = _inverse(most), _inverse(least)
    low, high = show.times(least.point), show.times(most.point)
    return low if low == high else f"{low} to {high}"


def _interval(kind: KindCount) -> str:
    """`1.29 to 1.33`, of one cell; several have none in common."""
    if kind.cells != 1 or kind.least is None:
        return ""
    inverted = kind.kind is VerdictKind.FASTER
    ratio = _inverse(kind.least) if inverted else kind.least
    low, high = _bounds(ratio)
    ours = f", {show.times(kind.least.point)} its time" if inverted else ""
    before = "" if kind.kind in (VerdictKind.FASTER, VerdictKind.SLOWER) else f"{show.times(ratio.point)}, "
    return f"{before}{low} to {high}{ours}"


def _bounds(ratio: Estimate) -> tuple[str, str]:
    """Rounded outwards, as fine as a factor is told, and finer by one digit where that would not tell the
    bounds apart."""
    decimals = show.times_decimals(ratio.low)
    finer = ratio.high - ratio.low < 2.0 * 10.0**-decimals
    unit = Decimal(1).scaleb(-decimals - finer)
    low = Decimal(repr(ratio.low)).quantize(unit, rounding=ROUND_FLOOR)
    return f"{low:f}", f"{Decimal(repr(ratio.high)).quantize(unit, rounding=ROUND_CEILING):f}"


def _inverse(ratio: Estimate) -> Estimate:
    return replace(ratio, point=1.0 / ratio.point, low=1.0 / ratio.high, high=1.0 / ratio.low)


def _about_phases(conclusion: Conclusion) -> Sentence:
    """The other phases, those of one verdict together."""
    told: dict[str, list[str]] = {}
    for phase in conclusion.phases[1:]:
        one = phase.unanimous
        said = _kind_in_cells(one, conclusion.margin) if one else "not alike in all cells"
        told.setdefault(said, []).append(phase.phase)
    listed = [f"{_listed(phases)} {said}" for said, phases in told.items()]
    return (_text(f"by phase, {', '.join(listed)}"),) if listed else ()


def _listed(names: Sequence[str]) -> str:
    """`forward`, `forward and loss`, `forward, loss and optimizer`."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def _in_ranges(conclusion: Conclusion) -> list[str]:
    """`1.09x slower at features ≤ 128`."""
    return [
        f"{_kind_in_cells(each.found, conclusion.margin)} at {_range(each)}" for each in conclusion.ranges
    ]


def _about_ranges(conclusion: Conclusion) -> Sentence:
    told = [f"at {_range(each)} {_kind_of_range(each.kind, conclusion.margin)}" for each in conclusion.ranges]
    return (_text(", ".join(told)),) if told else ()


def _range(each: AxisRange) -> str:
    if each.begin is None:
        return f"{each.axis} ≤ {each.end}"
    if each.end is None:
        return f"{each.axis} ≥ {each.begin}"
    return (
        f"{each.axis} = {each.begin}" if each.begin == each.end else f"{each.axis} {each.begin} to {each.end}"
    )


def _kind_of_range(kind: VerdictKind, margin: float) -> str:
    match kind:
        case VerdictKind.EQUIVALENT:
            return f"the difference is within {show.percent(margin)}"
        case VerdictKind.INCONCLUSIVE:
            return "it is undecided"
        case _:
            return f"it is {kind.value.lower()}"


def _about_memory(memory: MemoryRatio | None) -> Sentence:
    if memory is None:
        return ()
    if abs(memory.least - 1.0) <= SAME_MEMORY and abs(memory.most - 1.0) <= SAME_MEMORY:
        return (_text("it needs the same memory"),)
    low, high = show.times(memory.least), show.times(memory.most)
    return (_text(f"it needs {low if low == high else f'{low} to {high}'} the memory"),)


def _about_failures(conclusion: Conclusion) -> Sentence:
    ends = [f"{outcome.value} in {show.plural(number, 'cell')}" for outcome, number in conclusion.failed]
    if conclusion.unreached:
        ends.append(f"not reached in {show.plural(conclusion.unreached, 'cell')}")
    return (_text(f"not measured: {', '.join(ends)}"),) if ends else ()


def _name(text: str) -> Piece:
    return Piece(text=text, name=True)


def _text(text: str) -> Piece:
    return Piece(text=text)


def _joined(clauses: Sequence[Sentence], between: str) -> Sentence:
    parts: list[Piece] = []
    for clause in clauses:
        parts += [_text(between), *clause] if parts else clause
    return tuple(parts)


def _capital(parts: Sentence) -> Sentence:
    """A sentence that does not begin with a name begins with a capital."""
    first = parts[0]
    return parts if first.name else (_text(first.text[:1].upper() + first.text[1:]), *parts[1:])


def _merged(parts: Sequence[Piece]) -> Sentence:
    """Neighbouring words as one piece; empty ones left out."""
    merged: list[Piece] = []
    for part in parts:
        if part.text and merged and not part.name and not merged[-1].name:
            merged[-1] = _text(merged[-1].text + part.text)
        elif part.text:
            merged.append(part)
    return tuple(merged)
