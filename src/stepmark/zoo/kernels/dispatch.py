"""Dispatch by measurement: which of several ways to compute the same thing is the fastest here.

A choice is made once for an operation, a key (its sizes and dtype) and a device, in two regimes: called from
Python, where host time counts, and captured in a CUDA graph, where it does not. Choices come from tables that
are shipped, from the user's own file, or are measured on the spot; measured ones are written to that file.

Method.   Every candidate is called three times (the first compiles), then timed in three rounds of all
          candidates; the fastest round counts. Eager: calls in a row, one wait at the end. Captured: replays
          of a graph of several calls, as a replay by itself takes 5 µs; calls that take LONG are not
          captured, what is the fastest from Python is so in a graph. Within 2 % of the default the default
          stays. A candidate whose result is another than the default's is out, however fast; so each must
          give the same however often it is called, and not add to what is there.
Autograd. Passes that autograd makes take host time of their own: 0.9 to 1.2 ms on an H200 for a layer whose
          calls without it take 0.3 to 0.4. So candidates may be given twice: through autograd, as they are
          called from Python, which decides for eager; and without it, which decides for graphs. Those are
          timed in graphs however LONG, as a wait for the host would look as long, unless they are FromPython.
          All are measured undisturbed by what the caller has switched on or off (undisturbed.py).
Bounds.   SECONDS_PER_CHOICE for measuring, compiling aside; candidates still unmeasured then are out. While a
          graph is captured, or torch.compile traces, nothing is measured: the default is taken.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from stepmark.zoo.kernels.undisturbed import undisturbed, waits_allowed

Key = tuple[int | str, ...]
Call = Callable[[], object]

SECONDS_PER_CHOICE = 2.0
ROUNDS = 3
ROUND_SECONDS = 0.01
MOST_CALLS = 200
CALLS_IN_A_GRAPH = 10
LONG = 0.3e-3
"""Seconds of a call behind which launches are hidden: as fast in a graph as outside."""
WORTH = 0.98
"""Of the default's time: another candidate must take less than this."""
EMPTY = ".*Graph is empty"
"""torch's warning of a capture that ends before anything was launched, as where a candidate refuses it."""
AGREEMENT = 0.1
"""Of the default's result, by norms: codes of eight bits differ by hundredths, a broken kernel by all."""
TABLES = Path(__file__).parent / "tables"
_writing = threading.Lock()
"""Threads would read the same table, and write into one file beside it."""


class FromPython(partial[object]):
    """A candidate that is timed from Python for graphs too: it is not captured."""


class Choice(NamedTuple):
    """The fastest candidate in each regime."""

    eager: str
    captured: str


def choose(
    operation: str,
    key: Key,
    candidates: Mapping[str, Call],
    *,
    default: str,
    through_autograd: Mapping[str, Call] | None = None,
) -> str:
    """The fastest candidate's name. `operation` carries a version, raised with the code: "norm-forward/1".
    `through_autograd` are the same candidates as they are called from Python, if that is otherwise."""
    captured = is_for_a_graph()
    known = choices().get(name := choice_name(operation, key))
    if known is None or known.eager not in candidates or known.captured not in candidates:
        if is_capturing() or torch.compiler.is_compiling():
            return default
        measured = partial(measure, candidates, default=default, through_autograd=through_autograd)
        with waits_allowed():
            known = undisturbed(measured if through_autograd else torch.no_grad()(measured))
        choices()[name] = known
        with _writing:
            _write_down(name, known)
    return known.captured if captured else known.eager


def is_capturing() -> bool:
    """Whether calls go into a CUDA graph now; a torch without CUDA cannot be asked."""
    begun: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return begun and torch.cuda.is_current_stream_capturing()


@contextlib.contextmanager
def rehearsing() -> Iterator[None]:
    """Inside, choices are those of a graph: the last plain call before a capture compiles and loads what the
    capture will launch."""
    before = _rehearsal.is_on
    _rehearsal.is_on = True
    try:
        yield
    finally:
        _rehearsal.is_on = before


class _Rehearsal:
    is_on = False


_rehearsal = _Rehearsal()
"""Of the whole process: backward passes on CUDA run in a thread of their own."""


def is_for_a_graph() -> bool:
    """Captured now, or rehearsed."""
    return _rehearsal.is_on or is_capturing()


def choice_name(operation: str, key: Key) -> str:
    return f"{operation}|{','.join(map(str, key))}"


@cache
def choices() -> dict[str, Choice]:
    """What is known on the current device: shipped tables first, the user's own file over them."""
    found: dict[str, Choice] = {}
    for file in (*sorted(TABLES.glob("*.json")), own_file()):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            table = json.loads(file.read_text())
            if table["made_for"] == made_for():
                found |= {name: Choice(*names) for name, names in table["choices"].items()}
    return found


@cache
def made_for() -> dict[str, str]:
    """What a choice depends on besides its key; patch levels do not count."""
    import triton

    short = {"torch": str(torch.__version__), "triton": triton.__version__}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"device": device, **{name: ".".join(text.split(".")[:2]) for name, text in short.items()}}


