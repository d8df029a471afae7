"""The catalogue: which results there are, where they come from, and their files."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from stepmark.errors import UsageError
from stepmark.interchange.formats import Document, parse
from stepmark.interchange.lines import decode
from stepmark.records.record import Record


class Publication(Record, frozen=True, kw_only=True):
    """One published file."""

    name: str
    file: str
    """In the folder `data`."""
    format: str
    about: str
    repository: str
    path: str
    """Inside the repository."""
    commit: str
    date: str
    hardware: str
    software: str
    licence: str


PUBLICATIONS = {
    each.name: each
    for each in (
        Publication(
            name="fragmented",
            file="fragmented_linear.txt",
            format="fragmented-text",
            about="FragmentedLinear (version 4) against nn.Linear: 81 training loops, fp32",
            repository="Snowyiu/fragmented_linear",
            path="benchmark_3.txt",
            commit="1a8818f",
            date="2024-12-15",
            hardware="a CUDA GPU, not named; not Hopper, 0.9 to 1 TB/s (inferred from memory and bandwidth)",
            software="PyTorch of December 2024, version not named; no seed",
            licence="none stated",
        ),
        Publication(
            name="switchback",
            file="switchback_info.txt",
            format="switchback-jsonl",
            about="SwitchBack int8 linear layers taken apart: 142 shapes, fp16",
            repository="bitsandbytes-foundation/bitsandbytes",
            path="tests/triton_tests/info.jsonl",
            commit="5f3d9ada",
            date="2023-03-29",
            hardware="A100 class (inferred from the rates)",
            software="torch and Triton of March 2023, versions not named",
            licence="MIT",
        ),
        Publication(
            name="transformer-1",
            file="transformer_answers_1.txt",
            format="grid",
            about="four sizes of a transformer, forward and backward, after 5, 0, 1 and 2 warm-up steps",
            repository="vskogstad/assignment2-systems",
            path="Answers.md",
            commit="bed5151",
            date="2025-08-28",
            hardware="H100 SXM5 80 GB (inferred from the rates and a project name)",
            software="torch 2.6.0, torch.compile, fp32 without TF32",
            licence="Copyright 2025 Stanford University (course material)",
        ),
        Publication(
            name="transformer-2",
            file="transformer_answers_2.txt",
            format="grid",
            about="the same tables, one more under the nsys profiler, and four sums in mixed precision",
            repository="vskogstad/assignment2-systems",
            path="Answers.md",
            commit="070a0ac",
            date="2025-10-14",
            hardware="H100 SXM5 80 GB (inferred from the rates and a project name)",
            software="torch 2.6.0, torch.compile, fp32 without TF32",
            licence="Copyright 2025 Stanford University (course material)",
        ),
        Publication(
            name="lora",
            file="lora_criterion.txt",
            format="criterion",
            about="LoRA layers, norms, softmax and AdamW in Rust on a Mac: 17 benchmarks, run 2 of 5",
            repository="GarthDB/metal-candle",
            path="benchmark_results/20251211_174316/training_run2.txt",
            commit="0136f7b",
            date="2025-12-11",
            hardware="Apple M4 Max, 16 CPU cores, 48 GB, macOS 26.1",
            software="metal-candle 1.2.0, candle 0.9 on Metal, Criterion 0.5.1, rustc 1.91.1",
            licence="Apache-2.0",
        ),
    )
}


def publication_named(name: str) -> Publication:
    """The publication of this name."""
    known = PUBLICATIONS.get(name)
    if known is None:
        near = get_close_matches(name, PUBLICATIONS, n=1, cutoff=0.4)
        advice = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"there is no published result '{name}'", remedy=f"{advice}there are: {', '.join(PUBLICATIONS)}"
        )
    return known


def text_of(name: str) -> str:
    """The file as it was published."""
    known = publication_named(name)
    return decode((files("stepmark.published") / "data" / known.file).read_bytes())


@cache
def document_of(name: str) -> Document:
    """The file as records."""
    known = publication_named(name)
    return parse(text_of(name), known.file, format_name=known.format)
