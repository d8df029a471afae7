"""Accumulation: a thousand additions of 0.01 in many number formats, each taken apart exactly.

The additions are done by torch; what happened is then computed from the stored values in rational arithmetic,
where nothing is rounded. With x the value meant (1/100), a the value stored, s_i the sums and r_i what is
really added to s_i:

  error = s_n - n x = n (a - x)                      the addend was rounded once, and counts n times
                    + sum of (s_i+1 - s_i - r_i)     every sum is rounded
                    + sum of (r_i - a)               what Kahan's method hands back; else 0

In a binade, from 2^e to 2^(e+1), a format of p bits has its numbers 2^(e-p+1) apart. A sum moves by whole
spacings only, so every addition there errs by about the same amount: an error of summing is no noise, it has
a sign for each binade. Where half a spacing is no less than the addend, the sum stands still: from
2^(ceil(log2 a) + p) on.

Source.  CS336 (Stanford), assignment 2, mixed_precision_accumulation, for four experiments and their results;
         Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965); Higham, "The accuracy of
         floating point summation", SIAM J. Sci. Comput. 14 (1993), for pairwise summation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import floor, frexp, log2

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Binade:
    """The additions whose sum lay between two powers of two."""

    low: float
    """The lower of the two."""
    spacing: float
    """Distance of neighbouring numbers of the accumulator there."""
    num_additions: int
    rounding_error: float
    """All that rounding these sums added."""


@dataclass(frozen=True, kw_only=True)
class Accumulation:
    """What a sum became, and why: error = addend_error + rounding_error + compensation, exactly."""

    method: str
    accumulator: str
    addend_dtype: str
    value: float
    """The addend that was meant, as written in decimals."""
    count: int
    addend: float
    """The addend that was stored."""
    result: float
    error: float
    """The result less the sum that was meant."""
    addend_error: float
    """What storing the addend contributed."""
    rounding_error: float
    """What rounding the sums contributed."""
    compensation: float
    """What the method handed back of it."""
    num_inexact: int
    """Additions whose sum had to be rounded."""
    stagnates_from: float | None
    """The power of two from which adding the addend changes nothing; None if the format ends before."""
    stagnated_after: int | None
    """Additions after which the running sum stood still; None if it never did."""
    binades: tuple[Binade, ...]


@dataclass(frozen=True, kw_only=True)
class _Additions:
    """Every addition that led to a sum: left + right = result, (n,) each, and the addend they began with."""

    left: Tensor
    right: Tensor
    result: Tensor
    addend: Tensor


def running(
    accumulator: torch.dtype,
    addend: torch.dtype | None = None,
    *,
    cast: bool = False,
    value: float = 0.01,
    count: int = 1000,
    device: torch.device | str = "cpu",
) -> Accumulation:
    """One after the other: s += a; `cast` turns the addend into the accumulator's type first."""
    stored = _stored(value, count, addend or accumulator, device)
    added = stored.to(accumulator) if cast else stored
    total = torch.zeros((), dtype=accumulator, device=device)
    sums = [total.clone()]
    for _ in range(count):
        total += added
        sums.append(total.clone())
    every = torch.stack(sums)
    additions = _Additions(left=every[:-1], right=added.expand(count), result=every[1:], addend=stored)
    return _explained("running", additions, value=value, count=count, carried=Fraction(0))


def kahan(
    dtype: torch.dtype, *, value: float = 0.01, count: int = 1000, device: torch.device | str = "cpu"
) -> Accumulation:
    """One after the other, where the next addition gets back what the last one lost; all in one type."""
    stored = _stored(value, count, dtype, device)
    total, lost = torch.zeros_like(stored), torch.zeros_like(stored)
    sums, added = [total], []
    for _ in range(count):
        corrected = stored - lost
        after = total + corrected
        lost = (after - total) - corrected
        total = after
        sums.append(total)
        added.append(corrected)
    every, right = torch.stack(sums), torch.stack(added)
    additions = _Additions(left=every[:-1], right=right, result=every[1:], addend=stored)
    carried = sum(_fractions(right), Fraction(0)) - count * Fraction(float(stored))
    return _explained("kahan", additions, value=value, count=count, carried=carried)


def pairwise(
    dtype: torch.dtype, *, value: float = 0.01, count: int = 1000, device: torch.device | str = "cpu"
) -> Accumulation:
    """Neighbours first, then their sums, and so on: a sum meets only sums of its own size."""
    stored = _stored(value, count, dtype, device)
    parts = stored.repeat(count)
    lefts, rights, results = [parts[:0]], [parts[:0]], [parts[:0]]
    while len(parts) > 1:
        even = len(parts) // 2 * 2
        lefts.append(parts[0:even:2])
        rights.append(parts[1:even:2])
        results.append(lefts[-1] + rights[-1])
        parts = torch.cat([results[-1], parts[even:]])
    additions = _Additions(
        left=torch.cat(lefts), right=torch.cat(rights), result=torch.cat(results), addend=stored
    )
    return _explained("pairwise", additions, value=value, count=count, carried=Fraction(0))


