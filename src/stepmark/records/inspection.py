"""Inspection: what an instrumented step of a case showed; counts, sizes, names; never a judged time."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.record import Record
from stepmark.records.sample import Layout


class Product(Record, frozen=True, kw_only=True):
    """The matrix products of one dtype in a phase."""

    dtype: str
    """Of the operands: `float32`."""
    calls: int
    flops: float


OTHERS = "others"
"""The name under which the operators of a phase that are not listed one by one are summed."""


class OperatorUse(Record, frozen=True, kw_only=True):
    """All calls of one of torch's operators in a phase. Calls, flops and traffic of all operators add up to
    the phase's own."""

    name: str
    """With namespace and overload, `aten.addmm.default`; or OTHERS."""
    calls: int
    flops: float = 0.0
    traffic: float = 0.0
    """Bytes; none where it makes a view."""
    seconds: float | None = None
    """On the host, inside the calls, in the instrumented step: never judged. None on an accelerator, where
    the host only launches."""


class CreationKind(StrEnum):
    RANDOM = "random"
    """Numbers drawn into a tensor of their own."""
    HOST = "host"
    """A tensor made of Python or NumPy data."""
    COPY = "copy"
    """A tensor copied from the host to the device."""


class Creation(Record, frozen=True, kw_only=True):
    """Data made inside a phase that could have been made before the clock."""

    kind: CreationKind
    call: str
    """`torch.randn`."""
    bytes: int


class PhaseInspection(Record, frozen=True, kw_only=True):
    """One phase of one iteration, operation by operation. Sizes are bytes, memory is above the level at the
    iteration's start."""

    phase: str
    operations: int = 0
    """Of torch, as its dispatcher saw them; views count too."""
    flops: float = 0.0
    """Two for a multiplication with addition; matrix products, convolutions and attention only."""
    skippable_flops: float = 0.0
    """Of them, the half of causal attention that a kernel may leave out."""
    traffic: float = 0.0
    """Bytes that the operations read and write, each tensor once an operation; views move nothing."""
    uncounted: tuple[str, ...] = ()
    """Operators that may do such work and have no formula for it: the work is at least what was counted."""
    products: tuple[Product, ...] = ()
    operators: tuple[OperatorUse, ...] = ()
    """The longest first, or those with most work; the largest few, then the others as one. Views are among
    them. Empty in records before format 4."""
    fingerprint: str = ""
    """Of the operations in order, with shapes and dtypes: two phases with the same one do the same work."""
    forward_operations: int = 0
    """Outside the autograd engine; views left out."""
    forward_flops: float = 0.0
    backward_operations: int = 0
    """Inside the autograd engine; views left out."""
    backward_flops: float = 0.0
    created: tuple[Creation, ...] = ()
    mutated: int = 0
    """Tensors that were there before the phase and were written in it."""
    dead_flops: float = 0.0
    """Of operations whose results reach neither the phase's result nor anything that outlives the phase."""
    unseen: bool = False
    """Something, like a kernel, wrote memory behind the dispatcher's back: who depends on what is unknown."""
    outstanding_seconds: float = 0.0
    """Processor time that other threads went on to spend after the phase had returned."""
    stray_seconds: float = 0.0
    """On an accelerator: how long the device worked on after the current stream was done."""
    waits: tuple[str, ...] = ()
    """On an accelerator: where the phase made the host wait for the device, each place once."""
    peak_bytes: int = 0
    reserved_bytes: int = 0
    """On an accelerator: what the allocator took from the device at its peak, above what it had then."""
    live_bytes: int = 0
    """At the phase's end."""
    saved_bytes: int = 0
    """Kept for the backward pass by the phase; parameters and inputs, which exist anyway, are left out."""
    graph_built: bool = False
    """Its result requires a gradient."""
    returned: bool = False
    """It has a result."""


class GradientFacts(Record, frozen=True, kw_only=True):
    """What backward passes left behind, in the second of two iterations."""

    trainable: int
    """Parameters of the step that require a gradient."""
    without: tuple[str, ...] = ()
    """Names of those that got none."""
    zero: tuple[str, ...] = ()
    """Names of those whose gradient is zero everywhere."""
    passes: int = 0
    """Backward passes in one iteration."""
    leaves: int = 0
    """Tensors that the passes give gradients to."""
    present_before: int = 0
    """Leaves that still had the last iteration's gradient when the iteration's first pass reached them."""
    same_graph: bool = False
    """A graph of the first iteration was traversed again."""
    graphs_alive: int = 0
    """Ends of graphs of earlier iterations that are still alive."""


