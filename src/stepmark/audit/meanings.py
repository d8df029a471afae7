"""Meanings: what each finding says, in one sentence without numbers."""

from __future__ import annotations

from collections.abc import Mapping

from stepmark.records.finding import FindingName as Name

MEANINGS: Mapping[Name, str] = {
    Name.NOT_SYNCHRONISED: "work was still going on when the clock stopped",
    Name.PHASE_BLEED: "work of one phase fell into another phase's clock",
    Name.BACKWARD_DOES_NOTHING: "backward produced no gradient for anything trainable",
    Name.PARAMETER_WITHOUT_GRADIENT: "backward passed some trainable parameters by",
    Name.OPTIMIZER_DOES_NOTHING: "the optimizer left the parameters unchanged, or was given others",
    Name.GRADIENT_NOT_APPLIED: "gradients reach weights that nothing updates",
    Name.GRADIENTS_ACCUMULATE: "gradients are added to those of the iteration before",
    Name.GRAPH_RETAINED: "one autograd graph is traversed again and again, or graphs pile up",
    Name.INPUTS_MADE_INSIDE: "data is created, or copied to the device, inside a timed phase",
    Name.WRONG_NUMBERS: "outputs or gradients differ from the reference beyond the tolerance",
    Name.NOT_THE_DECLARED_WORK: "sizes, mode or counted work are not what the case declares",
    Name.SAME_WORK_AS_BASELINE: "the variant executes exactly the baseline's operations",
    Name.MORE_WORK_THAN_NEEDED: "far more is computed than the useful work that is declared",
    Name.DEAD_WORK: "results do not depend on the inputs, or nothing uses them",
    Name.FASTER_THAN_PHYSICS: "the rate is above what this machine can reach",
    Name.SLOW_BASELINE: "the baseline is far slower here than beside this cell: a win is an artefact",
    Name.DEGENERATE_DATA: "tensors are all zero, constant, denormal, NaN or infinite",
    Name.NOT_DETERMINISTIC: "the same inputs gave another output, though declared deterministic",
    Name.MUTATES_INPUTS: "a forward pass wrote its inputs or weights",
    Name.UNEVEN_ITERATIONS: "now and then an iteration takes far longer, and the median does not see it",
    Name.HOST_BOUND: "the device waits for Python: the number is the cost of launching",
    Name.SYNCHRONISES_INSIDE: "the step makes the host wait for the device, which idles meanwhile",
    Name.COMPILED_INSIDE: "something was compiled or tuned inside timed iterations",
    Name.COMPILED_UNANNOUNCED: "the step is compiled and does not say so, or the other way round",
    Name.EAGER_FALLBACK: "a step that is declared as compiled runs in Python, in part or whole",
    Name.WARM_UP_UNFINISHED: "the first rounds of most launches were still slower than the later ones",
    Name.NEVER_SETTLED: "times were still drifting when the warm-up was cut off",
    Name.LEFTOVER_MEMORY: "tensors that are not the step's own are alive while it is measured",
    Name.MEMORY_GROWS: "memory rises from iteration to iteration",
    Name.PRECISION_DIFFERS: "precision settings differ between the variant and the baseline",
    Name.THREADS_DIFFER: "the number of threads differs from the baseline's or the run's",
    Name.GRAD_MODE_DIFFERS: "a phase builds an autograd graph in one arm and not in the other",
    Name.PROFILER_ATTACHED: "a profiler, tracer or debugger looked on",
    Name.ANOMALY_MODE: "autograd's anomaly mode was on",
    Name.DEBUG_BUILD: "a build or an environment for debugging was measured",
    Name.CHANGES_ITS_NEIGHBOURS: "in company its level is another than alone, or it changes a global setting",
    Name.LANE_FAILED_IN_COMPANY: "the case passed alone but failed beside the others",
    Name.THROTTLED: "heat, power or a quota held the machine back",
    Name.CLOCK_DRIFT: "the device's clock rate changed within launches",
    Name.NOISY_NEIGHBOUR: "others wanted the same cores or card; ratios hold, times are worse than need be",
    Name.QUANTISED_CLOCK: "the clock's steps are too coarse for this time",
    Name.CLOCK_DOMINATES: "the clock's own cost is a visible part of the time",
    Name.FEW_LAUNCHES: "too few launches for an interval worth reading",
    Name.NOT_AUDITED: "the instrumented step could not be finished",
}
