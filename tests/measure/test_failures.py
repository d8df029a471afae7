"""From exceptions and dead processes to failures."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import stepmark
from stepmark.errors import Uncapturable, Unsupported, UsageError
from stepmark.measure import failures
from stepmark.measure.failures import (
    LaneStopped,
    fault_traceback,
    from_exception,
    from_exit,
    from_hang,
    signal_name,
    user_traceback,
)
from stepmark.measure.protocol import LaneFailed
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from tests.support.properties import steady


def raised(act: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it is
        act()
    return caught.value


def throw(error: BaseException) -> Callable[[], NoReturn]:
    def act() -> NoReturn:
        raise error

    return act


class OutOfMemoryError(RuntimeError):
    """Named as torch's CUDA allocator names it."""


CUDA = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 139.00 GiB"


@pytest.mark.parametrize(
    "act",
    [
        lambda: torch.empty(1 << 60, dtype=torch.uint8),
        lambda: bytearray(1 << 60),
        throw(MemoryError()),
        throw(OutOfMemoryError("whatever it says")),
        throw(RuntimeError(CUDA)),
        throw(RuntimeError("unable to mmap 8 bytes: Cannot allocate memory (12)")),
        throw(RuntimeError("[enforce fail] not enough memory: you tried to allocate 8 bytes")),
    ],
    ids=["torch's CPU", "bytearray", "MemoryError", "CUDA by name", "CUDA by text", "mmap", "old CPU"],
)
def test_every_failed_allocation_is_out_of_memory(act: Callable[[], Any]) -> None:
    failure = from_exception(raised(act), Stage.WARMUP)
    assert (failure.outcome, failure.cause) == (Outcome.OUT_OF_MEMORY, Cause.MEMORY)
    assert failure.stage is Stage.WARMUP


@pytest.mark.parametrize(
    "error", [ValueError("out of memory"), RuntimeError("shapes do not match"), OSError(12, "x")]
)
def test_what_only_looks_like_it_is_a_crash(error: BaseException) -> None:
    failure = from_exception(raised(throw(error)), Stage.BUILD)
    assert (failure.outcome, failure.cause) == (Outcome.CRASHED, Cause.EXCEPTION)


def test_a_variant_may_say_that_it_does_not_exist_here() -> None:
    failure = from_exception(raised(throw(Unsupported("only for wide layers"))), Stage.BUILD)
    assert (failure.outcome, failure.cause) == (Outcome.UNSUPPORTED, Cause.DECLARED)
    assert failure.message == "only for wide layers"
    assert from_exception(raised(throw(Unsupported("a\nb"))), Stage.BUILD).message == "a"
    assert from_exception(raised(throw(Unsupported())), Stage.BUILD).message == "declared unsupported"


def test_a_bench_file_that_uses_stepmark_wrongly_is_a_mistake() -> None:
    failure = from_exception(
        raised(throw(UsageError("returned nothing", remedy="return a Step"))), Stage.BUILD
    )
    assert (failure.outcome, failure.cause) == (Outcome.CRASHED, Cause.MISTAKE)
    assert failure.message == "returned nothing"


@pytest.mark.parametrize(("code", "message"), [(3, "SystemExit: 3"), ("enough", "SystemExit: enough")])
def test_leaving_by_sys_exit_is_an_exit(code: int | str, message: str) -> None:
    failure = from_exception(raised(throw(SystemExit(code))), Stage.STEP)
    assert (failure.outcome, failure.cause, failure.message) == (Outcome.CRASHED, Cause.EXIT, message)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("plain"), "ValueError: plain"),
        (ValueError(), "ValueError"),
        (ValueError("\n  \n"), "ValueError"),
        (ValueError("\nfirst\nsecond"), "ValueError: first"),
        (KeyError("k"), "KeyError: 'k'"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_the_message_is_one_line(error: BaseException, message: str) -> None:
    failure = from_exception(raised(throw(error)), Stage.BUILD)
    assert failure.message == message
    assert type(error).__name__ in failure.traceback


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@steady
@given(st.text(st.characters()) | st.just("\udcff"))
def test_any_text_can_be_journalled(text: str) -> None:
    """Undecodable file names arrive as lone surrogates, which MessagePack refuses."""
    failure = from_exception(raised(throw(ValueError(text))), Stage.BUILD)
    assert failure.message.splitlines() == [failure.message]
    event = LaneFailed(variant="mine", failure=failure)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=LaneFailed) == event


