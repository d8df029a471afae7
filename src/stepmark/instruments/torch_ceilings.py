"""Ceilings of a device: how fast copies and matrix products get when nothing else is asked of it.

Method.       Copies of growing size, and square products of growing size in each dtype, in blocks of about a
              millisecond; the best block counts. What was best is then tried again, so that a moment in
              which the machine did something else does not decide. A dtype's next size, eight times the
              work, is tried only while it fits into the time for one product.
              On a CPU one thread is measured, and its rate times the number of threads is the ceiling: that
              many threads never do more, and a neighbour on one of the cores, for which all threads of a
              product wait (50 times slower was seen on two cores), does not lower it.
Assumptions.  A rate that one thread cannot reach by itself is not reached by a thread of a layer either. A
              core held back for the whole second shows too little, half of it beside a busy sibling:
              measurements are kept, and the best of several counts.
              Numbers are random on an accelerator, as those of layers are: zeros and constants toggle fewer
              bits and need less power, and under a power cap run up to 13 % faster (H200).
Fails.        Types that torch multiplies in other ways (sparse, narrower than 8 bits) have no ceiling here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import torch
from msgspec.structs import replace

from stepmark.instruments.host_facts import host_facts
from stepmark.instruments.torch_flags import float32_matmul_precision, set_float32_matmul_precision
from stepmark.records.ceilings import Ceilings, MatrixRate, machine_name
from stepmark.records.limit import RELAXED

FP8 = "float8_e4m3fn"

Finish = Callable[[], object]
"""Waits for the device."""

DTYPES = ("float32", "bfloat16", "float16", "float64", "int8")
ACCELERATED = (*DTYPES, FP8, RELAXED)
"""What a CPU is not asked for: 8-bit floats, and float32 with fewer bits."""
BLOCK_SECONDS, MOST_BLOCKS = 0.001, 10
"""Short, so that some of them fall between two turns of a neighbour on the same core."""
LONGEST = 0.05
"""Seconds of one product at most."""
SMALLEST_COPY, LARGEST_COPY = 64 << 10, 256 << 20
FIRST_SIZE, LAST_SIZE = 256, 16_384
CACHES = "/sys/devices/system/cpu/cpu0/cache"


def measure_ceilings(device: str) -> Ceilings:
    """About a second, for the threads that torch has now."""
    finish = _nothing if device == "cpu" else partial(torch.cuda.synchronize, device)
    threads = torch.get_num_threads()
    times = threads if device == "cpu" else 1
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            copies, products = _rates(device, finish)
    finally:
        torch.set_num_threads(threads)
    host = host_facts()
    return Ceilings(
        device=device,
        threads=threads,
        torch=str(torch.__version__),
        host=machine_name(
            host.hostname, host.cpu_model, "" if device == "cpu" else torch.cuda.get_device_name(device)
        ),
        measured=time.time(),
        copy_memory=times * copies[max(copies)],
        copy_cache=times * max(copies.values()),
        matrix=tuple(replace(rate, flops_per_second=times * rate.flops_per_second) for rate in products),
    )


def _rates(device: str, finish: Finish) -> tuple[dict[int, float], list[MatrixRate]]:
    """Of copies by size, and of products."""
    copies = _copy_rates(copy_sizes(device), device, finish)
    dtypes = DTYPES if device == "cpu" else ACCELERATED
    first = [_best_product(dtype, device, finish) for dtype in dtypes]
    fastest = max(copies, key=lambda size: copies[size])
    again = _copy_rates(sorted({fastest, max(copies)}), device, finish)
    products = [_tried_again(rate, device, finish) for rate in first if rate is not None]
    return {size: max(rate, again.get(size, 0.0)) for size, rate in copies.items()}, products


def copy_sizes(device: str) -> list[int]:
    """From what fits into a core's cache to twice the last level's, as far as there is memory for it."""
    if device == "cpu":
        room = psutil.virtual_memory().available // 16
        largest = min(LARGEST_COPY, max(LARGEST_COPY // 4, 2 * last_level_cache()), room)
    else:
        largest = min(4 * LARGEST_COPY, torch.cuda.mem_get_info(device)[0] // 16)
    sizes = [SMALLEST_COPY]
    while 4 * sizes[-1] < largest:
        sizes.append(4 * sizes[-1])
    return [*sizes, largest] if largest > sizes[-1] else sizes


def last_level_cache(folder: str = CACHES) -> int:
    """Bytes of the largest cache; 0 where the system does not say."""
    sizes = []
    for file in Path(folder).glob("index*/size"):
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:], 1)
        number = text.rstrip("KM")
        sizes += [int(number) * unit] if number.isdigit() else []
    return max(sizes, default=0)


def _copy_rates(sizes: list[int], device: str, finish: Finish) -> dict[int, float]:
    """Bytes read and written a second, by size."""
    source = torch.zeros(max(sizes), dtype=torch.uint8, device=device)
    if device != "cpu":
        source.random_(0, 256)
    target = torch.ones_like(source)
    rates = {}
    for size in sizes:
        part, place = source[:size], target[:size]
        rates[size] = 2.0 * size / _best_seconds(partial(place.copy_, part), finish)
    return rates


def _best_product(dtype: str, device: str, finish: Finish) -> MatrixRate | None:
    """Of growing products; None where the device does not multiply the dtype."""
    best: MatrixRate | None = None
    size, seconds = FIRST_SIZE, 0.0
    while size <= LAST_SIZE and 8.0 * seconds <= LONGEST:
        try:
            seconds = _best_seconds(_product(dtype, size, device), finish)
        except (RuntimeError, NotImplementedError):
            return best
        rate = MatrixRate(dtype=dtype, flops_per_second=2.0 * size**3 / seconds, size=size)
        best = rate if best is None or rate.flops_per_second > best.flops_per_second else best
        size *= 2
    return best


def _tried_again(rate: MatrixRate, device: str, finish: Finish) -> MatrixRate:
    seconds = _best_seconds(_product(rate.dtype, rate.size, device), finish)
    return replace(rate, flops_per_second=max(rate.flops_per_second, 2.0 * rate.size**3 / seconds))


def _product(dtype: str, size: int, device: str) -> Callable[[], object]:
    if dtype == "int8":
        first, second = (_numbers("int8", size, device) for _ in range(2))
        return lambda: torch._int_mm(first, second.t())
    if dtype == FP8:
        first, second = (_numbers(FP8, size, device) for _ in range(2))
        one = torch.ones((), device=device)
        return partial(torch._scaled_mm, first, second.t(), one, one, out_dtype=torch.bfloat16)
    first, second = (_numbers("float32" if dtype == RELAXED else dtype, size, device) for _ in range(2))
    result = torch.empty_like(first)
    product = partial(torch.mm, first, second, out=result)
    return partial(_relaxed, product) if dtype == RELAXED else product


def _numbers(dtype: str, size: int, device: str) -> torch.Tensor:
    """A square of them; on a CPU constants, which have no power cap to flatter and take no time to make."""
    kind = getattr(torch, dtype)
    if device == "cpu":
        return torch.full((size, size), 1 if dtype == "int8" else 0.5, dtype=kind)
    if dtype == "int8":
        return torch.randint(-127, 128, (size, size), dtype=kind, device=device)
    return torch.randn(size, size, device=device).to(kind)


def _relaxed(product: Callable[[], object]) -> None:
    """With float32 computed in fewer bits; the setting is put back."""
    before = float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        product()
    finally:
        set_float32_matmul_precision(before)


def _best_seconds(act: Callable[[], object], finish: Finish) -> float:
    """Of one call, in the best of some blocks."""
    act()
    once = min(_seconds(act, 1, finish) for _ in range(2))
    number = max(1, round(BLOCK_SECONDS / once))
    num_blocks = max(1, min(MOST_BLOCKS, round(MOST_BLOCKS * BLOCK_SECONDS / once)))
    return min(once, *(_seconds(act, number, finish) / number for _ in range(num_blocks)))


def _seconds(act: Callable[[], object], number: int, finish: Finish) -> float:
    finish()
    begin = time.perf_counter()
    for _ in range(number):
        act()
    finish()
    return time.perf_counter() - begin


def _nothing() -> None:
    pass
