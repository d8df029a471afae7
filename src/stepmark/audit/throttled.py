"""throttled: the machine was held back by heat, power or a quota while the case was timed.

Evidence. `LaunchActivity`: the processor's count of slow-downs, the accelerator's reasons for a low clock,
          and the time in which the control group had used up its quota, from the launch's start to its end.
          Less than 1 % of a launch lost to the quota is let pass. `LaneWatch.card`: the same reasons right
          after some of the case's own blocks, which labels these blocks.
Why.      A machine that is held back is another machine. Rounds that alternate share it, but a quota strikes
          single blocks, and heat comes with the harder-working variant.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.card import CardReadings
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.sample import unpack
from stepmark.records.trial import LaunchTrial

MAX_QUOTA_SHARE = 0.01


def throttled(case: CaseLanes) -> Finding | None:
    """Once per case, with every kind that was seen and the number of launches."""
    cards = [lane.watch.card for _, lane in case.lanes if lane.watch.card is not None]
    struck = [
        launch
        for launch, lane in case.lanes
        if _is_struck(launch) or (lane.watch.card is not None and lane.watch.card.num_held_down)
    ]
    if not struck:
        return None
    num_readings, num_held = sum(map(_num_readings, cards)), sum(card.num_held_down for card in cards)
    slowed = sum((launch.activity.throttles or 0) for launch in struck if launch.activity)
    reasons = dict.fromkeys(
        reason for launch in struck if launch.activity for reason in launch.activity.throttle_reasons
    ) | dict.fromkeys(reason for card in cards for reason in card.held_down_by)
    lost = sum(_lost_to_quota(launch) for launch in struck)
    often = f"{slowed} times" if slowed > 1 else "once"
    seen = [f"heat or power slowed the machine {often}"] if slowed else []
    after = f" after {num_held} of {num_readings} blocks that were looked at" if num_held else ""
    seen += [f"the clock was held down ({', '.join(reasons)}){after}"] if reasons else []
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
            *((("readings", float(num_readings)), ("held_down", float(num_held))) if num_readings else ()),
        ),
    )


def _num_readings(card: CardReadings) -> int:
    """Readings."""
    return len(unpack(card.rounds))


def _is_struck(launch: LaunchTrial) -> bool:
    activity = launch.activity
    if activity is None:
        return False
    return bool(activity.throttles or activity.throttle_reasons or _lost_to_quota(launch))


def _lost_to_quota(launch: LaunchTrial) -> float:
    """Seconds; 0 where it is too little to matter."""
    lost = (launch.activity.quota_seconds if launch.activity else None) or 0.0
    return lost if lost > MAX_QUOTA_SHARE * launch.seconds else 0.0