def test_an_exception_that_cannot_say_what_it_is_still_is_one() -> None:
    failure = from_exception(raised(throw(Mute())), Stage.BUILD)
    assert (failure.outcome, failure.message) == (Outcome.CRASHED, "Mute")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


def test_an_exception_that_leaves_when_it_is_asked_still_is_one() -> None:
    failure = from_exception(raised(throw(Leaving())), Stage.BUILD)
    assert (failure.outcome, failure.message) == (Outcome.CRASHED, "Leaving")


@pytest.mark.parametrize("line", ["x" * 10**7, "x\n" * 10**7], ids=["one line", "many lines"])
def test_an_endless_text_is_kept_by_its_ends(line: str) -> None:
    failure = from_exception(raised(throw(ValueError(f"first {line} last"))), Stage.BUILD)
    assert failure.message.startswith("ValueError: first x")
    assert failure.traceback.startswith("Traceback (most recent call last)")
    assert "characters left out" in failure.traceback
    assert failure.traceback.endswith("last\n")
    assert len(failure.message) + len(failure.traceback) < 70_000


def module_at(path: Path, text: str) -> ModuleType:
    """A module whose code claims to be of this path."""
    module = ModuleType("made_up")
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


HOME = Path(stepmark.__file__).parent
ENTER = "def enter(call):\n    return call()\n"
FAIL = "def fail():\n    raise ValueError('theirs')\n"


def frames_shown(*places: Path) -> list[str]:
    """File names in the traceback of an error that passes through these files, the last raising it."""
    call = module_at(places[-1], FAIL).fail
    for place in reversed(places[:-1]):
        call = partial(module_at(place, ENTER).enter, call)
    error = raised(call)
    wanted = {place.name for place in places}
    tail = error.__traceback__
    while tail is not None and Path(tail.tb_frame.f_code.co_filename).name not in wanted:
        tail = tail.tb_next  # the frames of this test
    lines = user_traceback(error.with_traceback(tail)).splitlines()
    names = [Path(line.split('"')[1]).name for line in lines if line.startswith("  File")]
    return [name for name in names if name in wanted]


def test_stepmarks_leading_frames_are_left_out_and_the_users_are_kept() -> None:
    ours, inner = HOME / "engines" / "worker_like.py", HOME / "measure" / "lane_like.py"
    theirs, library = Path("/home/ann/bench_it.py"), Path("/usr/lib/python/torch_like.py")
    assert frames_shown(ours, inner, theirs, library) == ["bench_it.py", "torch_like.py"]
    assert frames_shown(ours, theirs, inner, library) == ["bench_it.py", "lane_like.py", "torch_like.py"]


def test_built_in_suites_count_as_the_users() -> None:
    assert frames_shown(HOME / "engines" / "worker_like.py", HOME / "suites" / "demo_like.py") == [
        "demo_like.py"
    ]


def test_a_neighbour_of_the_package_is_the_users() -> None:
    beside = HOME.parent / f"{HOME.name}_benches" / "bench_it.py"
    assert frames_shown(HOME / "engines" / "worker_like.py", beside) == ["bench_it.py"]


def test_where_all_frames_are_ours_they_are_all_shown() -> None:
    places = [HOME / "engines" / "worker_like.py", HOME / "measure" / "lane_like.py"]
    assert frames_shown(*places) == ["worker_like.py", "lane_like.py"]


