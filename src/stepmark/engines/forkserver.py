"""The fork server: a process that has imported torch and forks a worker for every request.

A worker then starts in some milliseconds instead of the seconds of `import torch`. The server imports, works
out what every worker would work out anew, and forks: it never touches a device and never runs the bench file.
It sleeps in `select`, and when the runner goes, it kills what is left and goes too. Of the runner's death it
hears twice, by the closed channel and by SIGTERM from the kernel: SIGKILL would leave it no time to kill what
workers started, which nobody else knows of.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator

from stepmark.engines.birth import be_a_worker, die_with_parent
from stepmark.engines.control import (
    CalledUp,
    ControlChannel,
    Exited,
    Kill,
    Preload,
    Preloaded,
    Start,
    Started,
)
from stepmark.engines.interpreter import search_current_folder
from stepmark.engines.orphans import Orphans

_COUNT_BY_NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"


class ForkServer:
    """Serves one runner until it leaves."""

    def __init__(self, channel: ControlChannel) -> None:
        self._channel = channel
        self._children: set[int] = set()
        self._standing_by: set[int] = set()
        """Children that have nothing to do yet, and so have started nothing."""
        self._orphans = Orphans()
        self._orphans.spare()
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        self._is_told_to_leave = False

    def serve(self) -> None:
        self._listen()
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._wake, selectors.EVENT_READ)
                selector.register(self._channel, selectors.EVENT_READ)
                serving = True
                while serving and not self._is_told_to_leave:
                    ready = {key.fileobj for key, _ in selector.select()}
                    if self._wake in ready:
                        self._reap()
                    if self._channel in ready:
                        serving = self._obey()
        finally:
            self._kill_all()

    def _listen(self) -> None:
        """Again after every import: a module may have set handlers of its own. Signals may be blocked by one,
        or by whoever started the runner."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, signal.SIGTERM))
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._note_end)

    def _note_end(self, *_: object) -> None:
        self._is_told_to_leave = True

    def _obey(self) -> bool:
        received = self._channel.receive()
        if received is None:
            return False
        message, descriptors = received
        match message:
            case Preload():
                signal.signal(signal.SIGTERM, signal.SIG_DFL)  # an import that hangs would never see a note
                is_safe = _preload(message)
                self._orphans.spare(workers=self._children)
                self._listen()
                self._channel.send(Preloaded(fork_is_safe=is_safe))
            case Start():
                self._fork(descriptors, stands_by=message.stands_by)
            case CalledUp():
                self._standing_by.discard(message.pid)
            case Kill():
                self._signal(message.pid, message.signal)
        return True

    def _fork(self, descriptors: list[int], *, stands_by: bool) -> None:
        request, journal, output, *channel = descriptors
        server = os.getpid()
        pid = _forked()
        if pid == 0:
            self._forget_server()
            be_a_worker(request, journal, output, channel[0] if channel else None, parent=server)
        for descriptor in descriptors:
            os.close(descriptor)
        self._children.add(pid)
        if stands_by:
            self._standing_by.add(pid)
        self._channel.send(Started(pid=pid))

    def _forget_server(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._channel.close()
        os.close(self._wake)
        os.close(self._waker)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        while ended := _ended_child():
            pid, status = ended
            if pid not in self._children:  # an orphan, or what a module had started
                continue
            self._children.discard(pid)
            self._standing_by.discard(pid)
            self._signal(pid, signal.SIGKILL)  # what the worker started and left behind, in its group
            with contextlib.suppress(BrokenPipeError):
                self._channel.send(Exited(pid=pid, status=os.waitstatus_to_exitcode(status)))
        if self._children <= self._standing_by:
            self._orphans.end(workers=self._standing_by)

    def _kill_all(self) -> None:
        """What else workers started is found through them, so first of all."""
        self._orphans.end()
        for pid in self._children:
            self._signal(pid, signal.SIGKILL)

    def _signal(self, pid: int, number: int) -> None:
        """The worker's whole process group; a worker too young to lead one gets it alone."""
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            if pid in self._children:  # not reaped yet: the number still means this worker
                os.kill(pid, number)


def _ended_child() -> tuple[int, int] | None:
    """Number and status of one that nobody has asked for yet."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _forked() -> int:
    """Python 3.12 warns of any thread; NumPy's BLAS threads, the usual ones here, survive a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _preload(message: Preload) -> bool:
    """Import what can be imported; say whether forking is still safe."""
    for directory in reversed(message.path):
        if directory not in sys.path:
            sys.path.insert(0, directory)
    with _devices_counted_from_outside():
        for wanted in message.modules:
            name, _, function = wanted.partition(":")
            with contextlib.suppress(BaseException):
                module = importlib.import_module(name)
                if function:
                    getattr(module, function)()
    gc.collect()
    gc.freeze()
    return threading.active_count() == 1 and _children_may_use_a_device()


@contextlib.contextmanager
def _devices_counted_from_outside() -> Iterator[None]:
    """Modules may ask while they are imported whether there is a device, as torch's compiler does. torch asks
    CUDA then, after which no child may use it, unless it is told to ask the driver's library."""
    before = os.environ.get(_COUNT_BY_NVML)
    os.environ[_COUNT_BY_NVML] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_COUNT_BY_NVML]
        else:
            os.environ[_COUNT_BY_NVML] = before


def _children_may_use_a_device() -> bool:
    """Only a child knows: torch tells it, and nobody else, that its parent had asked CUDA something."""
    torch = sys.modules.get("torch")
    if torch is None:
        return True
    child = _forked()
    if child == 0:
        spoiled = True
        try:
            spoiled = torch.cuda._is_in_bad_fork()
        finally:
            os._exit(int(spoiled))
    _, status = os.waitpid(child, 0)
    return status == 0


def main() -> None:
    descriptor, runner = (int(argument) for argument in sys.argv[1:])
    die_with_parent(runner, signal.SIGTERM)
    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    import stepmark.engines.worker  # noqa: F401 - torch and all a worker needs

    search_current_folder()
    ForkServer(ControlChannel(connection)).serve()
