"""The tables of the published transformer result, and the models behind their rows."""

from __future__ import annotations

from collections.abc import Iterator

from stepmark.interchange.grid import GridDocument, Table
from stepmark.published.cell import PublishedCell
from stepmark.records.case import Mode
from stepmark.records.record import Record

SUITE = "transformer"
WARM, COLD, PROFILED = "warmup-5", "warmup-0", "nsys"
TABLES = (WARM, COLD, "warmup-1", "warmup-2", PROFILED)
"""In the order of the files; the first file has all but the last."""
PHASES = ("forward", "backward")
NUM_STEPS = 10
"""Timed in each row, after the warm-up of its table."""
COLUMNS = {
    "forward": ("Forward time", "Forward std"),
    "backward": ("backward time", "backward std"),
}
VOCABULARY = 32000
"""As run; the handout says 10000."""
SEQUENCE = 4
"""Tokens of a sequence as run: the script took d_model for the number of sequences."""


class Model(Record, frozen=True, kw_only=True):
    """A size of the course's handout."""

    d_model: int
    d_ff: int
    layers: int

    @property
    def tokens(self) -> int:
        """In a step as run."""
        return self.d_model * SEQUENCE

    def product_parameters(self, vocabulary: int) -> int:
        """Weights that multiply every token: attention, SwiGLU and the head."""
        block = 4 * self.d_model**2 + 3 * self.d_model * self.d_ff
        return self.layers * block + vocabulary * self.d_model


MODELS = {
    "small": Model(d_model=768, d_ff=3072, layers=12),
    "medium": Model(d_model=1024, d_ff=4096, layers=24),
    "large": Model(d_model=1280, d_ff=5120, layers=36),
    "xl": Model(d_model=1600, d_ff=6400, layers=48),
}


class Timing(Record, frozen=True, kw_only=True):
    """Mean and population standard deviation of ten steps, in seconds."""

    mean: float
    deviation: float


def tables(document: GridDocument) -> dict[str, Table]:
    """By name."""
    return dict(zip(TABLES, document.tables, strict=False))


def timings(table: Table, phase: str) -> dict[str, Timing]:
    """By size."""
    mean, deviation = COLUMNS[phase]
    columns = (table.column("Experiment_name"), table.column(mean), table.column(deviation))
    return {
        str(size): Timing(mean=float(mean), deviation=float(deviation))
        for size, mean, deviation in zip(*columns, strict=True)
    }


def cells(document: GridDocument, publication: str) -> Iterator[PublishedCell]:
    """Four rows a table."""
    for name, table in tables(document).items():
        found = {phase: timings(table, phase) for phase in PHASES}
        for size in found["forward"]:
            yield PublishedCell(
                publication=publication,
                row=f"{size} in table {name}",
                suite=SUITE,
                variant=None,
                axes=(("size", size), ("workload", "as_run")),
                mode=Mode.TRAIN,
                seconds=tuple((phase, found[phase][size].mean) for phase in PHASES),
                table=name,
            )
