"""Records as plain values for JSON, packed integers unpacked into lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stepmark.records.record import Record
from stepmark.records.sample import unpack


def plain(record: Record) -> dict[str, Any]:
    """Dictionaries, lists, strings and numbers; bytes as base64, as everywhere else in JSON."""
    built: dict[str, Any] = msgspec.to_builtins(record)
    return built


def plain_trial(trial: Record) -> dict[str, Any]:
    """A trial or a part of one, whose bytes are all packed integers."""
    built: dict[str, Any] = _unpacked(msgspec.to_builtins(trial, builtin_types=(bytes,)))
    return built


def encode(value: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return msgspec.json.encode(value).decode()


def _unpacked(value: Any) -> Any:
    if isinstance(value, bytes):
        return unpack(value).tolist()
    if isinstance(value, dict):
        return {name: _unpacked(part) for name, part in value.items()}
    return [_unpacked(part) for part in value] if isinstance(value, list | tuple) else value
