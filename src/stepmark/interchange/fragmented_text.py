"""The text of FragmentedLinear's benchmark script: nn.Linear and FragmentedLinear by sizes and fragments.

    <empty>
    Benchmarking with input_size=N, output_size=N, batch_size=B
    <empty>
    Detailed Results:
    Linear Layer:
      Forward time: %.2fms
      Backward time: %.2fms
      Peak memory: %.1fMB
      Parameters: %d
    <empty>
    FragmentedLinear (Train) Results:
                              then for each number of fragments: <empty>, `Fragments: F`, the four lines
    <empty>
    FragmentedLinear (Inference) Results:
                              and the same again

What stands before, between and behind sections is kept as text. `nan` stands for what was not measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from stepmark.interchange.broken import BrokenFile, quoted
from stepmark.interchange.lines import Loose, join, kept, loose_lines, split
from stepmark.interchange.numerals import WHOLE
from stepmark.records.record import Record

MEBIBYTE = 1 << 20
"""What the script calls MB."""

_HEADING = re.compile(rf"Benchmarking with input_size=({WHOLE}), output_size=({WHOLE}), batch_size=({WHOLE})")
_FRAGMENTS = re.compile(rf"Fragments: ({WHOLE})")
_FORWARD = re.compile(r"  Forward time: ([0-9]+\.[0-9]{2}|nan)ms")
_BACKWARD = re.compile(r"  Backward time: ([0-9]+\.[0-9]{2}|nan)ms")
_PEAK = re.compile(r"  Peak memory: ([0-9]+\.[0-9]|nan)MB")
_PARAMETERS = re.compile(rf"  Parameters: ({WHOLE})")
_INSIDE = re.compile(
    r"Benchmarking with |Detailed Results:|Linear Layer:|FragmentedLinear \(|Fragments: |  \w+ time:"
)
"""Lines that belong into a section: one that stands outside shows that its section was damaged."""
_TRAIN, _INFERENCE = "FragmentedLinear (Train) Results:", "FragmentedLinear (Inference) Results:"


class Figures(Record, frozen=True, kw_only=True):
    """The four lines of one layer, numbers as they were printed."""

    forward: str
    """Milliseconds, mean of 100 iterations."""
    backward: str
    """Milliseconds: zero_grad, backward and the optimizer's step."""
    peak: str
    """Mebibytes."""
    parameters: int

    @property
    def forward_seconds(self) -> float:
        return float(self.forward) / 1e3

    @property
    def backward_seconds(self) -> float:
        return float(self.backward) / 1e3

    @property
    def peak_bytes(self) -> float:
        return float(self.peak) * MEBIBYTE


class Fragmented(Record, frozen=True, kw_only=True):
    """FragmentedLinear with so many fragments."""

    fragments: int
    figures: Figures


class Section(Record, frozen=True, kw_only=True, tag="section"):
    """Everything about one size and batch."""

    input_size: int
    output_size: int
    batch_size: int
    linear: Figures
    train: tuple[Fragmented, ...]
    inference: tuple[Fragmented, ...]
    """The same layers in evaluation mode; they are trained all the same."""


