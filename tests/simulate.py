"""Invented people: a seeded background without habits, and habits planted in it, which are returned as truths.

The words, hours and rates are made up here and stand in no product code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import polars as pl

from observations.civil_time import to_instant
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions
from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from patterns.candidates import PatternType

OPTIONS = ReadOptions(until=datetime(2100, 1, 1, tzinfo=UTC))
START = date(2026, 1, 5)  # a Monday
FRIENDS = ("ines@example.org", "jon@example.org", "omar@example.org", "ruth@example.org")


@dataclass(frozen=True)
class Truth:
    """A planted habit: what the rule that states it must hold. Times are minutes since midnight."""

    type: PatternType
    where: Mapping[str, str]
    says: Mapping[str, object]
    minute: int | None = None


@dataclass(frozen=True)
class Person:
    """Somebody's observations, the habits in them, and the moment at which they were looked at."""

    observations: pl.DataFrame
    truths: tuple[Truth, ...]
    as_of: datetime


def wall(text: str) -> datetime:
    """A wall clock, without a zone.

    >>> wall("2026-03-02 07:00")
    datetime.datetime(2026, 3, 2, 7, 0)
    """
    return datetime.fromisoformat(text)


def observations(records: RecordBuilder) -> pl.DataFrame:
    """The frame of those records, complete."""
    return complete(records.take(), OPTIONS)


def regular(
    title: str,
    days: list[date],
    at: str = "07:00",
    *,
    user: str = "ada",
    tz: str = "UTC",
    type: str = "calendar",
) -> pl.DataFrame:
    """One thing at one time of day on each of these days."""
    records = RecordBuilder()
    for day in days:
        moment = datetime.combine(day, time.fromisoformat(at))
        records.add(type, "created", local=moment, tz=tz, user_id=user, features={"title": title})
    return observations(records)


def every(days: int, count: int, start: date = START) -> list[date]:
    """So many dates, so many days apart."""
    return [start + timedelta(days=n * days) for n in range(count)]


@dataclass
class _Life:
    """Writes down one person's days."""

    user: str
    tz: str
    rng: np.random.Generator
    records: RecordBuilder
    start: date = START

    def add(
        self, day: date, minute: float, type: str, action: str, features: Mapping[str, Value | None]
    ) -> None:
        moment = datetime.combine(day, time()) + timedelta(seconds=round(minute * 60))
        self.records.add(
            type,
            action,
            local=moment,
            tz=self.tz,
            features=features,
            user_id=self.user,
            id=f"{self.user}-{len(self.records)}",
        )

    def pick(self, *values: str) -> str:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, rate: float) -> bool:
        return bool(self.rng.random() < rate)

    def minute(self, first: int = 8, last: int = 20) -> float:
        return float(self.rng.uniform(first * 60, last * 60))


def nobody_in_particular(seed: int, weeks: int = 12, user: str = "ada", tz: str = "Europe/Lisbon") -> Person:
    """A person without any habit: random things at random times of the waking day."""
    life = _Life(user, tz, np.random.default_rng([seed, 1]), RecordBuilder())
    for day in every(1, weeks * 7):
        if life.chance(0.93):
            _background(life, day)
    return _person(life, (), weeks)


def creature_of_habit(seed: int, weeks: int = 12, user: str = "ada", tz: str = "Europe/Lisbon") -> Person:
    """A person with one habit of each type beside the background, each kept about nineteen times in twenty."""
    life = _Life(user, tz, np.random.default_rng([seed, 2]), RecordBuilder())
    for day in every(1, weeks * 7):
        if life.chance(0.95):
            _background(life, day, avoids_wednesdays=True, has_ways=True)
            _routines(life, day)
    return _person(life, TRUTHS, weeks)


