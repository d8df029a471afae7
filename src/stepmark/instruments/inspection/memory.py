"""Memory around a step: tensors alive that are not its own, and what iterations leave behind.

Tensors are found through Python's garbage collector; those that only C++ holds are not seen. `remember_start`
puts everything of the process so far aside: a look then takes a millisecond instead of a tenth of a second.
"""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from stepmark.instruments.inspection.storages import storages_of

_DEEPEST = 200_000
"""Objects looked at on the way from a step to its tensors."""
_ENDS = (types.ModuleType, type, types.FrameType, types.CodeType, str, bytes, int, float, bool, type(None))


@dataclass
class _Start:
    """What was known when the process began to work on its case."""

    started: bool = False
    before_build: list[weakref.ref[torch.UntypedStorage]] = field(default_factory=list)
    overlooked: list[weakref.ref[torch.UntypedStorage]] = field(default_factory=list)


_start = _Start()


def remember_start() -> None:
    """The process begins: what is here already belongs to nobody's case."""
    gc.collect()
    gc.freeze()
    _start.started = True
    _start.before_build, _start.overlooked = [], []


def remember_import() -> None:
    """The bench file has been imported and nothing has been built."""
    if _start.started:
        _start.before_build = _references(living_tensors())


def overlook(tensors: Iterable[torch.Tensor]) -> None:
    """These too are the harness's own."""
    _start.overlooked += _references(tensors)


@dataclass(frozen=True)
class Surroundings:
    """Bytes alive beside the step's own."""

    before_build: int
    own: int
    foreign: int


def surroundings(own: Iterable[torch.Tensor], reachable: Iterable[torch.Tensor]) -> Surroundings:
    """`own` is the step's by name, `reachable` whatever it holds besides; unknown where no start was seen."""
    own_sizes = _sizes(own)
    held = own_sizes.keys() | _sizes(reachable).keys()
    if not _start.started:
        return Surroundings(before_build=0, own=sum(own_sizes.values()), foreign=0)
    overlooked = {storage._cdata for storage in _alive(_start.overlooked)}
    early = {storage._cdata: storage.nbytes() for storage in _alive(_start.before_build)}
    later = {key: size for key, size in _sizes(living_tensors()).items() if key not in early}
    return Surroundings(
        before_build=sum(size for key, size in early.items() if key not in held),
        own=sum(own_sizes.values()),
        foreign=sum(size for key, size in later.items() if key not in held | overlooked),
    )


def living_tensors() -> Iterator[torch.Tensor]:
    """Every tensor that the collector knows of, since the start."""
    for one in gc.get_objects():
        # `isinstance` asks objects for their class, and a lazy one would answer by importing something.
        if issubclass(type(one), torch.Tensor):
            yield one


def made_since_start() -> list[torch.Tensor]:
    """Tensors of the process, where its start was seen: those of a test run or a notebook are nobody's."""
    return list(living_tensors()) if _start.started else []


def reachable_tensors(roots: Iterable[Any]) -> list[torch.Tensor]:
    """Tensors reached from the roots: through attributes, closures, and the globals that functions name."""
    waiting = list(roots)
    seen: set[int] = set()
    found: list[torch.Tensor] = []
    while waiting and len(seen) < _DEEPEST:
        one = waiting.pop()
        if id(one) in seen or issubclass(type(one), _ENDS):
            continue
        seen.add(id(one))
        if issubclass(type(one), torch.Tensor):
            found.append(one)
            waiting += [one.grad] if one.is_leaf and one.grad is not None else []
            continue
        waiting += _held_by(one)
    return found


def _held_by(one: Any) -> list[Any]:
    if not isinstance(one, types.FunctionType):
        return gc.get_referents(one)
    named = [one.__globals__[name] for name in _names(one.__code__) if name in one.__globals__]
    cells = [cell.cell_contents for cell in one.__closure__ or () if _is_filled(cell)]
    return [*named, *cells, *(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values(), one.__dict__]


def _names(code: types.CodeType) -> set[str]:
    """Globals that the code and the functions inside it name."""
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*(_names(one) for one in inner))


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell has no other way to say so
    except ValueError:
        return False
    return True


def _sizes(tensors: Iterable[torch.Tensor]) -> dict[int, int]:
    return {storage._cdata: storage.nbytes() for tensor in tensors for storage in _quietly(tensor)}


def _quietly(tensor: torch.Tensor) -> Iterable[torch.UntypedStorage]:
    """Storages with memory: those of torch's compiler, whose tensors name a device, are on none."""
    try:
        return [storage for storage in storages_of(tensor) if storage.device.type != "meta"]
    except (RuntimeError, NotImplementedError):
        return ()


def _references(tensors: Iterable[torch.Tensor]) -> list[weakref.ref[torch.UntypedStorage]]:
    return [weakref.ref(storage) for tensor in tensors for storage in _quietly(tensor)]


def _alive(references: Iterable[Callable[[], torch.UntypedStorage | None]]) -> Iterator[torch.UntypedStorage]:
    return (storage for reference in references if (storage := reference()) is not None)
