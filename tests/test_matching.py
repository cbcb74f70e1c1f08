"""The outcomes of one streamed event are those that the detectors count for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
import polars as pl
import pytest

from observations.features import with_features
from observations.schema import unique_observations
from patterns.explain import explain
from patterns.registry import rule_of
from patterns.rules.event import Event, events_of
from tests.simulate import Person, creature_of_habit, nobody_in_particular, somebody_untidy


def outcome(type: str, rule: dict[str, Any], event: Event, before: Sequence[Event] = ()) -> bool | None:
    """What the event settles, if anything."""
    return next(iter(rule_of(type, rule).outcomes(event, before)), None)


def hangs_on_derived(type: str, rule: dict[str, Any], event: Event) -> bool:
    return rule_of(type, rule).needs_derived(event)


PEOPLE = {
    "a creature of habit": creature_of_habit(3),
    "another": creature_of_habit(8, weeks=20),
    "somebody untidy": somebody_untidy(5),
    "nobody in particular": nobody_in_particular(7, weeks=30),
}


@pytest.mark.parametrize("person", PEOPLE.values(), ids=PEOPLE)
def test_every_trial_that_is_counted_for_an_observation_is_what_is_said_of_it(person: Person) -> None:
    found = explain(person.observations, person.as_of)
    frame = with_features(unique_observations(person.observations))
    events = list(events_of(frame))
    place = {id: number for number, id in enumerate(frame.get_column("id"))}
    rules = {p["id"]: (p["type"], orjson.loads(p["rule"])) for p in found.patterns.iter_rows(named=True)}
    shown = found.opportunities.filter(pl.col("observation").is_not_null())
    assert {rules[id][0] for id in shown.get_column("pattern_id")} >= {"preference"}
    for id, observation, kept in shown.select("pattern_id", "observation", "kept").iter_rows():
        type, rule = rules[id]
        if type == "avoidance" and kept:
            continue  # what shows that the slot stayed empty is any trace of that day
        at = place[observation]
        event = events[at]
        before = [one for one in events[:at] if event.local - one.local <= rule_of(type, rule).reach]
        assert outcome(type, rule, event, before) is kept, (type, rule, event)


def event(when: str = "2026-03-02 07:05", *, timed: bool = True, **fields: Any) -> Event:
    given = {"type": "calendar", "action": "created"} | fields
    return Event(datetime.fromisoformat(when), timed, {name: (value,) for name, value in given.items()})


GYM = {
    "where": {"type": "calendar", "title": "Gym"},
    "rrule": "FREQ=WEEKLY;BYDAY=MO,WE",
    "time": "07:00",
    "tolerance_minutes": 10,
}
OTHER_WEEK = GYM | {"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", "dtstart": "2026-03-02"}
ROOM = {"where": {"category": "budget"}, "feature": "location", "value": "Attic"}
LENGTH = {"where": {}, "feature": "duration_minutes", "min": 30, "max": 45}
COPIED = {"where": {"labels": "legal"}, "feature": "cc", "value": "sarah@example.org"}
QUIET = {"where": {"type": "calendar"}, "days": ["monday"], "from": "06:00", "to": "07:05"}


@pytest.mark.parametrize(
    ("type", "rule", "seen", "said"),
    [
        ("temporal", GYM, event(title="Gym"), True),
        ("temporal", GYM, event(title="Gin"), None),
        ("temporal", GYM, event("2026-03-02 07:11", title="Gym"), None),
        ("temporal", GYM, event("2026-03-03 07:05", title="Gym"), None),
        ("temporal", GYM, event("2026-03-02 00:00", title="Gym", timed=False), None),
        ("temporal", GYM | {"time": "23:58"}, event("2026-03-02 00:05", title="Gym"), True),
        ("temporal", OTHER_WEEK, event("2026-03-16 07:05", title="Gym"), True),
        ("temporal", OTHER_WEEK, event("2026-03-09 07:05", title="Gym"), None),
        ("preference", ROOM, event(category="budget", location="Attic"), True),
        ("preference", ROOM, event(category="budget", location="Cellar"), False),
        ("preference", ROOM, event(category="budget"), None),
        ("preference", ROOM, event(category="hiring", location="Attic"), None),
        ("preference", LENGTH, event(duration_minutes=45.0), True),
        ("preference", LENGTH, event(duration_minutes=60.0), False),
        ("preference", LENGTH, event(duration_minutes="long"), False),
        ("relationship", COPIED, event(labels=["legal", "new"], cc=["sarah@example.org"]), True),
        ("relationship", COPIED, event(labels=["legal"], cc=[]), False),
        ("relationship", COPIED, event(labels=["tax"], cc=["sarah@example.org"]), None),
        ("avoidance", QUIET, event("2026-03-02 06:00"), False),
        ("avoidance", QUIET, event("2026-03-02 07:05"), None),
        ("avoidance", QUIET, event("2026-03-03 06:30"), None),
    ],
)  # fmt: skip
def test_the_words_of_the_contract(type: str, rule: dict[str, Any], seen: Event, said: bool | None) -> None:
    assert outcome(type, rule, seen) is said


def test_what_is_derived_is_asked_for_only_where_it_decides() -> None:
    standup = {"where": {"type": "calendar", "kind": "standup"}, "rrule": "FREQ=DAILY"}
    steps = {"steps": [{"kind": "standup"}, {"type": "command", "program": "git"}], "within_minutes": 5}
    assert hangs_on_derived("temporal", standup, event(title="Standup"))
    assert not hangs_on_derived("temporal", standup, event(type="email"))
    assert not hangs_on_derived("temporal", GYM, event(title="Gym"))
    assert hangs_on_derived("workflow", steps, event(type="command", command="git pull"))
    assert not hangs_on_derived("workflow", steps, event(title="Standup"))


def test_a_last_step_counts_once_and_only_in_time() -> None:
    rule = {"steps": [{"program": "pull"}, {"program": "test"}, {"program": "push"}], "within_minutes": 10}
    pull, test = event("2026-03-02 07:00", program="pull"), event("2026-03-02 07:09", program="test")
    push, late = event("2026-03-02 07:18", program="push"), event("2026-03-02 07:20", program="push")
    assert outcome("workflow", rule, push, [pull, test]) is True
    assert outcome("workflow", rule, late, [pull, test]) is None
    assert outcome("workflow", rule, push, [test]) is None
    again = event("2026-03-02 07:19", program="push")
    assert outcome("workflow", rule, again, [pull, test, push]) is None
    assert rule_of("workflow", rule).reach.total_seconds() == 20 * 60
