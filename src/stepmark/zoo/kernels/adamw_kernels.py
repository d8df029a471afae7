# mypy: ignore-errors
"""One Adam step of many tensors in one launch: a table says where they lie, another who takes which piece."""

import triton
import triton.language as tl

# Columns of the table of tensors: addresses, and the row of its settings.
PARAMETER, GRADIENT, FIRST, SECOND, COUNT, LR, GROUP = map(tl.constexpr, range(7))
TENSOR_COLUMNS = tl.constexpr(8)
# Columns of the table of pieces.
TENSOR, START, LENGTH, ALIGNED = map(tl.constexpr, range(4))
PIECE_COLUMNS = tl.constexpr(4)
UNIT = tl.constexpr(16)
# Columns of the settings.
DECAY, EPS, FIRST_SHARE, SECOND_SHARE, FIRST_LOG, SECOND_LOG = (
    tl.constexpr(column) for column in range(1, 7)
)
SETTINGS_COLUMNS = tl.constexpr(8)


@triton.jit
def one_minus_power(step, log_beta):
    """1 - beta^step, without the cancellation of the difference where the power is close to 1."""
    x = step * log_beta
    series = x * (1.0 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720))))))
    return tl.where(x > -0.25, -series, 1.0 - tl.exp(x))


@triton.jit
def located(place, DTYPE: tl.constexpr, WIDE: tl.constexpr):
    """The address in the table as a pointer."""
    pointer = tl.load(place).to(tl.pointer_type(DTYPE))
    return tl.multiple_of(pointer, 16) if WIDE else pointer


@triton.jit
def update_piece(
    tensors, piece, settings,
    PARAMETERS: tl.constexpr, STATES: tl.constexpr, SIZE: tl.constexpr, DECOUPLED: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """`piece` is its row of the table. WIDE promises addresses and a length that allow 16-byte accesses."""
    tensor = tensors + tl.load(piece + TENSOR) * TENSOR_COLUMNS
    length = tl.load(piece + LENGTH)
    if WIDE:
        length = tl.multiple_of(length, UNIT)
    step = tl.load(tl.load(tensor + COUNT).to(tl.pointer_type(tl.float32))) + 1.0
    lr = tl.load(tl.load(tensor + LR).to(tl.pointer_type(tl.float32)))
    group = settings + tl.load(tensor + GROUP) * SETTINGS_COLUMNS
    decay = tl.load(group + DECAY)
    here = tl.load(piece + START).to(tl.int64) * UNIT + tl.arange(0, SIZE)
    inside = tl.arange(0, SIZE) < length
    parameters = located(tensor + PARAMETER, PARAMETERS, WIDE) + here
    gradients = located(tensor + GRADIENT, PARAMETERS, WIDE) + here
    firsts = located(tensor + FIRST, STATES, WIDE) + here
    seconds = located(tensor + SECOND, STATES, WIDE) + here
    p = tl.load(parameters, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(gradients, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
    m = tl.load(firsts, mask=inside, other=0.0).to(tl.float32)
    v = tl.load(seconds, mask=inside, other=0.0).to(tl.float32)
    if DECOUPLED:
        p = p - (lr * decay) * p
    else:
        g = g + decay * p
    m = m + (g - m) * tl.load(group + FIRST_SHARE)
    v = v + (g * g - v) * tl.load(group + SECOND_SHARE)
    size = lr / one_minus_power(step, tl.load(group + FIRST_LOG))
    root = tl.sqrt(one_minus_power(step, tl.load(group + SECOND_LOG)))
    p = p - size * m / (tl.sqrt(v) / root + tl.load(group + EPS))
    tl.store(parameters, p.to(PARAMETERS), mask=inside)
    tl.store(firsts, m.to(STATES), mask=inside)
    tl.store(seconds, v.to(STATES), mask=inside)


@triton.jit(do_not_specialize=["num_pieces", "num_tensors"])
def adam_step(
    tensors, pieces, settings, finished, num_pieces, num_tensors,
    PARAMETERS: tl.constexpr, STATES: tl.constexpr, SIZE: tl.constexpr, DECOUPLED: tl.constexpr,
):  # fmt: skip
    """Pieces in strides of the grid. The program that finishes last counts the step, when nobody reads the
    counts any more, and leaves `finished` at zero for the next launch."""
    for place in range(tl.program_id(0), num_pieces, tl.num_programs(0)):
        piece = pieces + place * PIECE_COLUMNS
        if tl.load(piece + ALIGNED) == 1:
            update_piece(tensors, piece, settings, PARAMETERS, STATES, SIZE, DECOUPLED, True)
        else:
            update_piece(tensors, piece, settings, PARAMETERS, STATES, SIZE, DECOUPLED, False)
    # Every warp of this program has read the counts before one of them says so.
    tl.debug_barrier()
    if tl.atomic_add(finished, 1) == tl.num_programs(0) - 1:
        tl.store(finished, 0)
        for first in range(0, num_tensors, 128):
            rows = first + tl.arange(0, 128)
            inside = rows < num_tensors
            counts = tl.load(tensors + rows * TENSOR_COLUMNS + COUNT, mask=inside, other=0)
            counts = counts.to(tl.pointer_type(tl.float32))
            tl.store(counts, tl.load(counts, mask=inside) + 1.0, mask=inside)
