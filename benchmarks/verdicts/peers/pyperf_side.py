"""pyperf: its Runner with one warm-up and three values a process, as by default, in fewer processes.

A process measures about half a second (values of at least 0.1 s), so two processes a second fill the time
given; by default there would be twenty.
"""

from __future__ import annotations

from benchmarks.verdicts.peers.side_order import VARIABLE, answer, build, of_values, order

PROCESSES_PER_SECOND = 2.0
INHERITED = ("PYTHONPATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", VARIABLE)


def main() -> None:
    import pyperf

    side = order()
    runner = pyperf.Runner(processes=max(2, round(side.seconds * PROCESSES_PER_SECOND)))
    arguments = runner.parse_args()
    arguments.inherit_environ = [*INHERITED]
    arguments.quiet = True
    call = build(side) if arguments.worker else order  # only workers call it
    benchmark = runner.bench_func("call", call)
    if benchmark is not None and not arguments.worker:
        measuring = sum(_seconds(run) for run in benchmark.get_runs())
        answer(of_values(benchmark.get_values(), measuring=measuring, kept=True))


def _seconds(run: object) -> float:
    """Warm-ups and values, without starting the process."""
    warmups = sum(loops * value for loops, value in run.warmups)  # type: ignore[attr-defined]
    return float(warmups + sum(run.get_loops() * value for value in run.values))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
