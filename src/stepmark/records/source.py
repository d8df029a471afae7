"""Where a suite comes from, so that a worker can make it again."""

from __future__ import annotations

from stepmark.records.record import Record


class FileSource(Record, frozen=True, kw_only=True, tag="file"):
    """A bench file on disk."""

    path: str
    """Absolute."""
    suite: str | None = None
    """One suite of the file, or all of them."""


class BuiltinSource(Record, frozen=True, kw_only=True, tag="builtin"):
    """A suite that comes with stepmark."""

    name: str


class ExpressionSource(Record, frozen=True, kw_only=True, tag="expressions"):
    """Modules written on the command line: what `stepmark versus` compares."""

    expressions: tuple[str, ...]
    """Python expressions; the first is the baseline."""
    inputs: tuple[str, ...]
    """Shapes with an optional dtype: `64x1024`, `64x16:int64`."""
    optimizer: str | None = None
    loss: str | None = None
    path: tuple[str, ...] = ()
    """Directories put on the import path."""


class PickledSource(Record, frozen=True, kw_only=True, tag="pickled"):
    """A suite object handed over by a program that uses stepmark as a library."""

    payload: bytes
    """cloudpickle of the Suite."""
    path: tuple[str, ...] = ()
    """The program's import path."""


Source = FileSource | BuiltinSource | ExpressionSource | PickledSource
