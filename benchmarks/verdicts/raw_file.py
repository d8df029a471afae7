"""The raw file: one JSON line a result, appended at once; a line torn by a crash is left out when read."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

import msgspec

from benchmarks.verdicts.results import Line

NAME = "raw.jsonl"

_decoder = msgspec.json.Decoder(Line)


def append(directory: Path, line: Line) -> None:
    """One line, in a single write; a torn line before it is ended first."""
    path = directory / NAME
    directory.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0, 2)
        if file.tell():
            file.seek(-1, 2)
            torn = file.read(1) != b"\n"
        else:
            torn = False
        file.write((b"\n" if torn else b"") + msgspec.json.encode(line) + b"\n")


def read(directory: Path) -> list[Line]:
    """In the order of writing; empty where there is no file."""
    plain, packed = directory / NAME, directory / f"{NAME}.gz"
    if plain.exists():
        return _parse(plain.read_bytes().splitlines())
    if packed.exists():
        return _parse(gzip.decompress(packed.read_bytes()).splitlines())
    return []


def _parse(texts: Iterable[bytes]) -> list[Line]:
    lines = []
    for text in texts:
        try:
            lines.append(_decoder.decode(text))
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:  # not JSON: a line torn by a crash
            continue
    return lines
