"""throttled: the machine was held back by heat, power or a quota while the case was timed.

Evidence. `LaunchActivity`: the processor's count of slow-downs, the accelerator's reasons for a low clock,
          and the time in which the control group had used up its quota, from the launch's start to its end.
          Less than 1 % of a launch lost to the quota is let pass.
Why.      A machine that is held back is another machine. Rounds that alternate share it, but a quota strikes
          single blocks, and heat comes with the harder-working variant.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.trial import LaunchTrial

MAX_QUOTA_SHARE = 0.01


def throttled(case: CaseLanes) -> Finding | None:
    """Once per case, with every kind that was seen and the number of launches."""
    struck = [launch for launch, _ in case.lanes if _is_struck(launch)]
    if not struck:
        return None
    slowed = sum((launch.activity.throttles or 0) for launch in struck if launch.activity)
    reasons = dict.fromkeys(
        reason for launch in struck if launch.activity for reason in launch.activity.throttle_reasons
    )
    lost = sum(_lost_to_quota(launch) for launch in struck)
    seen = [f"slowed {slowed} times for heat or power" if slowed > 1 else "slowed once for heat or power"]
    seen = seen if slowed else []
    seen += [f"its clock held down by: {', '.join(reasons)}"] if reasons else []
    seen += [f"held back by a quota for {lost:.2g} s"] if lost > 0.0 else []
    return Finding(
        name=FindingName.THROTTLED,
        severity=Severity.WARNING,
        case=case.id,
        message=f"the machine was {'; '.join(seen)}, in {len(struck)} of {len(case.lanes)} launches",
        remedy="cool it, lift the quota, or use fewer --threads; `stepmark doctor` shows the limits",
        numbers=(
            ("launches", float(len(struck))),
            ("throttles", float(slowed)),
            ("quota_seconds", lost),
        ),
    )


def _is_struck(launch: LaunchTrial) -> bool:
    activity = launch.activity
    if activity is None:
        return False
    return bool(activity.throttles or activity.throttle_reasons or _lost_to_quota(launch))


def _lost_to_quota(launch: LaunchTrial) -> float:
    """Seconds; 0 where it is too little to matter."""
    lost = (launch.activity.quota_seconds if launch.activity else None) or 0.0
    return lost if lost > MAX_QUOTA_SHARE * launch.seconds else 0.0
