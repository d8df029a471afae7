"""Cold caches: a flush of the device's last-level cache, and the proof that it leaves nothing behind.

A flush writes a buffer FLUSHED times as large as the cache, so that every line of it has been replaced. The
proof is a read of a probe, a tensor that fits into the cache: right after another read of it, and right after
a flush in between, both behind a kernel that keeps the device busy until everything is enqueued. Where the
second does not take LEAST times as long as the first, caches are not cold there and nothing is measured as if
they were. What a flush leaves to be written back is written while the next kernel runs; it is the price of
every flush and the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import median
from typing import Any, NamedTuple

import torch

from stepmark.errors import Unsupported
from stepmark.instruments.inspection.memory import overlook
from stepmark.records.evidence import CacheEvidence

FLUSHED = 2
"""Times the cache's size."""
PROBE_SHARE = 0.5
"""Of the cache. On an H200, 30 MiB of 60: 12.7 µs warm, 18.8 µs cold; the slowest of 15 warm reads took
14.6 µs, the fastest cold one 18.5."""
LEAST = 1.2
READS = 15
BUSY_CYCLES = 400_000
"""Of a spinning kernel, about 0.2 ms: longer than the host needs to enqueue a flush and a read."""


class Flush(NamedTuple):
    """What empties the cache of one device, and how that was seen."""

    call: Callable[[], object]
    seconds: float
    evidence: CacheEvidence


@cache
def flush_of(device: torch.device) -> Flush:
    """Made and proven once a process; raises Unsupported where caches stay warm."""
    size = int(torch.cuda.get_device_properties(device).L2_cache_size)
    buffer = torch.empty(max(FLUSHED * size, 1 << 20) // 4, dtype=torch.int32, device=device)
    overlook([buffer])
    evidence = prove(buffer.zero_, size=size, flushed=buffer.nbytes, device=device)
    if evidence.cold_seconds < LEAST * evidence.warm_seconds:
        raise Unsupported(
            f"the cache cannot be shown to be cold: a read of {evidence.probe_bytes >> 20} MiB takes "
            f"{evidence.cold_seconds * 1e6:.1f} µs after a flush and {evidence.warm_seconds * 1e6:.1f} µs "
            "without one"
        )
    return Flush(call=buffer.zero_, seconds=evidence.flush_seconds, evidence=evidence)


def prove(flush: Callable[[], object], *, size: int, flushed: int, device: torch.device) -> CacheEvidence:
    """How long a probe takes to read with its values in the cache and after a flush."""
    probe = torch.ones(max(1, int(size * PROBE_SHARE)) // 4, dtype=torch.float32, device=device)
    read = probe.sum
    for _ in range(3):
        read()
        flush()
    warm = median(_timed(read, before=(read,), device=device) for _ in range(READS))
    cold = median(_timed(read, before=(read, flush), device=device) for _ in range(READS))
    took = median(_timed(flush, before=(read,), device=device) for _ in range(READS))
    return CacheEvidence(
        cache_bytes=size,
        flushed_bytes=flushed,
        probe_bytes=probe.nbytes,
        warm_seconds=warm,
        cold_seconds=cold,
        flush_seconds=took,
    )


def _timed(
    call: Callable[[], object], *, before: tuple[Callable[[], object], ...], device: torch.device
) -> float:
    """Seconds on the device of a call right behind others."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    stream: Any = torch.cuda.current_stream(device)
    torch.cuda.synchronize(device)
    torch.cuda._sleep(BUSY_CYCLES)  # type: ignore[no-untyped-call]
    for each in before:
        each()
    begin.record(stream)
    call()
    end.record(stream)
    torch.cuda.synchronize(device)
    return float(begin.elapsed_time(end)) * 1e-3
