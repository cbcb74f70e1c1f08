"""Something is done about so many days a week or a month (contract, section 3).

**Opportunity**: each whole calendar week (Monday to Sunday) or month that is over and on at least half of whose days the
person was active. **Kept**: the number of its days with a matching event is within the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from patterns.eventlog.arrays import Ints, distinct
from patterns.rules.event import Event
from patterns.rules.phrases import sentence, subject
from patterns.rules.rule import DayRule, Rule, check_bounds
from patterns.rules.rule_log import Asked, Opportunities, RuleLog

_LEAST_ACTIVE = {"week": 4, "month": 15}
"""Active days that half of a week of 7 days, or of a month of 30, has at least."""

_MONDAY = -3
"""29 December 1969."""

Count = Annotated[int, Field(ge=0, strict=True)]


class FrequencyRule(DayRule):
    """Something is done on at least `least` and at most `most` days of a week or a month."""

    keys: ClassVar[frozenset[str]] = frozenset({"per"})
    drifting: ClassVar[frozenset[str]] = frozenset({"min", "max"})

    per: Literal["week", "month"]
    least: Count | None = Field(default=None, alias="min")
    most: Count | None = Field(default=None, alias="max")

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        check_bounds(self.least, self.most)
        return self

    def overlaps(self, other: Rule) -> bool:
        """True if some number of days is within the bounds of both."""
        assert isinstance(other, FrequencyRule), "of the same class"
        low, high = self._bounds
        its_low, its_high = other._bounds
        return low <= its_high and its_low <= high

    @property
    def _bounds(self) -> tuple[int, int]:
        return self.least or 0, 31 if self.most is None else self.most

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:  # noqa: ARG002
        """None: only the end of the week or month settles it."""
        return ()

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:
        """Each whole week or month with enough active days, known when it is over."""
        return Opportunities.joined([_of_rule(log, i, asked) for i in range(len(asked))])

    def sentence(self) -> str:
        """For example "Gym about 3 days a week" or "Runs 2–4 days a week"."""
        low, high = self.least, self.most
        if low is not None and high is not None:
            days = f"{low}" if low == high else f"{low}–{high}"
        else:
            days = f"at least {low}" if high is None else f"at most {high}"
        noun = "day" if days == "1" else "days"
        return sentence(subject(self.where), f"on {days} {noun} a {self.per}")

    @property
    def unit(self) -> tuple[str, str]:
        """A week or a month."""
        return self.per, f"{self.per}s"


def _of_rule(log: RuleLog, number: int, asked: Asked[FrequencyRule]) -> Opportunities:
    rule, user = asked.rules[number], asked.user[[number]]
    days = log.days(rule.begins)
    _, event = log.matches(user, [rule.where])
    _, active = days.active_days(user)
    period, size = np.unique(_period(rule.per, active), return_counts=True)
    whole = period[size >= _LEAST_ACTIVE[rule.per]]
    period, count = np.unique(_period(rule.per, distinct(days.day[event])), return_counts=True)
    found = dict(zip(period.tolist(), count.tolist(), strict=True))
    low, high = rule._bounds
    kept = np.array([low <= found.get(one, 0) <= high for one in whole.tolist()], dtype=np.bool_)
    over = days.wall_clock(_end(rule.per, whole), np.zeros(len(whole)))
    return Opportunities(np.full(len(whole), number, dtype=np.int64), over, kept)


def _period(per: str, day: Ints) -> Ints:
    """(days,) the number of the week, or of the month since January 1970, in which each day lies."""
    if per == "week":
        return (day - _MONDAY) // 7
    months: Ints = day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months


def _end(per: str, period: Ints) -> Ints:
    """(periods,) the first day after each."""
    if per == "week":
        return (period + 1) * 7 + _MONDAY
    ends: Ints = (period + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return ends
