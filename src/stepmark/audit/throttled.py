"""throttled: the machine was held back by heat, power or a quota while the case was timed.

Evidence. `LaunchActivity`: the processor's count of slow-downs, the accelerator's reasons for a low clock,
          and the time in which the control group had used up its quota, from the launch's start to its end.
          Less than 1 % of a launch lost to the quota is let pass. `LaneWatch.card`: the same reasons right
          after some of the case's own blocks, which labels these blocks. Reasons count where the clock was
          more than 3 % below the card's highest: an H200 names its power cap at 1965 of 1980 MHz, too.
Why.      A machine that is held back is another machine. Rounds that alternate share it, but a quota strikes
          single blocks, and heat comes with the harder-working variant.
"""

from __future__ import annotations

from math import inf

from stepmark.audit.lanes import CaseLanes
from stepmark.records.card import CardReadings, reasons_named
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.sample import unpack
from stepmark.records.trial import LaunchTrial

MAX_QUOTA_SHARE = 0.01
NEAR = 0.97
"""Of a card's highest clock: nearer to it a reason makes no difference that a verdict could see."""


def throttled(case: CaseLanes) -> Finding | None:
    """Once per case, with every kind that was seen and the number of launches."""
    cards = [lane.watch.card for _, lane in case.lanes if lane.watch.card is not None]
    highest = _highest_clock(case)
    low = inf if highest is None else NEAR * highest
    held = [reading for card in cards for reading in card.held_below(low)]
    struck = [
        launch
        for launch, lane in case.lanes
        if _is_struck(launch, low) or (lane.watch.card is not None and lane.watch.card.held_below(low))
    ]
    if not struck:
        return None
    num_readings = sum(map(_num_readings, cards))
    slowed = sum((launch.activity.throttles or 0) for launch in struck if launch.activity)
    reasons = [reason for launch in struck for reason in _reasons(launch, low)]
    reasons += [reason for _, bits in held for reason in reasons_named(bits)]
    lost = sum(_lost_to_quota(launch) for launch in struck)
    often = f"{slowed} times" if slowed > 1 else "once"
    seen = [f"heat or power slowed the machine {often}"] if slowed else []
    known = [clock for clock, _ in held if clock > 0]
    down = f"down to {min(known)} of {highest:.0f} MHz" if known and highest else "down"
    after = f" after {len(held)} of {num_readings} blocks that were looked at" if held else ""
    named = ", ".join(dict.fromkeys(reasons))
    seen += [f"the clock was held {down} ({named}){after}"] if named else []
    seen += [f"a quota held the machine back for {lost:.2g} s"] if lost > 0.0 else []
    return Finding(
        name=FindingName.THROTTLED,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{'; '.join(seen)}, in {len(struck)} of {len(case.lanes)} launches",
        remedy="cool it, lift the quota, or use fewer --threads; `stepmark doctor` shows the limits",
        numbers=(
            ("launches", float(len(struck))),
            ("throttles", float(slowed)),
            ("quota_seconds", lost),
            *((("readings", float(num_readings)), ("held_down", float(len(held)))) if num_readings else ()),
        ),
    )


def _num_readings(card: CardReadings) -> int:
    """Readings."""
    return len(unpack(card.rounds))


def _highest_clock(case: CaseLanes) -> float | None:
    """Of the card that the case ran on; None on a CPU, and where the driver does not tell."""
    kind, _, index = case.case.cell.device.partition(":")
    torch, place = case.run.environment.torch, int(index or 0)
    all_known = kind != "cpu" and len(torch.cards) == len(
        torch.devices
    )  # else their places are not the devices'
    return torch.cards[place].max_megahertz if all_known and place < len(torch.cards) else None


def _is_struck(launch: LaunchTrial, low: float) -> bool:
    throttles = launch.activity.throttles if launch.activity else None
    return bool(throttles or _reasons(launch, low) or _lost_to_quota(launch))


def _reasons(launch: LaunchTrial, low: float) -> tuple[str, ...]:
    """At the launch's ends, unless the clock was high at both."""
    activity = launch.activity
    if activity is None or (activity.megahertz is not None and min(activity.megahertz) >= low):
        return ()
    return activity.throttle_reasons


def _lost_to_quota(launch: LaunchTrial) -> float:
    """Seconds; 0 where it is too little to matter."""
    lost = (launch.activity.quota_seconds if launch.activity else None) or 0.0
    return lost if lost > MAX_QUOTA_SHARE * launch.seconds else 0.0