class OptimizerFacts(Record, frozen=True, kw_only=True):
    """What optimizers did in one iteration."""

    steps: int
    parameters: int
    """That they hold."""
    foreign: int = 0
    """Of those, not parameters of the step; 0 where the step has no parameters that are known."""
    with_gradient: int = 0
    changed: int = 0
    """That have other values after the steps."""
    passed_by: tuple[str, ...] = ()
    """Weights that got a gradient, that no optimizer holds and that nothing changed: names of parameters, and
    shapes of what is no parameter of the step."""


class ValueKind(StrEnum):
    INPUT = "input"
    WEIGHT = "weight"
    OUTPUT = "output"
    GRADIENT = "gradient"


class Degenerate(Record, frozen=True, kw_only=True):
    """A tensor whose values make its arithmetic unlike that of real data; others are not listed."""

    kind: ValueKind
    name: str
    elements: int
    dimensions: int = 0
    constant: bool = False
    """All the same; zero included."""
    zero: bool = False
    nan: int = 0
    infinite: int = 0
    denormal: int = 0


class NumberCheck(Record, frozen=True, kw_only=True):
    """Numbers of the case against its reference in float64."""

    what: str
    """`output`, `gradient of weight`, or an operation's name."""
    error: float
    """The largest difference, relative to the largest number of the reference; infinite differences and
    shapes that do not match count as 1e300."""
    tolerance: float
    place: tuple[int, ...] = ()
    """Index of the largest difference."""
    got: float | None = None
    expected: float | None = None
    problem: str = ""
    """Where they could not be compared: other shapes, a reference that failed."""


class CompilerFacts(Record, frozen=True, kw_only=True):
    """What torch's compiler did in the solo pass."""

    frames: int = 0
    """Graphs it made."""
    breaks: int = 0
    """Places where it gave up and went on in Python."""
    reasons: tuple[str, ...] = ()
    """Of the breaks, the most frequent first, a few."""
    disabled: bool = False
    """An environment variable or stance turns it off."""


class MemoryFacts(Record, frozen=True, kw_only=True):
    """Tensors alive around the step, in bytes."""

    before_build: int = 0
    """Alive before the case was built: made by the import of the bench file, or of another case."""
    own: int = 0
    """Parameters, buffers, inputs, targets and optimizer state of the step."""
    foreign: int = 0
    """Alive after the build, not the step's own, and not made before it."""
    kept: int = 0
    """Made in the last inspected iteration and alive after its end, the step's own left out."""
    kept_before: int = 0
    """The same of the iteration before, and still alive after the last one: both together are growth."""


class Inspection(Record, frozen=True, kw_only=True):
    """Two iterations under instruments, after the plain steps of the solo pass."""

    phases: tuple[PhaseInspection, ...]
    """In the layout's order, the whole left out."""
    eager: bool = False
    """The step is compiled; its operations were counted with the compiler set aside."""
    gradients: GradientFacts | None = None
    """None where nothing ran backward and nothing should have."""
    optimizer: OptimizerFacts | None = None
    """None where no optimizer stepped and none was declared."""
    degenerate: tuple[Degenerate, ...] = ()
    depends: bool | None = None
    """Whether the output depends on the inputs; None where that is unknown."""
    repeatable: bool | None = None
    """Whether the same inputs gave the same output; asked only where the case says it is deterministic."""
    mutated_inputs: tuple[str, ...] = ()
    """Inputs that a forward pass wrote: `input 0`."""
    mutated_weights: tuple[str, ...] = ()
    """Parameters that a forward pass wrote."""
    training: bool | None = None
    """Whether any module of the step is in training mode while it runs; None where it has none."""
    autocast: tuple[str, ...] = ()
    """Dtypes under which calls of the step ran autocast."""
    compiler: CompilerFacts = CompilerFacts()
    memory: MemoryFacts = MemoryFacts()
    host_seconds: float | None = None
    """On an accelerator: until one iteration had been enqueued,"""
    device_seconds: float | None = None
    """and until it was done."""
    foreign_streams: bool = False
    """On an accelerator: work was left on another stream than the current one."""
    seconds: float = 0.0
    """What looking cost."""
    problem: str = ""
    """Why the inspection could not be finished; what it had until then stands here."""


def spanned_by_primary(inspection: Inspection, layout: Layout) -> tuple[PhaseInspection, ...]:
    """The phases that the primary time spans; empty where one of them was not inspected. A step that is timed
    as one (a captured graph) spans all that were inspected."""
    primary = layout.primary
    if primary == layout.whole:
        parts = tuple(phase for phase in layout.phases if phase != layout.whole)
    else:
        parts = next((total.parts for total in layout.totals if total.name == primary), (primary,))
    known = {phase.phase: phase for phase in inspection.phases}
    if layout.phases == (primary,) and primary not in known:
        return inspection.phases
    return tuple(known[part] for part in parts) if all(part in known for part in parts) else ()
