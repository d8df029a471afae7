"""Readings: a paragraph for each kind of figure on how to read it."""

from __future__ import annotations

FOREST = (
    "Each line is one case. The mark is its time divided by the baseline's time, so left of 1 is faster; "
    "the whisker is the interval of that ratio, and an arrow says that it goes on beyond the plot. The "
    "band around 1 is the margin: differences inside it do not matter. The verdict is the mark's shape "
    "and its letter: F and a triangle to the left is FASTER (the whole whisker left of the band), S and a "
    "triangle to the right SLOWER, E and a square EQUIVALENT (the whole whisker inside the band), ? and a "
    "circle INCONCLUSIVE (the whisker crosses the band's edge: more launches would be needed), X and a "
    "cross INVALID (nothing to compare, or the audit found an error). The wide panel is the time that "
    "verdicts are about, the narrow ones are its phases."
)
SWEEP = (
    "Each line is one variant, each panel one phase (the first is the time that verdicts are about) at "
    "one combination of the other axes. A mark is the median time of an iteration, the band around the "
    "line its interval, which may be narrower than the line. Lower is faster. A ? above a mark says that "
    "its verdict is INCONCLUSIVE, an X that it is INVALID; a cross at the upper edge is a case that "
    "failed. A name and a number at the upper edge are a crossover: before it another variant is faster "
    "by verdict, after it the named one. The dashed line is where their ratio is 1 if it changes evenly "
    "between the neighbouring measurements, the shaded stretch is where that is possible; without a "
    "dashed line it is somewhere in the stretch, and the measurements do not tell where."
)
PHASES = (
    "Each bar is one step, cut into its phases in the order in which they run; the remainder is what none "
    "of them explains. The number behind a bar is the median time of the whole step with half the width "
    "of its interval. Every phase is drawn at its own median, and medians need not add up exactly, so a "
    "bar may end a little before or behind the step's own time. Where cells lie far apart each bar is "
    "drawn relative to the longest one of its cell."
)
MEMORY = (
    "Three panels, each with a scale of its own. The first is what a case keeps all the time: its "
    "parameters, its optimizer's state, and the rest, which is inputs and buffers. The second is what an "
    "iteration adds to that at most, phase by phase: each mark is the peak of one phase above the level "
    "at the iteration's start, and the mark farthest right decides how much the step needs, which is the "
    "number behind it. The third is what is kept for the backward pass. All of it was counted in an "
    "instrumented step of a process of its own, so nothing of another variant is in it. Where cells lie "
    "far apart everything is drawn relative to the most of its cell."
)
ROOFLINE = (
    "Across is how much a case computes for each byte that its operations read and write, upwards how "
    "much it computes in a second; both axes are logarithmic. The rising lines are what memory allows, "
    "the level ones what matrix products reach, all measured on this machine. Nothing should lie above "
    "the line of its kind: what lies on it is at the limit, and a case ten times below it takes ten times "
    "as long as it might. Left of the corner a case waits for memory, right of it for arithmetic. Only "
    "matrix products, convolutions and attention count as work; cases that reuse data in a cache may lie "
    "above the line of memory."
)
ORDER = (
    "Each mark is one block of iterations, drawn at its time for one iteration, in the order in which "
    "they were measured: round after round, launch after launch. Shading tells one launch from the next; "
    "each is a fresh process, and the thick line is its median. A hollow diamond is a mild outlier of its "
    "launch by Tukey's fences (more than 1.5 times the middle half's width beyond it), a cross a severe "
    "one (more than 3 times): they are marked, and they count like the others. A level that steps from "
    "launch to launch is why the interval is formed over launches; a slope inside a launch is a warm-up "
    "that was too short, or a machine that slows down."
)
LAUNCHES = (
    "Each box is one launch: a line at the median, the box over the middle half of its blocks, whiskers "
    "to the last block inside Tukey's inner fences, and the blocks beyond them as marks, hollow diamonds "
    "for mild outliers and crosses for severe ones. The dashed line is the level of the case: the median "
    "over launches, its interval is the band. Boxes that stand at different heights are processes that "
    "differ; that is the spread which more launches average out, and longer ones do not."
)
WARMUP = (
    "Each line is one launch, from its very first iteration to the end of its warm-up; both axes are "
    "logarithmic. Single marks are first iterations, one by one: allocation, lazy set-up, compilation. "
    "After them each mark is a block of iterations, drawn at its time for one. The dashed line is the "
    "level that was measured afterwards. A line that comes down to it and stays has settled; one that was "
    "still moving when the warm-up was cut off has crosses."
)
HISTORY = (
    "Each mark is one run, the oldest on the left, with its median time and interval; the axis does not "
    "begin at zero, so that small changes can be seen. Marks of another shape and colour were measured "
    "under other conditions (another machine, torch or number of threads) and must not be compared with "
    "the others. The level lines are stretches without a change: the mean of their runs, with its "
    "interval as a band. A dashed line is a change point: the first run at a new level, with how much it "
    "changed. A ? says that the run's verdict against the baseline was INCONCLUSIVE, an X that it was "
    "INVALID."
)
