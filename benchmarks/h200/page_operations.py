"""Tables of norms and softmax beside the best of torch, torch.compile and Liger, and what the clock can tell.

Share.     Bytes that must be moved (x and y forward, three such matrices backward) by the rate of a copy in
           the same run.
Ours.      On the device the kernel, called by name; from Python `auto`, which is what a caller gets.
Best.      The least of up to three medians: a low draw of a clock that scatters, while ours is one draw.
`auto`.    What it chose for calls from Python the data say where these were timed again. Else its time does:
           in a graph, and of the backward pass of a forward one that was called from Python, torch's way and
           the kernel differ.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from benchmarks.h200.operations import PEERS, PUBLISHED, WIDTHS
from benchmarks.h200.page_data import Row, rows, span
from stepmark.report.markdown_text import table

NORMS, SOFTMAX = "operations-norms.json", "operations-softmax.json"
KINDS = {"norms": NORMS, "softmax": SOFTMAX}
WIDE, SHARE = (8192, 4096), 0.75
"""Rows and width where this share of a copy's bandwidth was asked for."""
SLOWER = 1.03
"""The best other's time times this still counts as not slower."""
ALLOWED = f"{100 * (SLOWER - 1):.0f} %"
FEW_ROWS = 1024
NAMES = {
    "rms_norm": "RMSNorm",
    "layer_norm": "LayerNorm",
    "torch": "torch",
    "compiled": "torch.compile",
    "liger": "Liger",
    "triton": "our kernel",
    "auto": "`auto`",
}
KERNEL = {
    "forward_cold": "forward, cold",
    "backward_cold": "backward, cold",
    "forward_warm": "forward, warm",
    "backward_warm": "backward, warm",
}
PYTHON = {"forward_eager": "forward", "training_eager": "forward + backward"}

Shape = tuple[str, int, int, str]
"""Operation, rows, width, dtype."""
Ways = dict[str, Row]


def shapes(file: str) -> dict[Shape, Ways]:
    """What was measured, by shape and way. Where another's way failed the rest is compared; ours must not.
    Calls from Python that were timed again stand for all of their shape: none is held against another
    day's."""
    found = _by_way(file)
    for shape, again in _by_way(file.replace(".json", "-python.json")).items():
        kept = {
            way: {what: value for what, value in row.items() if what not in PYTHON}
            for way, row in found.get(shape, {}).items()
        }
        found[shape] = {way: kept.get(way, {}) | again.get(way, {}) for way in kept | again}
    return found


def _by_way(file: str) -> dict[Shape, Ways]:
    found: dict[Shape, Ways] = {}
    for row in rows(file):
        if "failed" not in row:
            key = (row["operation"], row["rows"], row["width"], row["dtype"])
            found.setdefault(key, {})[row["way"]] = row
    return found


def best_of(ways: Ways, what: str, peers: Iterable[str] = PEERS) -> str:
    return min((way for way in peers if what in ways.get(way, ())), key=lambda way: float(ways[way][what]))


def ratio(ways: Ways, what: str) -> float:
    """Our time in the best other's."""
    return float(ways[_ours(what)][what] / ways[best_of(ways, what)][what])


def all_ratios(measurements: Iterable[str]) -> dict[tuple[Shape, str], float]:
    """Of norms and softmax, every shape."""
    found = [(shape, ways) for file in KINDS.values() for shape, ways in shapes(file).items()]
    return {(shape, what): ratio(ways, what) for what in measurements for shape, ways in found}


def wide_shares(file: str) -> list[float]:
    """Of a copy's bandwidth, forward and backward with a cold cache, where 75 % was asked."""
    wide = [ways["triton"] for shape, ways in shapes(file).items() if shape[1:3] == WIDE]
    return [row[f"{name}_cold_share"] for row in wide for name in ("forward", "backward")]


def is_asked(shape: Shape) -> bool:
    """Named by the demand: the wide one, the published, and the widths, which are shown with 8192 rows."""
    size = shape[1:3]
    return size in (WIDE, *PUBLISHED) or (size[0] == WIDE[0] and size[1] in WIDTHS)


def norms() -> str:
    return _by_shape(NORMS)


def softmax() -> str:
    return _by_shape(SOFTMAX)


def _by_shape(file: str) -> str:
    lines = []
    for shape, ways in shapes(file).items():
        if is_asked(shape):
            pairs = (_beside(ways, what) for what in ("forward_cold", "backward_cold", "training_eager"))
            lines.append([_named(shape), *(cell for pair in pairs for cell in pair)])
    titles = ["operation", "forward, µs", "best other", "backward, µs", "best other"]
    return table([*titles, "both from Python, µs", "best other"], "lrrrrrr", lines)


def _beside(ways: Ways, what: str) -> tuple[str, str]:
    ours, other = ways[_ours(what)], best_of(ways, what)
    share = f", {100 * ours[f'{what}_share']:.0f} %" if what in KERNEL else ""
    mark = "" if ratio(ways, what) <= SLOWER else " ✗"
    return f"{microseconds(ours[what])}{share}{mark}", f"{microseconds(ways[other][what])} ({NAMES[other]})"


