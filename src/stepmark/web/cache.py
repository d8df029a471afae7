"""A cache of rendered answers: as many bytes as it may hold, the ones unused for longest go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import BoundedSemaphore, Lock


class ByteCache:
    """Bytes by key; safe for threads. No more than `num_makers` answers are being made at a time, because
    each may need much memory."""

    def __init__(self, *, max_bytes: int, num_makers: int = 2) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._makers = BoundedSemaphore(num_makers)

    @property
    def size(self) -> int:
        """Bytes held now."""
        return self._size

    def answer(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """What is kept under the key, or made now and kept."""
        kept = self._find(key)
        if kept is not None:
            return kept
        with self._makers:
            kept = self._find(key)  # another thread may have made it meanwhile
            return self._keep(key, make()) if kept is None else kept

    def _find(self, key: Hashable) -> bytes | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def _keep(self, key: Hashable, made: bytes) -> bytes:
        with self._lock:
            if len(made) > self._max_bytes:
                return made
            self._size += len(made) - len(self._kept.pop(key, b""))
            self._kept[key] = made
            while self._size > self._max_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped)
        return made
