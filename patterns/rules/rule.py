"""The interface of a rule: one class a shape of the contract (section 3), each in a file of its own.

A rule answers five questions; no other code looks into its JSON:

* Is it about the same behavior as another rule? `Rule.identity`, `Rule.is_same`
* What does one event, as it comes in, settle? `Rule.outcomes`
* How often was it kept in a log, of how many opportunities? `Rule.opportunities`
* Which days does it name? `Rule.is_due`
* What is it in words? `Rule.sentence`, `Rule.unit`

`Rule.outcomes` and `Rule.opportunities` agree: an opportunity that an event settles in the stream is the same opportunity,
with the same outcome, in the batch. What only the end of a day (a week, a workflow's minutes) settles is not an outcome of
an event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from observations.civil_time import parse_clock
from patterns.eventlog.arrays import Flags, Ints
from patterns.rules.event import Event
from patterns.rules.rule_log import Asked, Opportunities, RuleLog
from patterns.rules.where import DERIVED, Clock, Condition, Scalar, TimeSpan, Where, texts

Reword = Callable[[Where, str, str], str]
"""A new text for one value: the `where` it stands in, its field, the value."""


class Rule(BaseModel):
    """A rule of one shape. Frozen; two rules with the same JSON are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    keys: ClassVar[frozenset[str]] = frozenset()
    """Fields that only this shape of its pattern type has; the shape without any is the type's usual one."""

    drifting: ClassVar[frozenset[str]] = frozenset()
    """Fields that sharpen as evidence comes in, and so are no part of what the rule is about."""

    id_depends_on_origin: ClassVar[bool] = True
    """True if the first supporting observation is part of a pattern's id."""

    def to_json(self) -> dict[str, Any]:
        """The rule as the contract writes it."""
        return self.model_dump(by_alias=True, exclude_none=True)

    # --- what it is about ---------------------------------------------------------------------------------------

    @property
    def wheres(self) -> tuple[Where, ...]:
        """Every `where` of the rule, in its order."""
        raise NotImplementedError

    @property
    def judged(self) -> Where:
        """The `where` of the events that settle an opportunity."""
        return self.wheres[-1]

    @property
    def feature_name(self) -> str | None:
        """The feature whose value the rule is about, if it is about one."""
        return None

    def identity(self) -> dict[str, Any]:
        """The fields that stay the same as evidence comes in."""
        return {name: value for name, value in self.to_json().items() if name not in self.drifting}

    def is_same(self, other: Rule) -> bool:
        """True if both rules are about the same behavior: the same identity, and what may drift overlaps."""
        return type(self) is type(other) and self.identity() == other.identity() and self.overlaps(other)

    def overlaps(self, other: Rule) -> bool:  # noqa: ARG002  of the same class and identity
        """True if what may drift (times, days, bounds) overlaps, given the same class and identity."""
        return True

    def contradicts(self, other: Rule) -> bool:  # noqa: ARG002
        """True if nobody can keep both rules."""
        return False

    def needs_derived(self, event: Event) -> bool:
        """True if matching this event needs derived features.

        Args:
            event: without derived features.
        """
        derived = DERIVED & {*self.judged, self.feature_name}
        return bool(derived) and event.matches({n: c for n, c in self.judged.items() if n not in derived})

    # --- what events mean for it --------------------------------------------------------------------------------

    @property
    def reach(self) -> timedelta:
        """How far back the events before one must be known to judge it."""
        return timedelta()

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:
        """The opportunities that this event settles, each kept or not.

        Args:
            event: the observation, with derived features if `needs_derived` is true.
            before: the person's events of `reach` before it, in order of time.
        """
        raise NotImplementedError

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:
        """All opportunities of the rules in the log whose outcome is known, in no particular order."""
        raise NotImplementedError

    # --- when it is due -----------------------------------------------------------------------------------------

    def is_due(self, day: Ints) -> Flags:
        """(days,) True on the days (since 1970) that the rule names; raises `NotImplementedError` if it names none."""
        raise NotImplementedError

    # --- in words -----------------------------------------------------------------------------------------------

    def sentence(self) -> str:
        """One plain sentence, as a person would say it."""
        raise NotImplementedError

    @property
    def unit(self) -> tuple[str, str]:
        """What one opportunity is called, and several: ``("Tuesday", "Tuesdays")``."""
        return "occasion", "occasions"

    def texts(self) -> Iterator[tuple[Where, str, str]]:
        """Every text that comes from the data: the `where` it belongs to, its field, the value."""
        for where in self.wheres:
            for name, value in texts(where):
                yield where, name, value

    def reworded(self, word: Reword, name: Callable[[str], str] = str) -> Rule:
        """The rule with each text from the data replaced, for example to hide it or to clean it for a prompt.

        Args:
            word: the new text of a value.
            name: the new name of a field.
        """
        raise NotImplementedError


