"""What is wrong with the published LoRA result."""

from __future__ import annotations

from stepmark.interchange.criterion import CriterionLog
from stepmark.published.defect import Basis, Defect, DefectName
from stepmark.published.lora_plan import RecoveredPlan, recovered_plans
from stepmark.published.lora_work import PUBLISHED_WORK
from stepmark.records.finding import Severity


def defects(log: CriterionLog) -> tuple[Defect, ...]:
    """The gravest first."""
    plans = {plan.id: plan for plan in recovered_plans(log)}
    return (
        _unsynchronised(list(plans.values())),
        Defect(
            name=DefectName.BACKWARD_DOES_NOTHING,
            severity=Severity.ERROR,
            basis=Basis.READ,
            message="gradient_computation and full_training_step: the fused operation tracks its input only, "
            "which needs no gradient, so that backward() computes none for A and B",
            remedy="the gradients of A and B are tested against float64",
        ),
        Defect(
            name=DefectName.OPTIMIZER_NEVER_RAN,
            severity=Severity.ERROR,
            basis=Basis.READ,
            message="full_training_step/complete_iteration steps AdamW only if both gradients exist: never",
            remedy="the optimizer is a phase, with a time of its own",
        ),
        _same_kernel(*(plans[f"lazy_vs_eager_lora/{way}"] for way in ("eager_forward", "lazy_forward_sync"))),
        Defect(
            name=DefectName.EXCESS_WORK,
            severity=Severity.ERROR,
            basis=Basis.READ,
            message="each output element computes the whole hidden vector again: "
            f"{' / '.join(f'{work.excess:.0f}' for work in PUBLISHED_WORK[:3])} times the work that "
            f"{' / '.join(str(work.features) for work in PUBLISHED_WORK[:3])} features need",
            remedy="two small products, the cheaper order first",
        ),
        Defect(
            name=DefectName.COMPILES_EVERY_CALL,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message="every forward pass makes a new operation with empty caches, which asks Metal to compile "
            "its shaders again",
            remedy="a layer is built and compiled before it is measured; stepmark warmup shows what compiles",
        ),
        Defect(
            name=DefectName.NO_BASE_WEIGHT,
            severity=Severity.NOTE,
            basis=Basis.READ,
            message="the layer is the adapter alone: there is no frozen weight that it adapts",
            remedy="variants dense, adapter and lora stand side by side",
        ),
    )


def _unsynchronised(plans: list[RecoveredPlan]) -> Defect:
    widest = max(plans, key=lambda plan: plan.half_width)
    drifting = max(plans, key=lambda plan: plan.drift)
    return Defect(
        name=DefectName.NO_SYNCHRONISATION,
        severity=Severity.ERROR,
        basis=Basis.READ,
        message="no benchmark waits for the GPU: what was timed is how fast work is queued, and how long a "
        f"full queue blocks. Intervals reach ±{100 * widest.half_width:.0f} % ({widest.id}), and an "
        f"iteration takes up to {drifting.drift:.1f} times as long as while warming up ({drifting.id})",
        remedy="the device is idle when a clock starts and when it stops",
    )


def _same_kernel(eager: RecoveredPlan, lazy: RecoveredPlan) -> Defect:
    return Defect(
        name=DefectName.SAME_KERNEL,
        severity=Severity.ERROR,
        basis=Basis.READ,
        message=f"lazy and eager run the same kernel, and 'sync' is empty: {eager.point * 1e3:.2f} ms "
        f"(±{100 * eager.half_width:.0f} %) against {lazy.point * 1e3:.2f} ms "
        f"(±{100 * lazy.half_width:.0f} %) is noise",
        remedy="variants are compared side by side, with a verdict",
    )
