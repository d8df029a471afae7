"""Criterion logs, made up: what was measured beside the text that Criterion would have printed."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

TIMES = ("ps", "ns", "us", "µs", "ms", "s")
RATES = (
    " elem/s",
    "Kelem/s",
    "Melem/s",
    "Gelem/s",
    "  B/s",
    "KiB/s",
    "MiB/s",
    "GiB/s",
    "KB/s",
    "MB/s",
    "GB/s",
)
CLASSES = ("low severe", "low mild", "high mild", "high severe")
SENTENCES = (
    "No change in performance detected.",
    "Performance has improved.",
    "Performance has regressed.",
    "Change within noise threshold.",
)
STRANGERS = (
    "",
    "   Compiling training v1.2.0",
    "warning: unused variable: `x`",
    "took time: [1, 2, 3]",
    "slope  [2.5094 ms 2.5553 ms] R^2            [0.8660614 0.8640630]",
    "\udcff\udc80 not UTF-8",
    "Benchmarks done: 100%",
)
INDENT = " " * 24


class Made(NamedTuple):
    """One benchmark."""

    id: str
    lines: list[str]
    point: str
    """As printed: `436.78 µs`."""
    changed: bool
    outliers: int


def short(value: float) -> str:
    """About five digits, as Criterion has it."""
    return f"{value:.{sum(abs(value) < edge for edge in (10.0, 100.0, 1000.0, 10_000.0))}f}"


ids = st.from_regex(r"[a-z]\w{0,10}(/[\w=.µ-]{1,12}){0,2}", fullmatch=True)
values = st.floats(0.0, 99_999.0).map(short)


def triple(draw: st.DrawFn, unit: str) -> tuple[str, str]:
    """Three values in brackets, and the one in the middle."""
    low, point, high = (f"{draw(values):>6} {unit}" for _ in range(3))
    return f"[{low} {point} {high}]", point


def changes(draw: st.DrawFn) -> str:
    minus = draw(st.sampled_from("-−"))
    texts = (short(draw(st.floats(-99.0, 999.0))) for _ in range(3))
    signed = (f"+{text}" if not text.startswith("-") else minus + text[1:] for text in texts)
    return f"[{' '.join(f'{text}%' for text in signed)}]"


@st.composite
def benchmarks(draw: st.DrawFn) -> Made:
    id = draw(ids)
    lines = _progress(draw, id) if draw(st.booleans()) else []
    times, point = triple(draw, draw(st.sampled_from(TIMES)))
    width = len(id.encode())
    if width >= 24:
        lines += [id, f"{INDENT}time:   {times}"]
    else:
        lines.append(f"{id}{' ' * (24 - width)}time:   {times}")
    rates = draw(st.sampled_from([None, *RATES]))
    if rates is not None:
        lines.append(f"{INDENT}thrpt:  {triple(draw, rates)[0]}")
    changed = draw(st.booleans())
    if changed:
        lines += _change(draw, with_rate=rates is not None)
    counts = draw(st.lists(st.integers(0, 5), min_size=4, max_size=4))
    lines += _outliers(counts, num_samples=draw(st.sampled_from([1, 10, 100])))
    return Made(id, lines, point.strip(), changed, sum(counts))


def _progress(draw: st.DrawFn, id: str) -> list[str]:
    title = f"Benchmarking {id}"
    samples = draw(st.sampled_from([1, 10, 100]))
    count = draw(st.sampled_from(["5050", "15k", "1.2M", "300M"]))
    warned = draw(st.booleans())
    warning = (
        f"Warning: Unable to complete {samples} samples in 5.0s. You may wish to increase target time to "
        "9.3s, enable flat sampling, or reduce sample count to 50."
    )
    return [
        title,
        f"{title}: Warming up for 3.0000 s",
        *(("", warning) if warned else ()),
        f"{title}: Collecting {samples} samples in estimated {draw(values):>6} s ({count} iterations)",
        f"{title}: Analyzing",
    ]


def _change(draw: st.DrawFn, *, with_rate: bool) -> list[str]:
    tested = f"{changes(draw)} (p = 0.{draw(st.integers(10, 99))} > 0.05)"
    if with_rate:
        lines = [f"{' ' * 17}change:", f"{INDENT}time:   {tested}", f"{INDENT}thrpt:  {changes(draw)}"]
    else:
        lines = [f"{INDENT}change: {tested}"]
    return [*lines, f"{INDENT}{draw(st.sampled_from(SENTENCES))}"]


def _outliers(counts: list[int], *, num_samples: int) -> list[str]:
    if not sum(counts):
        return []
    share = [f"{100.0 * count / num_samples:.2f}%" for count in counts]
    found = f"Found {sum(counts)} outliers among {num_samples} measurements"
    return [
        f"{found} ({100.0 * sum(counts) / num_samples:.2f}%)",
        *(f"  {c} ({s}) {name}" for c, s, name in zip(counts, share, CLASSES, strict=True) if c),
    ]


class MadeLog(NamedTuple):
    text: str
    benchmarks: list[Made]


@st.composite
def logs(draw: st.DrawFn) -> MadeLog:
    """Benchmarks with distinct names, strangers between them, either line end, the last one or none."""
    made = draw(st.lists(benchmarks(), min_size=1, max_size=4, unique_by=lambda each: each.id))
    lines: list[str] = []
    for each in made:
        lines += draw(st.lists(st.sampled_from(STRANGERS), max_size=2))
        lines += each.lines
    lines += draw(st.lists(st.sampled_from(STRANGERS), max_size=2))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return MadeLog(newline.join(lines) + draw(st.sampled_from(["", newline])), made)