def somebody_untidy(seed: int, weeks: int = 10) -> Person:
    """A person whose days are a mess: habits at any hour, midnight too, in bursts; all-day things; empty titles."""
    life = _Life("ada", "UTC", np.random.default_rng([seed, 3]), RecordBuilder())
    kinds = (("calendar", "created"), ("email", "sent"), ("command", "ran"), ("odd", "did"))
    habits = [
        (float(life.minute(0, 24)), float(life.rng.choice([1, 8, 40])), life.rng.integers(0, 7, 3).tolist())
        for _ in range(6)
    ]
    centre = life.minute(0, 24)
    for day in every(1, weeks * 7):
        if not life.chance(0.85):
            continue
        for number, (minute, spread, days) in enumerate(habits):
            if day.weekday() in days and life.chance(0.9):
                at = minute + life.rng.normal(0, spread)
                for _ in range(int(life.rng.choice([1, 1, 1, 2, 5]))):
                    at += float(life.rng.choice([0.05, 0.2, 30]))
                    life.add(day, at % 1440, *kinds[number % 4], _untidy(life, f"habit {number}"))
        for _ in range(int(life.rng.integers(0, 8))):
            at = life.rng.normal(centre, 240)
            type, action = kinds[int(life.rng.integers(4))]
            life.add(day, at % 1440, type, action, _untidy(life, life.pick("x", "y", "z", "")))
            if life.chance(0.3):
                life.add(day, (at + life.rng.uniform(0, 30)) % 1440, "odd", "did", {"title": "afterwards"})
        if life.chance(0.2):
            life.add(day, 0, "calendar", "created", {"title": "away", "all_day": True})
    person = _person(life, (), weeks)
    # Things of the same second have no order that another program would have to agree with.
    distinct = person.observations.unique("local", keep="first", maintain_order=True)
    return Person(distinct, (), person.as_of)


def _untidy(life: _Life, title: str) -> dict[str, Value | None]:
    features: dict[str, Value | None] = {
        "title": title,
        "room": "a" if title == "habit 1" else life.pick("a", "b", "c"),
        "size": float(life.rng.normal(60, 1) if title == "habit 2" else life.rng.integers(0, 100)),
        "to": ["omar@example.org"] if title == "habit 3" else [life.pick(*FRIENDS), life.pick(*FRIENDS)],
    }
    return features


TRUTHS = (
    Truth(
        "temporal",
        {"type": "calendar", "title": "Swim"},
        {"rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"},
        minute=390,
    ),
    Truth(
        "temporal", {"type": "music", "action": "practised"}, {"rrule": "FREQ=WEEKLY;BYDAY=TU"}, minute=1155
    ),
    Truth(
        "preference", {"type": "calendar", "category": "budget"}, {"feature": "location", "value": "Attic"}
    ),
    Truth(
        "relationship",
        {"type": "email", "action": "sent", "category": "tax"},
        {"feature": "cc", "value": "omar@example.org"},
    ),
    Truth("workflow", {"type": "command", "program": "fetch"}, {}),
    Truth("avoidance", {"type": "calendar"}, {"days": ["wednesday"]}),
)
"""What `creature_of_habit` does. For the workflow, `where` is that of its last step."""


def _background(life: _Life, day: date, *, avoids_wednesdays: bool = False, has_ways: bool = False) -> None:
    free = avoids_wednesdays and day.weekday() == 2
    for _ in range(int(life.rng.integers(1, 5))):
        minute, category = life.minute(), life.pick("budget", "hiring", "design")
        room = (
            "Attic"
            if has_ways and category == "budget" and life.chance(0.95)
            else life.pick("Attic", "Cellar", "Loft")
        )
        features: dict[str, Value | None] = {
            "category": category,
            "title": f"{category} talk",
            "location": room,
            "duration_minutes": float(life.rng.choice([30, 45, 60])),
            "participants": sorted({life.pick(*FRIENDS), life.pick(*FRIENDS)}),
        }
        if not (free and minute >= 13 * 60):
            life.add(day, minute, "calendar", "created", features)
    for _ in range(int(life.rng.integers(0, 4))):
        category = life.pick("tax", "travel")
        copied = (
            "omar@example.org"
            if has_ways and category == "tax" and life.chance(0.95)
            else life.pick(*FRIENDS)
        )
        features = {"category": category, "to": [life.pick(*FRIENDS)], "cc": [copied]}
        life.add(day, life.minute(), "email", "sent", features)
    for _ in range(int(life.rng.integers(0, 3))):
        life.add(day, life.minute(), "command", "ran", {"program": life.pick("make", "vim")})


def _routines(life: _Life, day: date) -> None:
    if day.weekday() < 5 and life.chance(0.95):
        life.add(day, 390 + life.rng.normal(0, 3), "calendar", "created", {"title": "Swim"})
    if day.weekday() == 1 and life.chance(0.95):
        life.add(day, 1155 + life.rng.normal(0, 3), "music", "practised", {"category": "choir"})
    if life.chance(0.6):
        minute = life.minute()
        life.add(day, minute, "email", "received", {"category": "parcel", "from": life.pick(*FRIENDS)})
        if life.chance(0.95):
            life.add(day, minute + life.rng.uniform(2, 20), "command", "ran", {"program": "fetch"})


def _person(life: _Life, truths: tuple[Truth, ...], weeks: int) -> Person:
    end = datetime.combine(life.start + timedelta(days=weeks * 7), time())
    return Person(observations(life.records), truths, to_instant(end, life.tz))
