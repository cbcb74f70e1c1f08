"""Counting a rule over any time span equals counting it event by event, as the contract defines."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Any

import orjson
import polars as pl
import pytest

from observations.schema import concat_observations
from patterns.count_rules import COUNTS, count_rules
from patterns.evaluate import evaluate
from patterns.settings import Settings
from tests.recount import as_events, recount
from tests.simulate import Person, creature_of_habit, every, nobody_in_particular, regular, somebody_untidy

PEOPLE = {
    "habits": creature_of_habit(31, weeks=12, tz="UTC"),
    "habits in Sydney": creature_of_habit(33, weeks=12, tz="Australia/Sydney"),
    "no habits": nobody_in_particular(34, weeks=12),
    **{f"untidy {seed}": somebody_untidy(seed) for seed in (1, 2, 3)},
}


@cache
def patterns_of(name: str) -> pl.DataFrame:
    """Everything that is known about a person four weeks before the end."""
    person = PEOPLE[name]
    return evaluate(person.observations, person.as_of - timedelta(days=28))


def counted(name: str, since: datetime, until: datetime) -> list[tuple[int, int]]:
    frame = count_rules(PEOPLE[name].observations, patterns_of(name), since, until)
    return frame.select("support", "opportunities").rows()


def by_the_words(person: Person, rule: dict[str, Any], since: datetime, until: datetime) -> tuple[int, int]:
    """A rule's opportunities up to `until`, less those up to `since`."""
    events = as_events(person.observations)
    first = events[0]["local"].replace(microsecond=0) - timedelta(days=1)
    shift = events[-1]["local"] - events[-1]["at"].replace(tzinfo=None)
    totals = []
    for now in (until, since):
        wall = now.replace(tzinfo=None) + shift
        # What is avoided ends with the last event of the source, be it later than `since`.
        known = events if "days" in rule else [e for e in events if e["local"] <= wall]
        totals.append(recount(rule, [e for e in known if e["at"] <= until], first, wall))
    return totals[0][0] - totals[1][0], totals[0][1] - totals[1][1]


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("days", [14, 28])
def test_later_weeks_are_counted_by_the_words_of_the_contract(name: str, days: int) -> None:
    person = PEOPLE[name]
    since = person.as_of - timedelta(days=28)
    until = since + timedelta(days=days)
    wrong = [
        (rule, counts, words)
        for rule, counts in zip(patterns_of(name)["rule"], counted(name, since, until), strict=True)
        if counts != (words := by_the_words(person, orjson.loads(rule), since, until))
    ]
    assert wrong == []


def test_every_type_is_seen_and_some_opportunities_of_each() -> None:
    seen: dict[str, int] = {}
    for name, person in PEOPLE.items():
        since = person.as_of - timedelta(days=28)
        for type, (_, n) in zip(patterns_of(name)["type"], counted(name, since, person.as_of), strict=True):
            seen[type] = seen.get(type, 0) + n
    assert set(seen) == {"temporal", "preference", "relationship", "workflow", "avoidance"}
    assert min(seen.values()) > 20, seen


def test_people_do_not_mix() -> None:
    """Two people with the same events under the same rules, counted together and each alone."""
    ada = PEOPLE["habits"].observations
    zoe = ada.with_columns(user_id=pl.lit("zoe"))
    since, until = PEOPLE["habits"].as_of - timedelta(days=28), PEOPLE["habits"].as_of
    both = concat_observations([zoe, ada])
    patterns = evaluate(both, since)
    together = count_rules(both, patterns, since, until)
    assert dict(together.schema) == dict(COUNTS)
    assert together.select("id", "user_id").equals(patterns.select("id", "user_id"))
    for name, frame in (("ada", ada), ("zoe", zoe)):
        alone = count_rules(frame, patterns.filter(user_id=name), since, until)
        assert together.filter(user_id=name).equals(alone)


def test_nobody_is_counted_for_somebody_who_is_not_there() -> None:
    ada = PEOPLE["habits"]
    patterns = evaluate(ada.observations).with_columns(user_id=pl.lit("zoe"))
    counts = count_rules(ada.observations, patterns, ada.as_of - timedelta(days=14), ada.as_of)
    assert counts.select(pl.sum("opportunities")).item() == 0
    assert counts.height == patterns.height > 0


@pytest.mark.parametrize("rrule", ["FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO"])
def test_every_other_week_is_counted_from_its_first_day(rrule: str) -> None:
    """Kept every day: all due days are opportunities, and no others."""
    frame = regular("Gym", every(1, 84))
    rule = {"where": {"title": "Gym"}, "rrule": rrule, "time": "07:00", "tolerance_minutes": 10}
    weeks = 2 if "=2;" in rrule else 3
    for start in ("2026-01-06", "2026-01-13") if weeks == 2 else ("2026-01-05", "2026-01-12", "2026-01-19"):
        asked = pl.DataFrame(
            {
                "id": "x",
                "user_id": "ada",
                "type": "temporal",
                "rule": orjson.dumps(rule | {"dtstart": start}).decode(),
            }
        )
        last = datetime.fromisoformat("2026-03-30T00:00+00:00")
        (row,) = count_rules(frame, asked, last - timedelta(days=84), last).rows()
        assert row[2:] == (84 / 7 / weeks, 84 / 7 / weeks)


def test_a_day_may_begin_at_four() -> None:
    """00:30 on Saturday is Friday's, where the day begins at four."""
    fridays = every(7, 10, start=every(1, 6)[5])  # Saturdays, at half past midnight
    frame = regular("Diary", fridays, "00:30")
    rule = {
        "where": {"title": "Diary"},
        "rrule": "FREQ=WEEKLY;BYDAY=FR",
        "time": "00:30",
        "tolerance_minutes": 10,
    }
    rule["day_starts_at"] = "04:00"
    asked = pl.DataFrame(
        {"id": "x", "user_id": "ada", "type": "temporal", "rule": orjson.dumps(rule).decode()}
    )
    until = datetime.fromisoformat("2026-06-01T00:00+00:00")
    (row,) = count_rules(frame, asked, until - timedelta(days=200), until, Settings(day_starts_at=4)).rows()
    assert row[2:] == (10, 10)
