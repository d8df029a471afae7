"""precision-differs, threads-differ and grad-mode-differs: the two arms do not run under the same settings.

Evidence. Settings that were read in the solo passes, each in a process of its own, after the plain steps;
          held against the baseline's. Precision: torch's flags about float32 products, TF32 and
          reduced-precision sums, the default dtype, and autocast that the case does not declare. Threads:
          those of torch's operators, also against what the run asked for. Gradient mode: the result of a
          phase requires a gradient in one arm and in the other it does not.
Why.      What differs between the arms is then not the layer alone. A product in TF32 is several times faster
          than one in float32, and a forward pass that builds a graph is slower than one that does not.
"""

from __future__ import annotations

import re

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed
from stepmark.records.finding import Finding, FindingName, Severity

PRECISION = re.compile("precision|tf32|reduced|default_dtype")
Numbers = tuple[tuple[str, float], ...]


def precision_differs(case: CaseLanes) -> Finding | None:
    """Once per variant, with the settings that differ."""
    if case.baseline is None or case.evidence is None or case.baseline.evidence is None:
        return None
    own, base = (dict(each.conditions.flags) for each in (case, case.baseline))
    different = [
        f"{name} is {own[name]}, the baseline's {base[name]}"
        for name in own
        if name in base and PRECISION.search(name) and own[name] != base[name]
    ]
    undeclared = [_undeclared_autocast(each) for each in (case, case.baseline)]
    if undeclared[0] != undeclared[1]:
        spelled = [", ".join(sorted(each)) or "nothing" for each in undeclared]
        different.append(f"autocast to {spelled[0]} that is not declared, the baseline's to {spelled[1]}")
    if not different:
        return None
    remedy = "set it at the top of the bench file, for all variants; declare autocast with Step(autocast=...)"
    return _finding(FindingName.PRECISION_DIFFERS, case, listed(different), remedy)


def threads_differ(case: CaseLanes) -> Finding | None:
    """Once per case: against the baseline, then against the run's own setting."""
    threads = case.conditions.threads
    baseline = case.baseline.conditions.threads if case.baseline else 0
    asked = case.run.settings.threads
    if not threads:
        return None
    if baseline and baseline != threads:
        message = f"torch has {threads} threads here and {baseline} in the baseline"
    elif asked is not None and asked != threads:
        message = f"torch has {threads} threads where the run asked for {asked}"
    else:
        return None
    remedy = "leave the number of threads to --threads"
    return _finding(FindingName.THREADS_DIFFER, case, message, remedy, (("threads", float(threads)),))


def grad_mode_differs(case: CaseLanes) -> Finding | None:
    """Once per variant, with the phases that differ."""
    if case.baseline is None:
        return None
    base = {phase.phase: phase for phase in case.baseline.phases if phase.returned}
    different = [
        f"{phase.phase} {'builds' if phase.graph_built else 'does not build'} a graph, the baseline's "
        f"{'does' if base[phase.phase].graph_built else 'does not'}"
        for phase in case.phases
        if phase.returned and phase.phase in base and phase.graph_built != base[phase.phase].graph_built
    ]
    if not different:
        return None
    remedy = "run both under no_grad, or both with inputs or weights that require a gradient"
    return _finding(FindingName.GRAD_MODE_DIFFERS, case, listed(different), remedy)


def _undeclared_autocast(case: CaseLanes) -> frozenset[str]:
    return frozenset(dtype for dtype in case.conditions.autocast if dtype != case.declared.autocast)


def _finding(name: FindingName, case: CaseLanes, message: str, remedy: str, numbers: Numbers = ()) -> Finding:
    return Finding(
        name=name, severity=Severity.WARNING, case=case.id, message=message, remedy=remedy, numbers=numbers
    )
