"""What the doctor says where it cannot know."""

from __future__ import annotations

from stepmark.records.diagnosis import Check, Diagnosis, State


def unknown(check: Check, meaning: str) -> Diagnosis:
    return Diagnosis(check=check, state=State.UNKNOWN, seen="cannot be read here", meaning=meaning)
