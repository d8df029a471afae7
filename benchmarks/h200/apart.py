"""Where the time of a call goes: kernel by kernel on the device, beside what it is compared with.

    python -m benchmarks.h200.apart --what few many train lora switchback

few         FragmentedLinear, evaluation, bfloat16, 8 and 16 rows, beside nn.Linear.
many        FragmentedLinear, evaluation, bfloat16, thousands of rows, beside nn.Linear.
train       one training step of it as benchmarks.h200.fragmented times it, beside nn.Linear's.
lora        both passes at 4096 tokens x 4096 features r16 in bfloat16, beside the frozen base.
switchback  both passes in float16 as the shapes benchmark times `auto` by row, beside three products.

A call is captured as a graph by itself, with the choices of graphs. All replays are timed first, by turns
with what they are compared with; then each is replayed REPLAYS times under torch.profiler, which may slow the
device or its launches: what a kernel takes is the profiler's, what a replay takes is not. Warm L2. Kernels
are compiled before, by processes whose choices are thrown away.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.h200 import fragmented, lora
from benchmarks.h200.common import Call, captured, save, side_by_side, time_events
from benchmarks.h200.kernel_times import Event, taken_apart
from stepmark.zoo.kernels.dispatch import own_file, rehearsing

REPLAYS = 20
ROUNDS = 3
COMPILING_SECONDS = 45.0
"""After that a call compiles what it needs when it is captured."""

FEW: list[fragmented.Cell] = [
    (2048, 8, 8, "bfloat16"),
    *((2048, 16, number, "bfloat16") for number in (32, 128)),
    (4096, 8, 8, "bfloat16"),
]
MANY: list[fragmented.Cell] = [
    (4096, 2048, 32, "bfloat16"),
    (4096, 8192, 32, "bfloat16"),
    (8192, 2048, 8, "bfloat16"),
    (8192, 8192, 8, "bfloat16"),
]
TRAINED: list[fragmented.Cell] = [
    (4096, 1, 8, "float32"),
    (4096, 16, 8, "float32"),
    (8192, 16, 8, "float32"),
    (4096, 2048, 32, "bfloat16"),
]
ADAPTED = [(4096, 4096, 16)]
"""Tokens, features, rank."""
IN_EIGHT_BITS = [(32768, 2048, 8192), (65536, 2048, 8192)]
"""Rows, in and out."""

Shape = tuple[Any, ...]
Calls = dict[str, Call]
"""Ours first, then what it is compared with."""


def evaluated(cell: Shape) -> Calls:
    linear, layer, x = fragmented.layers(cell)
    layer.eval()
    return {
        "ours": partial(_without_gradients, layer, x),
        "nn.Linear": partial(_without_gradients, linear, x),
    }


def _without_gradients(layer: torch.nn.Module, x: torch.Tensor) -> None:
    with torch.no_grad():
        layer(x)


def trained(cell: Shape) -> Calls:
    linear, layer, x = fragmented.layers(cell)
    target = torch.randn_like(x)
    step = partial(fragmented.training_step, x=x, target=target)
    return {"ours": step(layer.train()), "nn.Linear": step(linear)}


def adapted(shape: Shape) -> Calls:
    tokens, features, rank = shape
    layers = lora.layers_of(features, rank, torch.bfloat16)
    x = torch.randn(tokens, features, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    g = torch.randn(tokens, features, device="cuda", dtype=torch.bfloat16)
    return {
        told: partial(lora.forward_backward, layers[name], x, g, lora.factors(layers[name]))
        for told, name in (("ours", "ours"), ("the base", "base"))
    }


def in_eight_bits(shape: Shape) -> Calls:
    from benchmarks.h200.switchback_shapes import VECTOR, auto_pass, operands, plain_pass

    x, g, w = operands(shape, torch.float16)
    return {"ours": auto_pass(x, g, w, {"int8": VECTOR}), "16-bit products": partial(plain_pass, x, g, w)}


PARTS: dict[str, tuple[Callable[[Shape], Calls], tuple[str, ...], list[Any]]] = {
    "few": (evaluated, ("n", "rows", "fragments", "dtype"), FEW),
    "many": (evaluated, ("n", "rows", "fragments", "dtype"), MANY),
    "train": (trained, ("n", "rows", "fragments", "dtype"), TRAINED),
    "lora": (adapted, ("tokens", "features", "rank"), ADAPTED),
    "switchback": (in_eight_bits, ("rows", "in", "out"), IN_EIGHT_BITS),
}
"""How calls are made, what a shape's numbers are, and the shapes."""


@dataclass
class Case:
    """One shape: what was found, and what must live until it is profiled."""

    row: dict[str, Any]
    calls: Calls = field(default_factory=dict)
    graphs: dict[str, torch.cuda.CUDAGraph] = field(default_factory=dict)


def case_of(part: str, shape: Shape) -> Case:
    return Case({**dict(zip(PARTS[part][1], shape, strict=True)), "calls": {}})


def left_out(part: str, shape: Shape, seconds: float) -> Case:
    case = case_of(part, shape)
    case.row["failed"] = f"left out, as {seconds:g} s were over"
    return case


