"""Records as JSON text that is known to read back as the same record."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from stepmark.errors import StoreError
from stepmark.records.case import Case
from stepmark.records.environment import LoadFacts
from stepmark.records.run import Run
from stepmark.records.trial import LaneTrial, LaunchTrial, SoloTrial
from stepmark.records.verdict import VerdictKind

T = TypeVar("T")


class Codec(Generic[T]):
    """One type's encoder and decoder, made once and used for every row."""

    def __init__(self, kind: type[T]) -> None:
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(kind)

    def encode(self, value: T) -> str:
        """JSON, read back before it is trusted.

        JSON knows no infinity and no lone surrogate: msgspec writes the first as null and refuses the second.
        Better to hear of it now than when the run is wanted.
        """
        try:
            text = self._encoder.encode(value).decode()
            if self._decoder.decode(text) == value:
                return text
        except (UnicodeEncodeError, msgspec.MsgspecError):
            pass
        raise StoreError(
            f"a {type(value).__name__} cannot be stored: it does not survive being written as JSON",
            remedy="look for a number that is not finite, or text that is not Unicode, in axes and settings",
        )

    def decode(self, text: str) -> T:
        """The record; msgspec.MsgspecError where the text is not one."""
        return self._decoder.decode(text)


NAMES = Codec(tuple[str, ...])
FACTS = Codec(tuple[tuple[str, str], ...])
VERDICTS = Codec(tuple[tuple[VerdictKind, int], ...])
RUN = Codec(Run)
CASE = Codec(Case)
LOAD = Codec(LoadFacts)
SOLO = Codec(SoloTrial)
LAUNCH = Codec(LaunchTrial)
LANE = Codec(LaneTrial)
