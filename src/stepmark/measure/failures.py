"""From an exception or a dead process to a Failure."""

from __future__ import annotations

import os
import signal
import traceback
from pathlib import Path
from types import TracebackType

from stepmark.errors import StepmarkError, TooLarge, TooLong, Uncapturable, Unsupported
from stepmark.records.outcome import Cause, Failure, Outcome, Stage

_ALLOCATION_MESSAGES = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "Cannot allocate memory",
)
"""What torch's CPU and CUDA allocators say in a plain RuntimeError."""

_LONGEST = 32_768
"""Characters of a text that are kept: a journal holds no message of 100 MB, and a store need not."""

_HERE = str(Path(__file__).resolve().parent.parent) + os.sep


class LaneStopped(Exception):
    """A lane cannot go on; the others can, unless it `ends_process`."""

    def __init__(self, failure: Failure, *, ends_process: bool = False) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.ends_process = ends_process
        """Nothing in this process can be measured any more, whoever's turn it is."""


def from_exception(error: BaseException, stage: Stage) -> Failure:
    """What an exception says about the case that raised it."""
    name = type(error).__name__
    text = _text(error)
    line = text.splitlines()[0] if text else ""
    message = f"{name}: {line}" if line else name
    outcome, cause = Outcome.CRASHED, Cause.EXCEPTION
    if isinstance(error, Unsupported):
        outcome, cause, message = Outcome.UNSUPPORTED, Cause.DECLARED, line or "declared unsupported"
    elif isinstance(error, Uncapturable):
        outcome, message = Outcome.UNSUPPORTED, line
    elif isinstance(error, TooLarge):
        outcome, cause, message = Outcome.OUT_OF_MEMORY, Cause.PREDICTED, line
    elif isinstance(error, TooLong):
        outcome, cause, message = Outcome.TIMED_OUT, Cause.PREDICTED, line
    elif isinstance(error, StepmarkError):
        cause, message = Cause.MISTAKE, error.problem
    elif isinstance(error, SystemExit):
        cause = Cause.EXIT
    elif is_allocation_failure(error):
        outcome, cause = Outcome.OUT_OF_MEMORY, Cause.MEMORY
    return Failure(
        outcome=outcome, cause=cause, stage=stage, message=message, traceback=user_traceback(error)
    )


def forget_frames(error: BaseException) -> None:
    """Let go of all that the frames of an exception and of its causes hold: tensors, mostly."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and not any(one is each for each in seen):
            seen.append(one)
            one.__traceback__ = None
            waiting += [one.__cause__, one.__context__]


def _text(error: BaseException) -> str:
    """What the exception says, whatever it is made of: it may have no text at all, or none that encodes."""
    try:
        return _shortened(_encodable(str(error))).strip()
    except BaseException:  # whatever its author lets it raise
        return ""


def _shortened(text: str) -> str:
    """Beginning and end of what is too long."""
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} ({len(text) - 2 * half} characters left out) {text[-half:]}"


def _encodable(text: str) -> str:
    """Without lone surrogates, which undecodable file names bring along and no journal can hold."""
    return text.encode(errors="backslashreplace").decode()


def is_allocation_failure(error: BaseException) -> bool:
    """Whether there was no memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(one in _text(error) for one in _ALLOCATION_MESSAGES)


def user_traceback(error: BaseException) -> str:
    """The traceback without stepmark's own leading frames: the user's code comes first."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and _is_ours(frames):
        frames = frames.tb_next
    if frames is None and not isinstance(error, SyntaxError):  # that one names the user's line itself
        frames = error.__traceback__
    return _shortened(_encodable("".join(traceback.format_exception(type(error), error, frames))))


def _is_ours(frame: TracebackType) -> bool:
    name = frame.tb_frame.f_code.co_filename
    if name.startswith((f"{_HERE}suites", f"{_HERE}zoo")):  # measured, like a user's own code
        return False
    return name.startswith((_HERE, "<frozen importlib"))


def from_exit(status: int, stage: Stage, *, oom_killed: bool, output: str = "") -> Failure:
    """What a process's end says, given that it had not finished. Negative status: killed by that signal."""
    fault = fault_traceback(output)
    if status < 0 and oom_killed:
        return Failure(
            outcome=Outcome.OUT_OF_MEMORY,
            cause=Cause.OOM_KILLER,
            stage=stage,
            message="killed by the kernel for memory",
            output=output,
        )
    if status < 0:
        message = f"killed by {signal_name(-status)}"
        cause = Cause.SIGNAL
    else:
        message = f"the process left with exit code {status}"
        cause = Cause.EXIT
    return Failure(
        outcome=Outcome.CRASHED, cause=cause, stage=stage, message=message, traceback=fault, output=output
    )


def from_hang(seconds: float, stage: Stage, *, output: str = "") -> Failure:
    """What a silent process says."""
    return Failure(
        outcome=Outcome.TIMED_OUT,
        cause=Cause.HANG,
        stage=stage,
        message=f"no progress for {seconds:g} s",
        traceback=fault_traceback(output),
        output=output,
    )


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def fault_traceback(output: str) -> str:
    """What Python's fault handler wrote to the worker's output as it went down."""
    for opening in ("Fatal Python error:", "Current thread 0x", "Thread 0x"):
        position = output.rfind(opening)
        if position >= 0:
            return output[position:]
    return ""
