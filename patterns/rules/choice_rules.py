"""What is chosen, and who is in it: one value of a feature, or a band of numbers, in a context (contract, section 3).

**Opportunity**: an event that matches `where` and has the feature; with `which`, the first (last) matching event of a
day, if it has the feature. **Kept**: its value is the one named (a list contains it), or lies in the band.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, StrictFloat, StrictInt, StrictStr, model_validator

from patterns.eventlog.arrays import Flags, Ints
from patterns.rules.event import Event
from patterns.rules.phrases import band, choice_sentence, relationship_sentence
from patterns.rules.rule import DayRule, Reword, Rule, check_bounds
from patterns.rules.rule_log import Asked, Opportunities, RuleLog, chosen_of_each_day
from patterns.rules.where import Scalar, Where, has_value

Number = StrictInt | StrictFloat


class ChoiceRule(DayRule):
    """What the rules about a feature's value share."""

    feature: StrictStr

    which: Literal["first", "last"] | None = None

    @property
    def feature_name(self) -> str:
        """The feature whose value is chosen."""
        return self.feature

    def holds(self, value: object) -> bool:
        """True if this value of the feature keeps the rule."""
        raise NotImplementedError

    def held(self, column: pl.Series, event: Ints) -> tuple[Flags, Flags]:
        """Which events have a value that the rule can be judged by in this column, and which of them keep it.

        Args:
            column: a column of the feature (``name:text``, ``:number``, ``:flag`` or ``:list``).
            event: (n,) rows.
        """
        raise NotImplementedError

    # --- what events mean for it --------------------------------------------------------------------------------

    @property
    def reach(self) -> timedelta:
        """The day so far, where only its first event counts."""
        return timedelta(days=2) if self.which else timedelta()

    def outcomes(self, event: Event, before: Sequence[Event] = ()) -> tuple[bool, ...]:
        """An event in the context settles one opportunity; the last one of a day only its end settles."""
        if self.which == "last" or not event.matches(self.where):
            return ()
        if self.which == "first":
            today = event.day(self.begins)
            if any(one.day(self.begins) == today and one.matches(self.where) for one in before):
                return ()
        values = event.fields.get(self.feature, ())
        return (any(map(self.holds, values)),) if values else ()

    @classmethod
    def opportunities(cls, log: RuleLog, asked: Asked[Self]) -> Opportunities:
        """Each event in the context that has the feature."""
        rule, event = log.matches(asked.user, [own.where for own in asked.rules])
        chosen = _chosen(log, asked, rule, event)
        rule, event = rule[chosen], event[chosen]
        has, kept = np.zeros(len(rule), dtype=np.bool_), np.zeros(len(rule), dtype=np.bool_)
        start = np.searchsorted(rule, np.arange(len(asked) + 1))
        for i, own in enumerate(asked.rules):
            mine = slice(start[i], start[i + 1])
            for name in log.log.features:
                if name.rpartition(":")[0] == own.feature:
                    has_it, keeps_it = own.held(log.log.frame.get_column(name), event[mine])
                    has[mine] |= has_it
                    kept[mine] |= keeps_it
        return Opportunities(rule[has], log.local[event[has]], kept[has])

    def reworded(self, word: Reword, name: Callable[[str], str] = str) -> Rule:
        """The rule with each text from the data replaced."""
        return super().reworded(word, name).model_copy(update={"feature": name(self.feature)})


def _chosen(log: RuleLog, asked: Asked[ChoiceRule], rule: Ints, event: Ints) -> Ints:
    """Indices of the matching events that count: of a rule with `which`, one of each day."""
    stays = np.ones(len(rule), dtype=np.bool_)
    for i, own in enumerate(asked.rules):
        if own.which:
            mine = np.flatnonzero(rule == i)
            day = log.days(own.begins).day[event[mine]]
            stays[mine] = False
            stays[mine[chosen_of_each_day(rule[mine], day, last=own.which == "last")]] = True
    return np.flatnonzero(stays)


