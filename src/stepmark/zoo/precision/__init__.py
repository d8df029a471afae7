"""Precision: what number formats do to a sum, and which one autocast puts where."""

from stepmark.zoo.precision.accumulation import (
    EXPERIMENTS,
    PUBLISHED,
    Accumulation,
    Binade,
    in_words,
    kahan,
    pairwise,
    running,
)
from stepmark.zoo.precision.autocast import (
    PUBLISHED_PLACES,
    DtypesByPlace,
    ToyModel,
    differences,
    dtypes_by_place,
)

__all__ = [
    "EXPERIMENTS",
    "PUBLISHED",
    "PUBLISHED_PLACES",
    "Accumulation",
    "Binade",
    "DtypesByPlace",
    "ToyModel",
    "differences",
    "dtypes_by_place",
    "in_words",
    "kahan",
    "pairwise",
    "running",
]
