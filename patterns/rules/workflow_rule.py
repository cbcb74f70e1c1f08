"""One thing follows another (contract, section 3).

::

    {"steps": [A, B, C], "within_minutes": m}       after A and then B, C follows
    … "given": "last"                               before C, A and then B came

A chain starts at each first step and takes, for each further step, the first event of it after the one before, at most
`within_minutes` later. **Opportunity**: a chain that reached the last step but one; with `given: last`, each last step.
**Kept**: the last step follows in time; with `given: last`, some chain ends in it. All-day events are no steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from observations.civil_time import MICROSECONDS_PER_MINUTE
from patterns.eventlog.arrays import Flags, Ints, pack, unpack
from patterns.rules.event import Event
from patterns.rules.phrases import doing, duration, sentence, subject
from patterns.rules.rule import Reword, Rule, reworded
from patterns.rules.rule_log import Asked, Opportunities, RuleLog
from patterns.rules.where import Where

_NEVER = np.iinfo(np.int64).max


class WorkflowRule(Rule):
    """Steps, each within the minutes of the one before."""

    drifting: ClassVar[frozenset[str]] = frozenset({"within_minutes"})
    id_depends_on_origin: ClassVar[bool] = False

    steps: Annotated[list[Where], Field(min_length=2)]
    within_minutes: Annotated[int, Field(gt=0, strict=True)]
    given: Literal["last"] | None = None

    @property
    def wheres(self) -> tuple[Where, ...]:
        """The steps."""
        return tuple(self.steps)

    @property
    def judged(self) -> Where:
        """The last step."""
        return self.steps[-1]

    @property
    def within(self) -> timedelta:
        """How long after the one before a step may come."""
        return timedelta(minutes=self.within_minutes)

    # --- what events mean for it --------------------------------------------------------------------------------

    @property
    def reach(self) -> timedelta:
        """The longest that a chain can take."""
        return (len(self.steps) - 1) * self.within

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:
        """A last step keeps every chain that it ends; with `given: last` it is one opportunity itself.

        That a last step did not follow, only the end of its minutes tells.
        """
        if not event.timed or not event.matches(self.steps[-1]):
            return ()
        run = [*(one for one in before if one.timed), event]
        ended = sum(self._walk(run, begun, self.steps) == len(run) - 1 for begun in range(len(run) - 1))
        if self.given == "last":
            return (ended > 0,)
        return (True,) * ended

    def waiting_since(self, run: Sequence[Event], now: datetime) -> datetime | None:
        """When the last step but one was seen, if the last step is still to come; else None.

        Args:
            run: the person's events of `reach` up to now, in order of time.
            now: the wall clock.
        """
        timed = [one for one in run if one.timed]
        for begun in reversed(range(len(timed))):
            place = self._walk(timed, begun, self.steps[:-1])
            if place is not None and now - timed[place].local <= self.within:
                followed = any(later.matches(self.steps[-1]) for later in timed[place + 1 :])
                return None if followed else timed[place].local
        return None

    def _walk(self, run: Sequence[Event], begun: int, steps: Sequence[Where]) -> int | None:
        """Where the chain that begins there ends; None if it does not begin there, or a step does not follow in time."""
        if not run[begun].matches(steps[0]):
            return None
        place = begun
        for step in steps[1:]:
            found = next((later for later in range(place + 1, len(run)) if run[later].matches(step)), None)
            if found is None or run[found].since(run[place]) > self.within:
                return None
            place = found
        return place

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:
        """Each chain, known when the last step follows or its minutes are over; or each last step."""
        given = np.array([rule.given == "last" for rule in asked.rules], dtype=np.bool_)
        ends = _ends(log, asked)
        usual = ~given[ends.rule]
        parts = [Opportunities(ends.rule[usual], ends.local[usual], ends.followed[usual])]
        last_rule, last_event = _step(log, asked, -1)
        asked_for = given[last_rule]
        last_rule, last_event = last_rule[asked_for], last_event[asked_for]
        ended = pack(ends.rule[ends.followed], ends.event[ends.followed])
        parts.append(
            Opportunities(last_rule, log.local[last_event], np.isin(pack(last_rule, last_event), ended))
        )
        return Opportunities.joined(parts)

    # --- in words -----------------------------------------------------------------------------------------------

    def sentence(self) -> str:
        """For example "After git pull, runs make test within 10 minutes"."""
        *before, last = self.steps
        done, minutes = " and then ".join(doing(step) for step in before), duration(self.within_minutes)
        if self.given == "last":
            return sentence(
                f"before {doing(last)},", subject(before[0], once=True), f"at most {minutes} earlier"
            )
        return sentence(f"after {done},", subject(last, once=True), f"within {minutes}")

    def reworded(self, word: Reword, name: Callable[[str], str] = str) -> Rule:
        """The rule with each text from the data replaced."""
        return self.model_copy(update={"steps": [reworded(step, word, name) for step in self.steps]})


class _Ends:
    """Chains that reached the last step but one.

    Attributes:
        rule: (chains,) which rule's.
        event: (chains,) the last step that followed; where none did, the step before it.
        local: (chains,) wall clock at which that was known, µs.
        followed: (chains,) True if the last step followed in time.
    """

    def __init__(self, rule: Ints, event: Ints, local: Ints, followed: Flags) -> None:
        self.rule, self.event, self.local, self.followed = rule, event, local, followed


def _ends(log: RuleLog, asked: Asked[WorkflowRule]) -> _Ends:
    at = log.log.at
    within = np.array([rule.within_minutes * MICROSECONDS_PER_MINUTE for rule in asked.rules], dtype=np.int64)
    steps = np.array([len(rule.steps) for rule in asked.rules], dtype=np.int64)
    rule, event = _step(log, asked, 0)
    parts: list[tuple[Ints, Ints, Ints, Flags]] = []
    for place in range(1, int(steps.max(initial=0))):
        follower = _following(_step(log, asked, place), rule, event)
        followed = np.where(follower >= 0, at[follower], _NEVER) - at[event] <= within[rule]
        reached = np.where(followed, follower, event)
        known = log.local[reached] + np.where(followed, 0, within[rule])
        last = steps[rule] == place + 1
        parts.append((rule[last], reached[last], known[last], followed[last]))
        goes_on = followed & ~last
        rule, event = rule[goes_on], follower[goes_on]
    return _Ends(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _step(log: RuleLog, asked: Asked[WorkflowRule], place: int) -> tuple[Ints, Ints]:
    """The events that are this step of each rule that has it: (rule, event)."""
    having = np.array([i for i, own in enumerate(asked.rules) if len(own.steps) > place], dtype=np.int64)
    rule, event = log.matches(asked.user[having], [asked.rules[i].steps[place] for i in having.tolist()])
    timed = log.timed[event]
    return having[rule[timed]], event[timed]


def _following(step: tuple[Ints, Ints], rule: Ints, event: Ints) -> Ints:
    """(n,) the first event of that step of the same rule after each event; -1 where there is none."""
    keys = np.append(pack(*step), _NEVER)
    found = keys[np.searchsorted(keys, pack(rule, event), side="right")]
    owner, follower = unpack(found)
    return np.where(owner == rule, follower, -1)
