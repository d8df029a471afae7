"""What is wrong with the published transformer tables."""

from __future__ import annotations

from stepmark.interchange.grid import GridDocument
from stepmark.published.defect import Basis, Defect, DefectName
from stepmark.published.first_call import first_calls
from stepmark.published.profiler_stall import stalls
from stepmark.published.step_rate import spread, step_rates
from stepmark.published.transformer import SEQUENCE, VOCABULARY
from stepmark.records.finding import Severity


def defects(document: GridDocument) -> tuple[Defect, ...]:
    """The gravest first; that of the profiler only where its table is."""
    return (
        _shape(document),
        Defect(
            name=DefectName.GRADIENTS_ACCUMULATE,
            severity=Severity.ERROR,
            basis=Basis.READ,
            message="gradients were never reset: from the second step on each pass added to the last",
            remedy="gradients are dropped before each step, outside the clocks",
        ),
        Defect(
            name=DefectName.COMPILED_UNNOTICED,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message="torch.compile wrapped the model and parts of it; the author noticed weeks later",
            remedy="eager and compiled are variants side by side",
        ),
        _warm_up(document),
        Defect(
            name=DefectName.INPUTS_IN_CLOCK,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message="each forward time includes making two random tensors of tokens on the device",
            remedy="inputs are made outside every clock",
        ),
        Defect(
            name=DefectName.LOSS_IN_BACKWARD,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message=f"each backward time includes the cross-entropy over {VOCABULARY} classes",
            remedy="the loss is a phase of its own",
        ),
        *_profiler(document),
    )


def _shape(document: GridDocument) -> Defect:
    rates = step_rates(document)
    as_run = spread(tuple(rate.forward for rate in rates))
    handout = spread(tuple(rate.handout_forward for rate in rates))
    return Defect(
        name=DefectName.BATCH_IS_WIDTH,
        severity=Severity.ERROR,
        basis=Basis.READ,
        message=f"the batch was d_model sequences of {SEQUENCE} tokens instead of 4 sequences of the context "
        f"length, with a vocabulary of {VOCABULARY}. The times agree: so read, all sizes compute at one rate "
        f"(largest over smallest {as_run:.2f}); read as the handout they would not ({handout:.2f})",
        remedy="workload as_run repeats these shapes, workload handout has the intended ones",
    )


def _warm_up(document: GridDocument) -> Defect:
    calls = [call for call in first_calls(document) if call.stands_out]
    forward = " / ".join(f"{call.first:.1f}" for call in calls if call.phase == "forward")
    away = max(abs(call.rest / call.warm - 1.0) for call in calls)
    return Defect(
        name=DefectName.WARM_UP_IS_COMPILATION,
        severity=Severity.WARNING,
        basis=Basis.COMPUTED,
        message=f"the effect of no warm-up is compilation: one first call of {forward} s, while the other "
        f"nine steps are within {100 * away:.0f} % of the warm times",
        remedy="stepmark warmup shows the first iterations one by one, with their causes",
    )


def _profiler(document: GridDocument) -> tuple[Defect, ...]:
    found = stalls(document)
    if not found:
        return ()
    layers = " / ".join(f"{stall.per_layer * 1e3:.2f}" for stall in found)
    ratios = [stall.forward_ratio for stall in found]
    backward = max(stall.backward_ratio for stall in found)
    return (
        Defect(
            name=DefectName.PROFILER_STALL,
            severity=Severity.NOTE,
            basis=Basis.INFERRED,
            message=f"the forward pass under nsys takes {max(ratios):.1f} to {min(ratios):.1f} times as "
            f"long, which is {layers} ms for each layer: a wait of the host, it seems, not slower kernels. "
            f"The backward pass takes at most {100 * (backward - 1):.1f} % longer",
            remedy="stepmark profile measures what profiling costs",
        ),
    )
