"""Queries: what the address of a page or of an API call may ask for, by name and type."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, TypeVar, get_origin

import msgspec
from msgspec import Meta

from stepmark.records.comparison import Centre, Terms, aspects_allowed
from stepmark.records.record import Record
from stepmark.records.run import RunStatus
from stepmark.records.settings import Policy
from stepmark.units import parse_fraction
from stepmark.web.problems import Refused

Q = TypeVar("Q", bound=Record)
Text = Annotated[str, Meta(max_length=500)]
Limit = Annotated[int, Meta(ge=1, le=200)]
Offset = Annotated[int, Meta(ge=0, le=10_000_000)]
_DAY = datetime.timedelta(days=1)


class NoQuery(Record, frozen=True, kw_only=True):
    """Nothing to choose."""


class RunsQuery(Record, frozen=True, kw_only=True):
    """Which runs."""

    text: (
        Annotated[Text, Meta(description="Part of an id, a suite, a command, a commit or a branch.")] | None
    ) = None
    suite: Annotated[Text, Meta(description="Name of a suite.")] | None = None
    machine: Annotated[Text, Meta(description="Host name.")] | None = None
    branch: Annotated[Text, Meta(description="Branch of the bench file's repository.")] | None = None
    since: Annotated[datetime.date, Meta(description="First day, in UTC.")] | None = None
    until: Annotated[datetime.date, Meta(description="Last day, in UTC.")] | None = None
    status: RunStatus | None = None
    limit: Limit = 50
    offset: Offset = 0

    @property
    def since_seconds(self) -> float | None:
        """The beginning of the first day."""
        return None if self.since is None else _midnight(self.since)

    @property
    def until_seconds(self) -> float | None:
        """The end of the last day."""
        return None if self.until is None else _midnight(self.until) + _DAY.total_seconds()


class ExportFormat(StrEnum):
    """How a run can be downloaded."""

    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    CRITERION = "criterion"
    BUNDLE = "bundle"


class ExportQuery(Record, frozen=True, kw_only=True):
    """In which format."""

    format: ExportFormat = ExportFormat.JSON


class SamplesQuery(Record, frozen=True, kw_only=True):
    """Of which case."""

    case: Annotated[str, Meta(description="Case id.", max_length=4000)]


class CompareQuery(Record, frozen=True, kw_only=True):
    """Which two runs, by which rules."""

    a: Annotated[
        Text, Meta(description="The baseline: a run's id, the beginning of one, a baseline's name, latest.")
    ]
    b: Annotated[Text, Meta(description="The candidate, likewise.")] = "latest"
    margin: Annotated[Text, Meta(description="Differences smaller than this do not matter: 1% or 0.01.")] = (
        "1%"
    )
    centre: Centre = Centre.MINIMUM
    allow: Annotated[
        tuple[Text, ...], Meta(description="Differences to compare across: threads, dtype ..., or all.")
    ] = ()

    @property
    def terms(self) -> Terms:
        """The rules; a margin or an aspect that is none raises."""
        return Terms(
            policy=Policy(margin=parse_fraction(self.margin)),
            centre=self.centre,
            allow=aspects_allowed(self.allow),
        )


class CasesQuery(Record, frozen=True, kw_only=True):
    """Which cases."""

    text: Annotated[Text, Meta(description="Part of a case id.")] | None = None
    limit: Limit = 50


class HistoryQuery(Record, frozen=True, kw_only=True):
    """Of which case, and which of its points."""

    case: Annotated[str, Meta(description="Case id.", max_length=4000)]
    phase: Annotated[Text, Meta(description="The primary phase if not given.")] | None = None
    machine: Annotated[Text, Meta(description="Host name; all machines if not given.")] | None = None


def read_query(kind: type[Q], pairs: Iterable[tuple[str, str]]) -> Q:
    """The query in an address; empty fields of a form count as not given."""
    many = {field.encode_name for field in msgspec.structs.fields(kind) if _is_tuple(field.type)}
    values: dict[str, Any] = {}
    for name, value in pairs:
        if not value.strip():
            continue
        if "\0" in value:  # PostgreSQL refuses the question, which would look like a store in trouble
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name} has a zero byte")
        if name in many:
            values.setdefault(name, []).extend(part.strip() for part in value.split(",") if part.strip())
        elif name in values:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name} is given twice")
        else:
            values[name] = value.strip()
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Refused(
            HTTPStatus.BAD_REQUEST, f"the address asks for what does not exist: {error}", remedy="see /api"
        ) from None


def _is_tuple(kind: Any) -> bool:
    """Annotated or not."""
    bare = kind.__origin__ if get_origin(kind) is Annotated else kind
    return get_origin(bare) is tuple


def _midnight(day: datetime.date) -> float:
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC).timestamp()