class ValueRule(ChoiceRule):
    """One value is chosen."""

    value: Scalar

    def holds(self, value: object) -> bool:
        """True if it is the value, or a list that contains it."""
        return has_value(value, self.value)

    def held(self, column: pl.Series, event: Ints) -> tuple[Flags, Flags]:
        """As `ChoiceRule.held`; a value of another kind keeps no rule."""
        found = column.gather(event)
        has = found.is_not_null().to_numpy()
        if not _is_kind(column.name, self.value):
            return has, np.zeros(len(event), dtype=np.bool_)
        same = found.list.contains(self.value) if column.name.endswith(":list") else found == self.value
        return has, same.fill_null(False).to_numpy()

    def contradicts(self, other: Rule) -> bool:
        """True if the other names another value of the same feature in the same or a wider or narrower context."""
        return isinstance(other, ValueRule) and _compete(self, other) and self.value != other.value

    def sentence(self) -> str:
        """For example "Prefers Room 2 for interview events"."""
        return choice_sentence(self.where, self.feature, self.value, self.which)

    def reworded(self, word: Reword, name: Callable[[str], str] = str) -> Rule:
        """The rule with each text from the data replaced."""
        new = super().reworded(word, name)
        if not isinstance(self.value, str):
            return new
        return new.model_copy(update={"value": word(self.where, self.feature, self.value)})


class BandRule(ChoiceRule):
    """A number in a band is chosen; one bound is enough."""

    keys: ClassVar[frozenset[str]] = frozenset({"min", "max"})
    drifting: ClassVar[frozenset[str]] = frozenset({"min", "max"})

    least: Number | None = Field(default=None, alias="min")
    most: Number | None = Field(default=None, alias="max")

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        check_bounds(self.least, self.most)
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest number in the band; infinite where it is open."""
        low = -np.inf if self.least is None else float(self.least)
        return low, np.inf if self.most is None else float(self.most)

    def overlaps(self, other: Rule) -> bool:
        """True if some number lies in both bands."""
        assert isinstance(other, BandRule), "of the same class"
        return self.bounds[0] <= other.bounds[1] and other.bounds[0] <= self.bounds[1]

    def contradicts(self, other: Rule) -> bool:
        """True if no number lies in both bands, in the same or a wider or narrower context."""
        return isinstance(other, BandRule) and _compete(self, other) and not self.overlaps(other)

    def holds(self, value: object) -> bool:
        """True if it is a number in the band."""
        low, high = self.bounds
        return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high

    def held(self, column: pl.Series, event: Ints) -> tuple[Flags, Flags]:
        """As `ChoiceRule.held`; a value that is no number keeps no band."""
        found = column.gather(event)
        has = found.is_not_null().to_numpy()
        if not column.name.endswith(":number"):
            return has, np.zeros(len(event), dtype=np.bool_)
        low, high = self.bounds
        return has, found.is_between(low, high).fill_null(False).to_numpy()

    def sentence(self) -> str:
        """For example "Prefers 25–35-minute planning events"."""
        return choice_sentence(self.where, self.feature, band(self.least, self.most), self.which)


class RelationshipRule(ValueRule):
    """A person is in a list of people."""

    feature: Literal["participants", "to", "cc", "from", "organizer"]
    value: StrictStr

    def contradicts(self, other: Rule) -> bool:  # noqa: ARG002  two people can both be in a list
        """False: two people can both be in a list."""
        return False

    def sentence(self) -> str:
        """For example "CCs sarah@example.com on legal mail"."""
        return relationship_sentence(self.where, self.feature, self.value)


def _is_kind(column: str, value: Scalar) -> bool:
    kind = column.rpartition(":")[2]
    if isinstance(value, str):
        return kind in ("text", "list")
    return kind == ("flag" if isinstance(value, bool) else "number")


def _compete(one: ChoiceRule, other: ChoiceRule) -> bool:
    """True if both are about one feature, and one context is within the other."""
    return one.feature == other.feature and _within(one.where, other.where)


def _within(one: Where, other: Where) -> bool:
    return one.items() <= other.items() or other.items() <= one.items()