class FragmentedText(Record, frozen=True, kw_only=True, tag="fragmented-text"):
    """A whole file."""

    newline: str = "\n"
    parts: tuple[Loose | Section, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        return tuple(part for part in self.parts if isinstance(part, Section))


def parse(text: str, name: str) -> FragmentedText:
    """Sections, and the text around them."""
    newline, lines = split(text)
    reader = _Reader(lines, name)
    parts: list[Loose | Section] = []
    loose: list[str] = []
    while not reader.at_end:
        heading = _HEADING.fullmatch(reader.line)
        if heading is None:
            if _INSIDE.match(reader.line):
                reader.refuse("a line of a section that stands outside of one")
            loose.append(reader.take())
            continue
        parts += [*kept(loose), _section(reader)]
        loose = []
    parts += kept(loose)
    document = FragmentedText(newline=newline, parts=tuple(parts))
    if not document.sections:
        raise BrokenFile(name, 1, "no line 'Benchmarking with input_size=..., output_size=..., ...'")
    return document


def render(document: FragmentedText) -> str:
    """The inverse of `parse`."""
    return join(document.newline, (line for part in document.parts for line in _part_lines(part)))


class _Reader:
    """Takes one line after the other, and knows where it is."""

    def __init__(self, lines: tuple[str, ...], name: str) -> None:
        self._lines, self._name = lines, name
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._lines)

    @property
    def line(self) -> str:
        return self._lines[self._at]

    @property
    def next(self) -> str:
        """The line after this one."""
        return self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""

    def take(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def expect(self, *texts: str) -> None:
        """These lines, one after the other."""
        for text in texts:
            if self.at_end or self.line != text:
                self.refuse(f"expected {text!r}")
            self._at += 1

    def match(self, pattern: re.Pattern[str], like: str) -> tuple[str, ...]:
        """The groups of a line; `like` is an example of it."""
        found = None if self.at_end else pattern.fullmatch(self.line)
        if found is None:
            self.refuse(f"expected a line like {like!r}")
        self._at += 1
        return found.groups()

    def refuse(self, problem: str) -> NoReturn:
        found = "the file ends here" if self.at_end else f"found {quoted(self.line)}"
        raise BrokenFile(self._name, self._at + 1, f"{problem}, {found}")


def _section(reader: _Reader) -> Section:
    sizes = map(int, reader.match(_HEADING, "Benchmarking with input_size=..."))
    input_size, output_size, batch_size = sizes
    reader.expect("", "Detailed Results:", "Linear Layer:")
    linear = _figures(reader)
    reader.expect("", _TRAIN)
    train = tuple(_all_fragments(reader))
    reader.expect("", _INFERENCE)
    inference = tuple(_all_fragments(reader))
    for member in train[len(inference) :]:
        reader.refuse(f"expected 'Fragments: {member.fragments}', as in the part above")
    return Section(
        input_size=input_size,
        output_size=output_size,
        batch_size=batch_size,
        linear=linear,
        train=train,
        inference=inference,
    )


def _all_fragments(reader: _Reader) -> Iterator[Fragmented]:
    while not reader.at_end and not reader.line and reader.next.startswith("Fragments:"):
        reader.take()
        (fragments,) = reader.match(_FRAGMENTS, "Fragments: 8")
        yield Fragmented(fragments=int(fragments), figures=_figures(reader))


def _figures(reader: _Reader) -> Figures:
    (forward,) = reader.match(_FORWARD, "  Forward time: 0.10ms")
    (backward,) = reader.match(_BACKWARD, "  Backward time: 0.89ms")
    (peak,) = reader.match(_PEAK, "  Peak memory: 96.3MB")
    (parameters,) = reader.match(_PARAMETERS, "  Parameters: 4196352")
    return Figures(forward=forward, backward=backward, peak=peak, parameters=int(parameters))


def _part_lines(part: Loose | Section) -> Iterator[str]:
    if not isinstance(part, Section):
        yield from loose_lines(part)
        return
    sizes = f"input_size={part.input_size}, output_size={part.output_size}, batch_size={part.batch_size}"
    yield from (f"Benchmarking with {sizes}", "", "Detailed Results:", "Linear Layer:")
    yield from _figure_lines(part.linear)
    for title, members in ((_TRAIN, part.train), (_INFERENCE, part.inference)):
        yield from ("", title)
        for member in members:
            yield from ("", f"Fragments: {member.fragments}")
            yield from _figure_lines(member.figures)


def _figure_lines(figures: Figures) -> Iterator[str]:
    yield f"  Forward time: {figures.forward}ms"
    yield f"  Backward time: {figures.backward}ms"
    yield f"  Peak memory: {figures.peak}MB"
    yield f"  Parameters: {figures.parameters}"