def _named(shape: Shape) -> str:
    operation, number, width, dtype = shape
    return f"{NAMES.get(operation, operation)} {number} x {width} {dtype}"


def _ours(what: str) -> str:
    return "auto" if what in PYTHON else "triton"


def microseconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def beside_the_best() -> str:
    """A line for each measurement over every shape; below it, what the clock can tell."""
    lines = []
    for kind, file in KINDS.items():
        found = shapes(file)
        for what, told in (KERNEL | PYTHON).items():
            ratios = {shape: ratio(ways, what) for shape, ways in found.items()}
            slowest = max(ratios, key=lambda shape: ratios[shape])
            other = best_of(found[slowest], what)
            ours, theirs = (microseconds(found[slowest][way][what]) for way in (_ours(what), other))
            within = sum(one <= SLOWER for one in ratios.values())
            lines.append(
                [
                    kind,
                    f"`auto` from Python, {told}" if what in PYTHON else f"kernel, {told}",
                    f"{statistics.median(ratios.values()):.2f}",
                    f"{within} of {len(ratios)}",
                    "met" if within == len(ratios) else "not met",
                    f"{ratios[slowest]:.2f}",
                    f"{_named(slowest)}: {ours} µs, {NAMES[other]} {theirs}",
                ]
            )
    titles = ["", "", "median", f"at most {SLOWER}", "all asked", "most", "where"]
    return f"{table(titles, 'llrrlrl', lines)}\n\n{_same_kernel()}"


def took(ways: Ways, what: str) -> str:
    """Which of the two `auto` ran, by its time."""
    auto = ways["auto"][what]
    return min(("torch", "triton"), key=lambda way: abs(math.log(auto / ways[way][what])))


def chose_to_train(ways: Ways) -> str:
    """From Python, forward and backward: as the data say it, else by the time of the backward pass."""
    told = ways["auto"].get("chose", {}).get("training_eager")
    return str(told) if told else took(ways, "backward_warm")


def _same_kernel() -> str:
    found = [ways for file in KINDS.values() for ways in shapes(file).values()]
    same = [ways for ways in found if took(ways, "forward_warm") == "triton"]
    cases = [(ways, what) for ways in same for what in ("forward_warm", "forward_cold")]
    twice = [ways["auto"][what] / ways["triton"][what] for ways, what in cases]
    scattered = sum(not 2 - SLOWER <= one <= SLOWER for one in twice)
    ratios = all_ratios(KERNEL)
    slow = {case: one for case, one in ratios.items() if one > SLOWER}
    beyond = {case: one for case, one in slow.items() if one > max(twice)}
    told = "; ".join(f"{_named(shape)} {KERNEL[what]} {one:.3f}" for (shape, what), one in beyond.items())
    return (
        f"The same kernel twice: replayed forward, `auto` was the kernel in {len(same)} of {len(found)}"
        f" shapes, by its time. Warm and cold it took {span(twice, 3)} of what the kernel by name took;"
        f" {scattered} of {len(twice)} pairs differ by more than {ALLOWED}. Of {len(ratios)} ratios of the"
        f" kernel to the best other {len(slow)} are above {SLOWER}, and {len(beyond)} above what the same"
        f" kernel showed{': ' if told else ''}{told}."
    )


def from_python() -> str:
    """Where there is little to compute: what a call costs; and the same call twice."""
    lines = []
    few = {
        kind: [ways for shape, ways in shapes(file).items() if shape[1] <= FEW_ROWS]
        for kind, file in KINDS.items()
    }
    for way in ("torch", "auto", "triton", "liger", "compiled"):
        cells = [_spent(few[kind], way, what) for kind in KINDS for what in PYTHON]
        lines += [[NAMES[way], *cells]] if any(cells) else []
    graphs = [
        [sum(ways["triton"][what] for what in passes) for ways in few[kind]]
        for kind in KINDS
        for passes in (["forward_warm"], ["forward_warm", "backward_warm"])
    ]
    lines.append(["our kernel, in graphs", *(_middle(times, 1) for times in graphs)])
    titles = [f"{kind}, {told}" for kind in KINDS for told in PYTHON.values()]
    return f"{table(['', *titles], 'lrrrr', lines)}\n\n{_same_call()}"


def _spent(few: list[Ways], way: str, what: str) -> str:
    times = [ways[way][what] for ways in few if what in ways.get(way, ())]
    return _middle(times, 0) if times else ""


def _middle(times: list[float], digits: int) -> str:
    return f"{statistics.median(times):.{digits}f} ({span(times, digits)})"


def _same_call() -> str:
    told = []
    for kind, file in KINDS.items():
        found = shapes(file)
        same = [ways for ways in found.values() if chose_to_train(ways) == "torch"]
        twice = [ways["auto"]["training_eager"] / ways["torch"]["training_eager"] for ways in same]
        others = [_named(shape) for shape, ways in found.items() if chose_to_train(ways) != "torch"]
        but = f" (not {', '.join(others)})" if others else ""
        told.append(
            f"in {len(same)} of {len(found)} shapes of {kind}{but}, and took {span(twice)} of torch's time,"
            f" {statistics.median(twice):.2f} in the median"
        )
    return f"The same call twice: from Python, with gradients, `auto` called torch {'; '.join(told)}."
