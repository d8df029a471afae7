"""uneven-iterations: now and then an iteration takes far longer, and the median does not see it.

Evidence. In each launch with the baseline, the ratio of the means of all blocks beside the ratio of their
          medians. Over three launches or more the first lies further than 5 % from the second, by a 99 %
          interval. Uneven is the arm whose own mean is further from its median.
          Launches do not count in which others used the machine (disturbances.py), or in which either lane
          had not settled, or compiled or tuned something: all of these make single blocks slow. Where less
          than three are left the rule is silent. The 1-minute load, which is of the minute before, is only
          asked where nothing counts who used the processor in the launch itself.
          An error where two things come together. By the policy's confidence and margin both ratios are
          decided, and say different things: FASTER, EQUIVALENT or SLOWER on average, and another of the three
          in the median. And the uneven arm's far blocks come in the same places of every turn of so many
          blocks (stats/regularity.py), as work in every n-th step does. Else a warning.
          What the machine does to single blocks does not meet both arms alike: a long block holds its share
          in its median where a short one does not, and memory is held up more than arithmetic. But it comes
          at its own times, and the arms take turns in random order, so that it does not come regularly.
          Where they do not take turns (one after another) there is no error.
Why.      Verdicts go by medians, which leave out what few blocks did. Work that is done in every tenth step
          (an orthogonal retraction, a table that is made anew, a cache that is emptied) is work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepmark.audit.cycles import Ratio, ratio_of
from stepmark.audit.disturbances import disturbances
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import time
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.sample import unpack
from stepmark.records.settings import Isolation
from stepmark.records.trial import LaneTrial, LaunchTrial, counting
from stepmark.stats.arrays import FloatArray
from stepmark.stats.regularity import Regularity, regularity

LEAST_LAUNCHES = 3
APART = 0.05
"""Of the two ratios."""
CONFIDENCE = 0.99


class _Arm(NamedTuple):
    """One of the two lanes, in the launches that count."""

    name: str
    levels: FloatArray
    """Mean and median by launch, in seconds."""
    stretches: Sequence[FloatArray]
    """Its blocks, cut where the lane was built anew: what counts its steps begins again."""

    @property
    def typical(self) -> tuple[float, float]:
        """Mean and median of a launch."""
        mean, median = map(float, np.median(self.levels, axis=0))
        return mean, median

    @property
    def unevenness(self) -> float:
        """How far its means are from its medians, either way."""
        logs = np.log(self.levels)
        return abs(float(np.mean(logs[:, 0] - logs[:, 1])))

    @property
    def told(self) -> str:
        mean, median = self.typical
        return f"{time(mean)} on average and {time(median)} in the median"


def uneven_iterations(case: CaseLanes) -> Finding | None:
    """Once per case that has a baseline."""
    if case.baseline is None:
        return None
    mine, theirs = _undisturbed(case), _undisturbed(case.baseline)
    both = sorted(mine.keys() & theirs.keys())
    if len(both) < LEAST_LAUNCHES:
        return None
    own, base = (
        _arm(name, [launches[number] for number in both])
        for name, launches in (("this case", mine), ("the baseline", theirs))
    )
    logs: FloatArray = np.log(own.levels / base.levels)
    if not ratio_of(logs[:, 0] - logs[:, 1], CONFIDENCE).side(APART):
        return None
    means, medians = (ratio_of(row, case.run.policy.confidence) for row in logs.T)
    return _finding(case, own, base, means, medians)


def _finding(case: CaseLanes, own: _Arm, base: _Arm, means: Ratio, medians: Ratio) -> Finding:
    uneven, other = (own, base) if own.unevenness >= base.unevenness else (base, own)
    in_turns = None if _one_after_another(case) else regularity(uneven.stretches)
    wrong = in_turns is not None and _contradict(means, medians, case.run.policy.margin)
    numbers = (*own.typical, *base.typical, means.point, medians.point)
    names = ("mean_seconds", "median_seconds", "baseline_mean_seconds", "baseline_median_seconds")
    turns = (("blocks_a_turn", float(in_turns.turn)),) if in_turns else ()
    return Finding(
        name=FindingName.UNEVEN_ITERATIONS,
        severity=Severity.ERROR if wrong else Severity.WARNING,
        case=case.id,
        message=(
            f"{uneven.name} is uneven{_places(in_turns)}: {uneven.told}, {other.name} {other.told}; "
            f"the ratio is {means.point:.3g} by the means and {medians.point:.3g} by the medians"
        ),
        remedy=(
            "let an iteration hold a whole turn of what is done now and then, or read the means"
            if in_turns
            else "look for what is done now and then; where nothing is, try a quieter machine"
        ),
        numbers=(*zip((*names, "ratio_of_means", "ratio_of_medians"), numbers, strict=True), *turns),
    )


def _places(in_turns: Regularity | None) -> str:
    return f", in turns of {in_turns.turn} blocks" if in_turns else ", without a pattern that could be seen"


def _contradict(means: Ratio, medians: Ratio, margin: float) -> bool:
    sides = means.side(margin), medians.side(margin)
    return None not in sides and sides[0] != sides[1]


def _one_after_another(case: CaseLanes) -> bool:
    """Then what comes at even times may strike the same places of a lane's blocks."""
    return any(launch.isolation is Isolation.ALONE for launch in counting(launch for launch, _ in case.lanes))


def _arm(name: str, launches: Sequence[Sequence[FloatArray]]) -> _Arm:
    """From the stretches of each launch."""
    blocks = [np.concatenate(stretches) for stretches in launches]
    levels = np.array([(np.mean(each), np.median(each)) for each in blocks])
    return _Arm(name, levels, [stretch for stretches in launches for stretch in stretches])


def _undisturbed(case: CaseLanes) -> dict[int, Sequence[FloatArray]]:
    """Stretches by number of the launch, of those that the verdict rests on and nothing disturbed."""
    cores = case.run.environment.host.logical_cores
    resting = {launch.number for launch in counting(launch for launch, _ in case.lanes)}
    return {
        launch.number: _stretches(launch, lane, blocks)
        for (launch, lane), blocks in zip(case.lanes, case.blocks, strict=True)
        if launch.number in resting and _is_undisturbed(launch, lane, cores)
        if blocks is not None and float(np.min(blocks)) > 0.0
    }


def _is_undisturbed(launch: LaunchTrial, lane: LaneTrial, cores: int) -> bool:
    if lane.watch.compilations or (lane.warmup is not None and not lane.warmup.settled):
        return False
    is_counted = launch.activity is not None and launch.activity.others is not None
    return not disturbances(launch, cores).keys() - ({"load"} if is_counted else set())


def _stretches(launch: LaunchTrial, lane: LaneTrial, blocks: FloatArray) -> Sequence[FloatArray]:
    anew = [renewal.round for renewal in launch.renewals if lane.variant in renewal.order]
    return [part for part in np.split(blocks, np.searchsorted(unpack(lane.rounds), anew)) if part.size]