def timed(part: str, shape: Shape) -> Case:
    """Captured, and timed by turns; what fails is noted and left behind."""
    make, case = PARTS[part][0], case_of(part, shape)
    try:
        case.calls = make(shape)
    except Exception as error:
        case.row["failed"] = _told(f"{part} {shape}", error)
        return case
    for name, call in case.calls.items():
        try:
            with rehearsing():
                call()
                torch.cuda.synchronize()
                case.graphs[name] = captured(call)
        except Exception as error:
            case.row["calls"][name] = {"failed": _told(f"{part} {shape} {name}", error)}
    replays = {name: graph.replay for name, graph in case.graphs.items()}
    found = side_by_side(replays, timer=partial(time_events, seconds=0.05), rounds=ROUNDS)
    for name, us in found.items():
        if us is None:
            del case.graphs[name]
        case.row["calls"][name] = {"failed": "no replay could be timed"} if us is None else {"replay_us": us}
    text = ", ".join(f"{name} {us:.1f} us" for name, us in found.items() if us is not None)
    print(f"{part} {shape}: replays {text}", flush=True)
    return case


def profile(case: Case) -> None:
    """Add the kernels of each call; the graphs are given back. Should a graph that is older than the
    profiler's first start show nothing, it is captured anew. An empty profiler before all captures is no way
    out: with CUDA 13.0 nothing was recorded ever after (lightseekorg/tokenspeed#1348)."""
    for name, graph in case.graphs.items():
        row = case.row["calls"][name]
        try:
            with rehearsing():
                events = profiled(graph.replay) or profiled(captured(case.calls[name]).replay)
            case.row["calls"][name] = taken_apart(events, replays=REPLAYS, replay_us=row["replay_us"])
        except Exception as error:
            row["failed"] = _told(name, error)
    case.graphs.clear()
    case.calls.clear()


def profiled(replay: Call, times: int = REPLAYS) -> list[Event]:
    """What replays ran on the device."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(times):
            replay()
        torch.cuda.synchronize()
    return on_device(seen.events() or ())


def on_device(events: Iterable[Any]) -> list[Event]:
    """Of a profiler's events; without those of the host, and without ranges that only have a name."""
    return [
        Event(event.name, event.time_range.start, event.time_range.end)
        for event in events
        if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False)
    ]


def show(row: Mapping[str, Any]) -> None:
    print("\n" + ", ".join(f"{name} {value}" for name, value in row.items() if name != "calls"))
    for name, call in row["calls"].items():
        if "failed" in call:
            print(f"  {name}: FAILED {call['failed']}", flush=True)
            continue
        told = {"replay": "replay_us", "kernels": "sum_us", "overlap": "overlap_us", "gaps": "gaps_us"}
        print(f"  {name}: " + ", ".join(f"{word} {call[key]:.1f} us" for word, key in told.items()))
        for kernel in call["kernels"]:
            each = " + ".join(f"{one:.1f}" for one in kernel.get("each_us", ()))
            told_each = f" ({each})" if each else ""
            print(f"    {kernel['us']:9.1f} us {kernel['launches']:5g} x {kernel['kernel']}{told_each}")
    print(end="", flush=True)


def _told(what: str, error: Exception) -> str:
    text = f"{type(error).__name__}: {str(error)[:300]}"
    print(f"FAILED {what}: {text}", flush=True)
    return text


def compile_all(parts: list[str], processes: int) -> None:
    """Into Triton's cache, side by side. Processes share the device and so measure choices wrongly: theirs go
    into a folder that is thrown away."""
    jobs = [(part, shape) for part in parts for shape in PARTS[part][2]]
    spawning = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        spawning.Pool(min(processes, len(jobs)), _keep_choices_in, (folder,)) as pool,
    ):
        try:
            pool.starmap_async(_compile, jobs, chunksize=1).get(COMPILING_SECONDS)
        except multiprocessing.TimeoutError:
            print(f"not all compiled after {COMPILING_SECONDS:.0f} s", flush=True)


def _keep_choices_in(folder: str) -> None:
    """With what is known already, so that nothing else is compiled."""
    own, here = own_file(), Path(folder, f"{os.getpid()}.json")
    if own.exists():
        shutil.copy(own, here)
    os.environ["STEPMARK_CHOICES"] = str(here)


def _compile(part: str, shape: Shape) -> None:
    try:
        with rehearsing():
            for call in PARTS[part][0](shape).values():
                call()
        torch.cuda.synchronize()
    except Exception as error:
        _told(f"while compiling {part} {shape}", error)
    finally:
        torch.cuda.empty_cache()


def measure(parts: list[str], seconds: float) -> None:
    """Each part into a file of its own, after every shape that is profiled."""
    cases: dict[str, list[Case]] = {part: [] for part in parts}
    for part in parts:
        deadline = time.perf_counter() + seconds
        for shape in PARTS[part][2]:
            is_late = time.perf_counter() > deadline
            cases[part].append(left_out(part, shape, seconds) if is_late else timed(part, shape))
    for part in parts:
        for number, case in enumerate(cases[part], 1):
            profile(case)
            show(case.row)
            save(f"apart_{part}", [one.row for one in cases[part][:number]], replays=REPLAYS)
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--what", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--seconds", type=float, default=12.0, help="of a part, for captures and times")
    parser.add_argument("--processes", type=int, default=8, help="that compile before; 0 for none")
    told = parser.parse_args()
    parts = list(dict.fromkeys(told.what))
    if told.processes:
        compile_all(parts, told.processes)
    measure(parts, told.seconds)


if __name__ == "__main__":
    main()