def own_file() -> Path:
    """STEPMARK_CHOICES names another."""
    import platformdirs

    named = os.environ.get("STEPMARK_CHOICES")
    made = "-".join(made_for().values()).lower().replace(" ", "-")
    return Path(named) if named else platformdirs.user_cache_path("stepmark") / "choices" / f"{made}.json"


def _write_down(name: str, choice: Choice) -> None:
    """Kept for the next process; a folder that cannot be written is no reason to fail."""
    file, known = own_file(), dict[str, Any]()
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        table = json.loads(file.read_text())
        known = dict(table["choices"]) if table["made_for"] == made_for() else known
    kept = {"made_for": made_for(), "choices": known | {name: list(choice)}}
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f"{file.name}.{os.getpid()}")
        beside.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        beside.replace(file)


def measure(
    candidates: Mapping[str, Call], *, default: str, through_autograd: Mapping[str, Call] | None = None
) -> Choice:
    """Both regimes. A candidate that raises is out; where the default raises and nothing else is left, its
    error goes on."""
    if through_autograd:
        return Choice(_fastest_from_python(through_autograd, default), _fastest_kernels(candidates, default))
    ready = _warmed(candidates, default)
    deadline = time.perf_counter() + SECONDS_PER_CHOICE
    eager = _fastest(ready, default, deadline - SECONDS_PER_CHOICE / 2)
    if _seconds(ready[eager]) > LONG:
        return Choice(eager, eager)
    graphs = _graphs(ready)
    return Choice(eager, _fastest(graphs, default, deadline) if default in graphs else eager)


def _fastest_from_python(candidates: Mapping[str, Call], default: str) -> str:
    ready = _warmed(candidates, default)
    return _fastest(ready, default, time.perf_counter() + SECONDS_PER_CHOICE / 2)


def _fastest_kernels(candidates: Mapping[str, Call], default: str) -> str:
    """In graphs, or from Python where the default cannot be captured."""
    ready = _warmed(candidates, default)
    deadline = time.perf_counter() + SECONDS_PER_CHOICE / 2
    graphs = _graphs(ready)
    return _fastest(graphs if default in graphs else ready, default, deadline)


def _warmed(candidates: Mapping[str, Call], default: str) -> dict[str, Call]:
    ready: dict[str, Call] = {}
    errors: dict[str, Exception] = {}
    expected: list[torch.Tensor] = []
    for name in sorted(candidates, key=lambda name: name != default):
        call = candidates[name]
        try:
            found = _tensors(call())
            for _ in range(2):
                call()
            _wait()
            # A copy, because candidates may share the tensor that they write.
            expected = expected or [one.clone() for one in found]
            if not _agree(found, expected):
                continue
        except Exception as error:  # whatever a compiler or driver finds wrong with a configuration
            errors[name] = error
        else:
            ready[name] = call
    if not ready:
        raise errors[default]
    return ready


def _tensors(result: object) -> list[torch.Tensor]:
    many = result if isinstance(result, tuple | list) else (result,)
    return [one.detach() for one in many if isinstance(one, torch.Tensor) and one.is_floating_point()]


def _agree(found: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    """Fast and wrong is out. Where the default itself is not finite there is nothing to hold against it."""
    if [one.shape for one in found] != [one.shape for one in expected]:
        return False
    for one, other in zip(found, expected, strict=True):
        size = _norm(other)
        if torch.isfinite(size) and not _norm(one - other) <= AGREEMENT * size:
            return False
    return True


def _norm(one: torch.Tensor) -> torch.Tensor:
    size: torch.Tensor = torch.linalg.vector_norm(one, dtype=torch.promote_types(one.dtype, torch.float32))
    return size


def _fastest(calls: Mapping[str, Call], default: str, deadline: float) -> str:
    order = sorted(calls, key=lambda name: name != default)
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name in order:
            if name == default or time.perf_counter() < deadline:
                best[name] = min(best.get(name, float("inf")), _seconds(calls[name]))
    fastest = min(best, key=lambda name: best[name])
    return default if default in best and best[fastest] > WORTH * best[default] else fastest


def _seconds(call: Call) -> float:
    _wait()
    begin = time.perf_counter()
    call()
    _wait()
    number = max(3, min(MOST_CALLS, int(ROUND_SECONDS / (time.perf_counter() - begin))))
    begin = time.perf_counter()
    for _ in range(number):
        call()
    _wait()
    return (time.perf_counter() - begin) / number


def _graphs(calls: Mapping[str, Call]) -> dict[str, Call]:
    """Replays of what can be captured; none where there is no device."""
    replays: dict[str, Call] = {}
    if not torch.cuda.is_available():
        return replays
    for name, call in calls.items():
        if isinstance(call, FromPython):
            continue
        graph = torch.cuda.CUDAGraph()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=EMPTY)
                with torch.cuda.graph(graph):
                    for _ in range(CALLS_IN_A_GRAPH):
                        call()
        except Exception:  # not capturable: out of this regime
            _wait()
        else:
            replays[name] = graph.replay
    return replays


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
