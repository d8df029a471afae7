"""What is wrong with the published FragmentedLinear result."""

from __future__ import annotations

from stepmark.interchange.fragmented_text import MEBIBYTE, FragmentedText
from stepmark.published.defect import Basis, Defect, DefectName
from stepmark.published.own_peak import Peak, peaks
from stepmark.records.finding import Severity


def defects(document: FragmentedText) -> tuple[Defect, ...]:
    """The gravest first."""
    found = [peak for peak in peaks(document) if peak.fragments is not None]
    return (
        _leftover([peak for peak in found if peak.in_step]),
        Defect(
            name=DefectName.OPTIMIZER_IN_BACKWARD,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message="the clock of the backward pass also ran through zero_grad and the whole of Adam's step",
            remedy="backward and optimizer are phases of their own; the sum is shown where it is compared",
        ),
        Defect(
            name=DefectName.LOSS_IN_BACKWARD,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message="the loss was computed between the two clocks, its kernels ended inside the second one",
            remedy="the loss is a phase of its own",
        ),
        Defect(
            name=DefectName.INFERENCE_TRAINS,
            severity=Severity.WARNING,
            basis=Basis.READ,
            message="'Inference' is evaluation mode inside a training loop: gradients are on, Adam steps, "
            "and the layer comes from 110 steps of training",
            remedy="mode forward measures inference without gradients; the variant fragmented_hard repeats "
            "what was published",
        ),
        _gathered([peak for peak in found if not peak.in_step]),
    )


def _leftover(in_step: list[Peak]) -> Defect:
    """`in_step`: peaks that the optimizer sets, as it does for nn.Linear."""
    published = [peak.published_ratio for peak in in_step]
    own = [peak.own_ratio for peak in in_step]
    sizes = " / ".join(f"{size / MEBIBYTE:.0f}" for size in sorted({peak.leftover for peak in in_step}))
    return Defect(
        name=DefectName.LEFTOVER_LAYER,
        severity=Severity.ERROR,
        basis=Basis.COMPUTED,
        message=f"the nn.Linear measured before was still alive, with its gradients ({sizes} MiB): peaks "
        f"{min(published):.2f} to {max(published):.2f} times nn.Linear's, of which the layer's own are "
        f"{min(own):.2f} to {max(own):.2f} times",
        remedy="each case's memory is taken in a process of its own",
    )


def _gathered(in_forward: list[Peak]) -> Defect:
    worst = max(in_forward, key=lambda peak: peak.own_ratio)
    return Defect(
        name=DefectName.GATHERED_WEIGHTS,
        severity=Severity.NOTE,
        basis=Basis.COMPUTED,
        message=f"{len(in_forward)} peaks are an intermediate of the forward pass, most of them a copy of "
        f"the chosen weights for each sample: up to {worst.own_ratio:.1f} times nn.Linear's peak "
        f"(n={worst.n}, batch={worst.batch}, fragments={worst.fragments})",
        remedy="stepmark.zoo.FragmentedLinear makes neither copy nor intermediate",
    )