EXPERIMENTS: Mapping[str, Callable[[], Accumulation]] = {
    "fp32": partial(running, torch.float32),
    "fp16": partial(running, torch.float16),
    "fp32 += fp16": partial(running, torch.float32, torch.float16),
    "fp32 += fp32(fp16)": partial(running, torch.float32, torch.float16, cast=True),
    "bf16": partial(running, torch.bfloat16),
    "fp32 += bf16": partial(running, torch.float32, torch.bfloat16),
    "fp64": partial(running, torch.float64),
    "kahan fp16": partial(kahan, torch.float16),
    "kahan bf16": partial(kahan, torch.bfloat16),
    "kahan fp32": partial(kahan, torch.float32),
    "pairwise fp16": partial(pairwise, torch.float16),
    "pairwise bf16": partial(pairwise, torch.bfloat16),
    "pairwise fp32": partial(pairwise, torch.float32),
}
"""The four of the handout, then more accumulators."""

PUBLISHED: Mapping[str, float] = {
    "fp32": 10.0001,
    "fp16": 9.9531,
    "fp32 += fp16": 10.0021,
    "fp32 += fp32(fp16)": 10.0021,
}
"""The handout's results, to the digits that torch prints."""


def in_words(seen: Accumulation) -> str:
    """The same in sentences."""
    worst = sorted(seen.binades, key=lambda binade: -abs(binade.rounding_error))[:2]
    words = [
        f"{seen.count} × {seen.value:g} in {seen.accumulator} ({seen.method}) is {seen.result:.10g}, "
        f"off by {seen.error:+.3g}.",
        f"{seen.addend_dtype} stores {seen.value:g} as {seen.addend:.10g}: {seen.addend_error:+.3g}.",
        f"Rounding {seen.num_inexact} sums: {seen.rounding_error:+.3g}"
        + (f", of which Kahan's method makes good {seen.compensation:+.3g}." if seen.compensation else "."),
    ]
    words += [
        f"{binade.rounding_error:+.3g} of it from {binade.low:g} to {2 * binade.low:g}, where numbers are "
        f"{binade.spacing:.3g} apart and the addend is {seen.addend / binade.spacing:.3g} of that."
        for binade in worst
        if binade.rounding_error
    ]
    if seen.stagnated_after is not None:
        words.append(f"After {seen.stagnated_after} additions the sum stands still.")
    return " ".join(words)


def _stored(value: float, count: int, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    if not dtype.is_floating_point:
        raise ValueError(f"expected a floating-point dtype, got {dtype}")
    if count < 1:
        raise ValueError(f"expected at least one addition, got {count}")
    stored = torch.tensor(value, dtype=dtype, device=device)
    if not (value > 0 and 0 < float(stored) < torch.inf):
        raise ValueError(f"expected a positive addend in the range of {dtype}, got {value}")
    return stored


def _explained(
    method: str, additions: _Additions, *, value: float, count: int, carried: Fraction
) -> Accumulation:
    accumulator = additions.result.dtype
    if not bool(additions.result.isfinite().all()):
        raise ValueError(f"{count} additions of {value} leave the range of {accumulator}")
    left, right, result = (_fractions(part) for part in (additions.left, additions.right, additions.result))
    addend = Fraction(float(additions.addend))
    total = result[-1] if result else addend
    rounded = [after - before - step for before, step, after in zip(left, right, result, strict=True)]
    sums = [before + step for before, step in zip(left, right, strict=True)]
    error = total - count * Fraction(str(value))
    stored_error = count * (addend - Fraction(str(value)))
    rounding = sum(rounded, Fraction(0))
    assert error == stored_error + rounding + carried, "every error has a cause"
    still = [before == after for before, after in zip(left, result, strict=True)]
    return Accumulation(
        method=method,
        accumulator=_name(accumulator),
        addend_dtype=_name(additions.addend.dtype),
        value=value,
        count=count,
        addend=float(addend),
        result=float(total),
        error=float(error),
        addend_error=float(stored_error),
        rounding_error=float(rounding),
        compensation=float(carried),
        num_inexact=sum(one != 0 for one in rounded),
        stagnates_from=_stagnates_from(addend, accumulator),
        stagnated_after=still.index(True) if method == "running" and True in still else None,
        binades=_binades(sums, rounded, accumulator),
    )


def _stagnates_from(addend: Fraction, accumulator: torch.dtype) -> float | None:
    mantissa, exponent = frexp(float(addend))  # mantissa from 1/2 to below 1
    ceiling = exponent - 1 if mantissa == 0.5 else exponent
    limit = Fraction(2) ** (ceiling + _bits(accumulator))
    return float(limit) if limit <= Fraction(torch.finfo(accumulator).max) else None


def _binades(sums: list[Fraction], rounded: list[Fraction], accumulator: torch.dtype) -> tuple[Binade, ...]:
    errors: dict[int, list[Fraction]] = {}
    for one, error in zip(sums, rounded, strict=True):
        errors.setdefault(_exponent(one), []).append(error)
    tiny = floor(log2(torch.finfo(accumulator).tiny))  # below it the spacing no longer shrinks
    return tuple(
        Binade(
            low=2.0**exponent,
            spacing=2.0 ** (max(exponent, tiny) - _bits(accumulator) + 1),
            num_additions=len(errors[exponent]),
            rounding_error=float(sum(errors[exponent], Fraction(0))),
        )
        for exponent in sorted(errors)
    )


def _exponent(number: Fraction) -> int:
    """The power of two at or below a positive number."""
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if number >= Fraction(2) ** guess else guess - 1


def _bits(dtype: torch.dtype) -> int:
    """Bits of the significand, the hidden one included: eps = 2^(1 - bits)."""
    return 1 - round(log2(torch.finfo(dtype).eps))


def _fractions(values: Tensor) -> list[Fraction]:
    return [Fraction(one) for one in values.double().tolist()]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
