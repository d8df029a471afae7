"""All that was asked for in one table: beside it what there was before, and what the data say now.

Before: the plain formulations in PyTorch and bitsandbytes' kernels on the same kind of card, as given with
the demands; not measured again here.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.h200 import page_adamw as adamw
from benchmarks.h200 import page_bitsandbytes as bitsandbytes
from benchmarks.h200 import page_fragmented as fragmented
from benchmarks.h200 import page_lora as lora
from benchmarks.h200 import page_operations as operations
from benchmarks.h200 import page_switchback as switchback
from benchmarks.h200 import page_transformer as transformer
from benchmarks.h200 import page_verdicts as verdicts
from benchmarks.h200.page_data import Row, geometric_mean, rows, span
from benchmarks.h200.verdicts import is_counted
from stepmark.report.markdown_text import table

Line = tuple[str, str, str, str, str]
"""What, asked, before, now, met."""


def targets() -> str:
    lines = [
        *_evaluation(),
        *_training(),
        *_switchback(),
        *_lora(),
        *_operations(),
        *_transformer(),
        *_study(),
    ]
    return table(["what", "asked", "before", "now", "met"], "lllll", lines)


def _evaluation() -> Iterator[Line]:
    before = "0.07x to 0.8x"
    for dtype in fragmented.ITEMS:
        found = fragmented.cells(dtype)
        for regime, wanted in (("graph", fragmented.GRAPH_TARGETS), ("eager", fragmented.EAGER_TARGETS)):
            reached = {cell: found[cell][f"{regime}_ratio"] for cell in wanted}
            asked = span(wanted.values(), 1)
            told = f"{span(reached.values(), 1)}x"
            is_met = [reached[cell] >= one for cell, one in wanted.items()]
            name = f"FragmentedLinear, evaluation, {dtype}, {regime}"
            yield name, f"{asked}x", before, told, _counted(is_met)
        slowest = min(row["graph_ratio"] for row in found.values())
        fast = [fragmented.is_fast_enough(row) for row in found.values()]
        name, told = f"the 36 published cells, {dtype}, graph", f"{slowest:.2f}x and more"
        yield name, "0.95x where theory says 1.1x, 0.8x anywhere", before, told, _counted(fast)
    for dtype in fragmented.ITEMS:
        ratios = [row["graph_ratio"] for row in rows(fragmented.MANY, dtype=dtype) if row["rows"] >= 2048]
        is_met = [one >= fragmented.LARGE for one in ratios]
        yield f"2048 rows and more, {dtype}, graph", "3x", "", f"{span(ratios, 1)}x", _counted(is_met)


def _training() -> Iterator[Line]:
    steps = [row for row in rows("fragmented_train.json") if row["n"] >= 4096]
    before = "forward alone 2.6x to 27x"
    for n in (4096, 8192):
        ratios = [row["ratios"]["graph"] for row in steps if row["n"] == n and row["rows"] <= 16]
        is_met = [one <= fragmented.MOST_TIME for one in ratios]
        asked = f"at most {fragmented.MOST_TIME}x"
        yield f"training step, n = {n}, graph", asked, before, f"{span(ratios)}x", _counted(is_met)
    memory = [row["ratios"]["memory"] for row in steps]
    kept = [one <= fragmented.MOST_MEMORY for one in memory]
    yield "its peak memory", f"at most {fragmented.MOST_MEMORY}x", "", f"{span(memory, 3)}x", _counted(kept)


def _switchback() -> Iterator[Line]:
    for dtype in switchback.SHAPES:
        yield from _switchback_shapes(dtype)
    beside = [bitsandbytes.beside(scales) for scales in bitsandbytes.PAIRS]
    ratios = [bitsandbytes.ratio(found) for found in beside]
    name = f"beside bitsandbytes' kernels in one run, geometric mean of {len(beside[0])} shapes"
    yield name, f"{bitsandbytes.ASKED}x", "", f"{span(ratios)}x", _said(min(ratios) >= bitsandbytes.ASKED)
    for shape, asked in switchback.PRODUCTS.items():
        rate = switchback.chosen_rate(switchback.product_rates()[shape])
        name = " x ".join(map(str, shape))
        yield f"int8 product {name}, TOP/s", str(asked), "840 to 930", str(rate), _said(rate >= asked)
    shares = [row["of copy"] for row in rows("switchback-quantisers.json") if _is_large_quantiser(row)]
    is_met = _said(min(shares) >= switchback.SHARE)
    yield "quantisers, 32 MiB and more, of a copy", "70 %", "", _per_cent(shares), is_met


def _switchback_shapes(dtype: str) -> Iterator[Line]:
    found = switchback.measured_shapes(dtype)
    auto = switchback.speeds(found, "auto vector")
    large = switchback.speeds([row for row in found if switchback.is_large(row)], "auto vector")
    mean = geometric_mean(auto)
    peers = "0.78x, 0.80x; best 1.32x"
    name = f"SwitchBack, {dtype}, geometric mean of {len(auto)} of 142 shapes"
    yield name, "1.15x", peers, f"{mean:.3f}x", _said(mean >= switchback.MEAN)
    slow = [one >= switchback.SLOWEST for one in auto]
    told = f"{min(auto):.2f}x and more"
    yield f"none slower than 16 bits beyond 3 %, {dtype}", "0.97x", "", told, _counted(slow)
    wide = [one >= switchback.LARGE_MEAN for one in large]
    told = f"{span(large)}x, mean {geometric_mean(large):.3f}x"
    yield f"32768 rows and more, 2048 wide and more, {dtype}", "1.40x", "", told, _counted(wide)


def _is_large_quantiser(row: Row) -> bool:
    named = str(row["what"]).startswith(("rows", "back", "weight"))
    return named and switchback.num_bytes(row) >= switchback.SMALL


def _lora() -> Iterator[Line]:
    shares, wide = lora.of_peft(), lora.of_the_base()
    is_met = _counted([one <= lora.PEFT_ASKED for one in shares])
    yield "LoRA, 64 tokens, eager, of PEFT", f"at most {lora.PEFT_ASKED}", "", span(shares), is_met
    name = "LoRA, 4096 x 4096 r16, eager, of the base"
    is_met = _said(wide <= lora.BASE_ASKED)
    yield name, f"at most {lora.BASE_ASKED}", "1.4 to 9", f"{wide:.2f}", is_met


def _operations() -> Iterator[Line]:
    shares = {f"{kind} 8192 x 4096": operations.wide_shares(file) for kind, file in operations.KINDS.items()}
    shares["AdamW, 124M parameters in one launch"] = adamw.large_shares()
    for name, found in shares.items():
        is_met = _said(min(found) >= operations.SHARE)
        yield f"{name}, of a copy", f"{100 * operations.SHARE:.0f} %", "", _per_cent(found), is_met
    ratios = {
        "norms and softmax, kernels in graphs": [*operations.all_ratios(operations.KERNEL).values()],
        "norms and softmax, `auto` from Python": [*operations.all_ratios(operations.PYTHON).values()],
        "AdamW, in graphs and from Python": adamw.all_ratios(),
    }
    for name, times in ratios.items():
        within = _counted([one <= operations.SLOWER for one in times])
        asked = f"at most 1, {operations.ALLOWED} allowed"
        yield f"{name}, of the best other", asked, "", span(times), within


def _per_cent(shares: list[float]) -> str:
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"


def _transformer() -> Iterator[Line]:
    gains = transformer.reached().values()
    is_met = [one >= transformer.ASKED for one in gains]
    name = "transformer step, bf16, small and medium, graph or compiled"
    yield name, f"{transformer.ASKED}x plain eager", "", f"{span(gains, 1)}x", _counted(is_met)
    found = transformer.cells()
    for size, asked in (("xl", 0.35), ("2.7B", 0.45)):
        share = found[size, 1024]["fused_graph"]["mfu"]
        name = f"transformer {size}, 4 x 1024, MFU (older)"
        yield name, f"{100 * asked:.0f} %", "6 to 26 %", f"{100 * share:.0f} %", _said(share >= asked)


def _study() -> Iterator[Line]:
    every, slowed = verdicts.identical(), verdicts.of_kind("slowed")
    alarms = sum(one["kind"] in ("FASTER", "SLOWER") for one in every)
    found = sum(row["verdicts"]["slowed"]["kind"] == "SLOWER" for row in slowed)
    quiet = _said(alarms <= verdicts.MOST_ALARMS * len(every))
    yield "identical code called FASTER or SLOWER", "at most 2 %", "", f"{alarms} of {len(every)}", quiet
    counted = [row for row in slowed if is_counted(row)]
    seen = sum(row["verdicts"]["slowed"]["kind"] == "SLOWER" for row in counted)
    heard = _said(seen >= verdicts.LEAST_FOUND * len(counted))
    name = "2 % more work found within 10 s, where the dose was counted"
    yield name, "90 %", "", f"{seen} of {len(counted)}", heard
    yield "the same, whether the dose was counted or not", "", "", f"{found} of {len(slowed)}", ""


def _said(is_met: bool) -> str:
    return "yes" if is_met else "no"


def _counted(is_met: list[bool]) -> str:
    """All, none, or so many."""
    if all(is_met):
        return "yes"
    return f"{sum(is_met)} of {len(is_met)}" if any(is_met) else "no"
