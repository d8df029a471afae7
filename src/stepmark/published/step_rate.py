"""Which workload the transformer tables timed: the one whose rate of arithmetic is the same for every size.

Method.       One device multiplies fp32 matrices at about one rate. Of two readings of what a step was, the
              one under which all sizes run at that rate is right.
Formula.      forward FLOP = 2 tokens (L (4 d^2 + 3 d d_ff) + V d);  backward twice that;  rate = FLOP / time
              as run:   tokens = 4 d, V = 32000
              handout:  tokens = 4 context, V = 10000, and 16 context^2 d L for attention
Assumptions.  Products dominate; attention over 4 tokens is nothing.
Source.       The script as published (read), and the published times.
"""

from __future__ import annotations

from stepmark.interchange.grid import GridDocument
from stepmark.published.transformer import MODELS, VOCABULARY, WARM, Model, tables, timings
from stepmark.records.record import Record

HANDOUT_BATCH, HANDOUT_VOCABULARY, HANDOUT_CONTEXT = 4, 10_000, 512


class StepRate(Record, frozen=True, kw_only=True):
    """One size: FLOP a second."""

    size: str
    forward: float
    backward: float
    handout_forward: float
    """If the step had been the handout's, at a context of 512."""


def step_rates(document: GridDocument) -> tuple[StepRate, ...]:
    """From the table that was warmed up."""
    table = tables(document)[WARM]
    forward, backward = timings(table, "forward"), timings(table, "backward")
    rates = []
    for size in forward:
        model = MODELS[size]
        flops = 2.0 * model.tokens * model.product_parameters(VOCABULARY)
        rates.append(
            StepRate(
                size=size,
                forward=flops / forward[size].mean,
                backward=2.0 * flops / backward[size].mean,
                handout_forward=_handout_flops(model) / forward[size].mean,
            )
        )
    return tuple(rates)


def _handout_flops(model: Model) -> float:
    tokens = HANDOUT_BATCH * HANDOUT_CONTEXT
    attention = 4.0 * tokens * HANDOUT_CONTEXT * model.d_model * model.layers
    return 2.0 * tokens * model.product_parameters(HANDOUT_VOCABULARY) + attention


def spread(rates: tuple[float, ...]) -> float:
    """Largest over smallest."""
    return max(rates) / min(rates)
