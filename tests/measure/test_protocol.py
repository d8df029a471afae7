"""The protocol: every request and event survives the way, and says what it is."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.measure.command import Command
from stepmark.measure.protocol import Began, Event
from stepmark.measure.requests import VERSION, Request
from tests.support.arbitrary import records

REQUESTS = get_args(Request)
EVENTS = get_args(Event)
few = settings(max_examples=8)


def named(kind: Any) -> str:
    return str(kind.__name__)


@pytest.mark.parametrize("kind", REQUESTS, ids=named)
@few
@given(data=st.data())
def test_requests_arrive_as_they_were_sent(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    request = data.draw(records(kind))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=Request) == request


@pytest.mark.parametrize("kind", EVENTS, ids=named)
@few
@given(data=st.data())
def test_events_arrive_as_they_were_sent(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    event = data.draw(records(kind))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=Event) == event


@pytest.mark.parametrize("kinds", [REQUESTS, EVENTS], ids=["requests", "events"])
def test_tags_are_unique(kinds: tuple[type[msgspec.Struct], ...]) -> None:
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)
    assert None not in tags


@pytest.mark.parametrize("kind", [*REQUESTS, Began], ids=named)
def test_both_sides_say_their_version(kind: type[msgspec.Struct]) -> None:
    (version,) = [field for field in msgspec.structs.fields(kind) if field.name == "version"]
    assert version.default == VERSION


@pytest.mark.parametrize("kind", [*REQUESTS, *EVENTS], ids=named)
def test_fields_are_given_by_name(kind: type[msgspec.Struct]) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind("by position")


def test_a_field_of_a_later_version_is_refused() -> None:
    raw = msgspec.msgpack.decode(msgspec.msgpack.encode(Began(pid=1, threads=1))) | {"mood": "fine"}
    with pytest.raises(msgspec.ValidationError, match="unknown field `mood`"):
        msgspec.msgpack.decode(msgspec.msgpack.encode(raw), type=Event)


def test_a_command_is_one_byte_and_never_zero() -> None:
    """Zero bytes is what a closed socket gives."""
    assert all(0 < command < 256 for command in Command)
    assert [Command(bytes([command])[0]) for command in Command] == list(Command)