class SubjectRule(Rule):
    """A rule about the events of one `where`."""

    where: Where

    @property
    def wheres(self) -> tuple[Where, ...]:
        """The one `where`."""
        return (self.where,)

    def reworded(self, word: Reword, name: Callable[[str], str] = str) -> Rule:
        """The rule with each text from the data replaced."""
        return self.model_copy(update={"where": reworded(self.where, word, name)})


class DayRule(SubjectRule):
    """A rule about local days, which begin at `day_starts_at` (midnight if None)."""

    day_starts_at: Clock | None = None

    def to_json(self) -> dict[str, Any]:
        """The rule as the contract writes it, `day_starts_at` last."""
        fields = super().to_json()
        begins = fields.pop("day_starts_at", None)
        return fields if begins is None else fields | {"day_starts_at": begins}

    @property
    def begins(self) -> int:
        """Minutes after midnight at which a day begins."""
        return parse_clock(self.day_starts_at) if self.day_starts_at else 0

    def is_due_on(self, day: date) -> bool:
        """True if the rule names this day."""
        return bool(self.is_due(np.array([(day - date(1970, 1, 1)).days], dtype=np.int64))[0])


DayRuleT = TypeVar("DayRuleT", bound=DayRule)


def opportunities_by_beginning(
    log: RuleLog,
    asked: Asked[DayRuleT],
    count: Callable[[RuleLog, int, Ints, Sequence[DayRuleT]], Opportunities],
) -> Opportunities:
    """The opportunities of rules, counted together for all rules whose days begin at the same minute.

    Args:
        count: counts such rules, given the log, the minute, and (rules,) whose they are.
    """
    parts = []
    for begins in sorted({rule.begins for rule in asked.rules}):
        mine = np.array([i for i, rule in enumerate(asked.rules) if rule.begins == begins], dtype=np.int64)
        found = count(log, begins, asked.user[mine], [asked.rules[i] for i in mine.tolist()])
        parts.append(Opportunities(rule=mine[found.rule], local=found.local, kept=found.kept))
    return Opportunities.joined(parts)


def check_bounds(least: float | None, most: float | None) -> None:
    """Do nothing if there is a bound, and the least is not above the most.

    Raises:
        ValueError: otherwise.
    """
    if least is None and most is None:
        raise ValueError("has min, max or both")
    if least is not None and most is not None and least > most:
        raise ValueError("min is not above max")


def reworded(where: Where, word: Reword, name: Callable[[str], str]) -> Where:
    """A `where` with each text and field replaced (`Rule.reworded`)."""
    return {name(field): _reworded(where, field, condition, word) for field, condition in where.items()}


def _reworded(where: Where, field: str, condition: Condition, word: Reword) -> Condition:
    if isinstance(condition, TimeSpan):
        return condition
    if isinstance(condition, list):
        return [_reworded_value(where, field, value, word) for value in condition]
    return _reworded_value(where, field, condition, word)


def _reworded_value(where: Where, field: str, value: Scalar, word: Reword) -> Scalar:
    return word(where, field, value) if isinstance(value, str) else value