def test_the_cause_of_an_error_is_told_too() -> None:
    def act() -> None:
        try:
            raise KeyError("the first")
        except KeyError as error:
            raise ValueError("the second") from error

    shown = user_traceback(raised(act))
    assert shown.index("the first") < shown.index("the second")


def test_a_stopped_lane_carries_its_failure() -> None:
    failure = from_exit(3, Stage.ROUNDS, oom_killed=False)
    assert LaneStopped(failure).failure is failure
    assert str(LaneStopped(failure)) == failure.message


FAULT = """printed before
Fatal Python error: Segmentation fault

Current thread 0x0000000000000001 (most recent call first):
  File "bench.py", line 7 in forward
"""


def test_a_signal_is_named_with_the_fault_handlers_traceback() -> None:
    failure = from_exit(-signal.SIGSEGV, Stage.ROUNDS, oom_killed=False, output=FAULT)
    assert (failure.outcome, failure.cause) == (Outcome.CRASHED, Cause.SIGNAL)
    assert failure.message == "killed by SIGSEGV"
    assert failure.traceback.startswith("Fatal Python error: Segmentation fault")
    assert failure.output == FAULT


@pytest.mark.parametrize("status", [0, 1, 70])
def test_a_process_that_just_left(status: int) -> None:
    failure = from_exit(status, Stage.STEP, oom_killed=False, output="bye")
    assert (failure.outcome, failure.cause) == (Outcome.CRASHED, Cause.EXIT)
    assert failure.message == f"the process left with exit code {status}"
    assert (failure.output, failure.traceback, failure.stage) == ("bye", "", Stage.STEP)


def test_the_kernels_oom_killer() -> None:
    failure = from_exit(-signal.SIGKILL, Stage.WARMUP, oom_killed=True, output="bye")
    assert (failure.outcome, failure.cause) == (Outcome.OUT_OF_MEMORY, Cause.OOM_KILLER)
    assert failure.output == "bye"
    assert from_exit(-signal.SIGKILL, Stage.WARMUP, oom_killed=False).message == "killed by SIGKILL"
    assert from_exit(1, Stage.WARMUP, oom_killed=True).cause is Cause.EXIT, "it left before it was killed"


def test_a_hang_says_how_long_and_where() -> None:
    failure = from_hang(1.5, Stage.ROUNDS, output=FAULT)
    assert (failure.outcome, failure.cause) == (Outcome.TIMED_OUT, Cause.HANG)
    assert failure.message == "no progress for 1.5 s"
    assert "bench.py" in failure.traceback


@pytest.mark.parametrize("number", sorted(signal.Signals))
def test_signals_have_names(number: int) -> None:
    assert signal_name(number) == signal.Signals(number).name


def test_a_signal_python_does_not_know() -> None:
    assert signal_name(63) == "signal 63"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", ""),
        ("all is well", ""),
        (
            "x\nCurrent thread 0x7f (most recent call first):\n  a",
            "Current thread 0x7f (most recent call first):\n  a",
        ),
        ("x\nThread 0x7f (most recent call first):\n  a", "Thread 0x7f (most recent call first):\n  a"),
        ("Fatal Python error: A\nFatal Python error: B\nThread 0x1", "Fatal Python error: B\nThread 0x1"),
    ],
)
def test_the_fault_handlers_last_words_are_found(output: str, expected: str) -> None:
    assert fault_traceback(output) == expected


def test_this_package_is_where_it_says() -> None:
    assert str(HOME.resolve()) + os.sep == failures._HERE


def test_failures_are_records() -> None:
    failure = from_exception(raised(throw(ValueError("x"))), Stage.BUILD)
    assert msgspec.json.decode(msgspec.json.encode(failure), type=Failure) == failure


def test_what_cannot_be_captured_is_unsupported_for_a_reason_that_was_raised() -> None:
    failure = from_exception(Uncapturable("cannot be captured: in forward it waits"), Stage.STEP)
    assert (failure.outcome, failure.cause) == (Outcome.UNSUPPORTED, Cause.EXCEPTION)
    assert failure.message == "cannot be captured: in forward it waits"
