"""The intake: so many uploads at most, one after the other, and none that stays away keeps its place."""

from __future__ import annotations

import asyncio

import pytest

from stepmark.web import intake
from stepmark.web.intake import Intake
from stepmark.web.problems import Refused


def test_places_are_given_back() -> None:
    async def come(taken: Intake, num: int) -> None:
        async with taken.place():
            if num > 1:
                await come(taken, num - 1)

    taken = Intake()
    asyncio.run(come(taken, intake.PLACES))
    with pytest.raises(Refused, match="are being taken in") as caught:
        asyncio.run(come(taken, intake.PLACES + 1))
    assert caught.value.problem.status == 503
    assert caught.value.headers["Retry-After"]
    asyncio.run(come(taken, intake.PLACES))


def test_turns_come_one_after_the_other() -> None:
    seen: list[str] = []

    async def read(taken: Intake, name: str) -> None:
        async with taken.turn():
            seen.append(name)
            await asyncio.sleep(0)
            seen.append(name)

    async def all_of_them() -> None:
        taken = Intake()
        await asyncio.gather(*(read(taken, name) for name in "abc"))

    asyncio.run(all_of_them())
    assert seen == [*"aabbcc"]


def test_a_body_that_stays_away_loses_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "ON_ITS_WAY", 0.0)

    async def wait() -> None:
        async with Intake().arrival():
            await asyncio.Event().wait()

    with pytest.raises(Refused, match="in time") as caught:
        asyncio.run(wait())
    assert caught.value.problem.status == 408
