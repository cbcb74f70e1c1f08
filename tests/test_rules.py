"""Each rule shape has one meaning: in a frame, event by event, and as the contract defines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from observations.errors import SettingError
from observations.features import with_features
from observations.ingest.toolkit.record_builder import RecordBuilder
from patterns.count_rules import count_rules
from patterns.registry import KINDS, rule_of
from patterns.rules.event import Event, events_of
from patterns.rules.rule import Rule
from tests import simulate, slow_rules

FIRST = datetime(2026, 3, 20)  # noqa: DTZ001  a wall clock: clocks change on 29 March in Berlin, on 8 March in New York
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland")

X, A = {"title": "x"}, {"type": "a"}
EVENING = {"from": "22:00", "to": "02:00"}
WEEKDAYS = list(slow_rules.WEEK[:5])

RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "a time": ("temporal", {"where": X, "rrule": "FREQ=DAILY", "time": "07:00", "tolerance_minutes": 90}),
    "about midnight": (
        "temporal",
        {"where": A, "rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,FR", "time": "23:50", "tolerance_minutes": 45},
    ),
    "a time of night owls": (
        "temporal",
        {
            "where": X,
            "rrule": "FREQ=DAILY",
            "time": "01:00",
            "tolerance_minutes": 90,
            "day_starts_at": "04:00",
        },
    ),
    "days without a time": ("temporal", {"where": A, "rrule": "FREQ=WEEKLY;BYDAY=TU,TH,SA"}),
    "several times": (
        "temporal",
        {"where": {}, "rrule": "FREQ=DAILY", "times": ["07:00", "18:00"], "tolerance_minutes": 60},
    ),
    "the first of the day": (
        "temporal",
        {"where": A, "rrule": "FREQ=DAILY", "time": "09:00", "tolerance_minutes": 120, "which": "first"},
    ),
    "the last of the day": (
        "temporal",
        {"where": X, "rrule": "FREQ=DAILY", "time": "21:00", "tolerance_minutes": 180, "which": "last"},
    ),
    "a rota": (
        "temporal",
        {
            "where": A,
            "rrule": ["FREQ=DAILY;INTERVAL=4", "FREQ=DAILY;INTERVAL=4"],
            "dtstart": ["2026-03-21", "2026-03-22"],
        },
    ),
    "every other week": (
        "temporal",
        {"where": A, "rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,SA", "dtstart": "2026-03-25"},
    ),
    "the last working day": (
        "temporal",
        {"where": {}, "rrule": "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1"},
    ),
    "days a week": ("temporal", {"where": X, "per": "week", "min": 2, "max": 4}),
    "days a month": ("temporal", {"where": X, "per": "month", "min": 9, "day_starts_at": "04:00"}),
    "a value": ("preference", {"where": A, "feature": "place", "value": "home"}),
    "a number": ("preference", {"where": {}, "feature": "size", "value": 3}),
    "a flag": ("preference", {"where": A, "feature": "remote", "value": True}),
    "a band": ("preference", {"where": X, "feature": "size", "min": 2, "max": 4}),
    "at most, in minutes": ("preference", {"where": A, "feature": "duration_minutes", "max": 45}),
    "at most": ("preference", {"where": {}, "feature": "size", "max": 3}),
    "the first choice of the day": (
        "preference",
        {"where": A, "feature": "place", "value": "home", "which": "first", "day_starts_at": "05:00"},
    ),
    "the last choice of the day": (
        "preference",
        {"where": {}, "feature": "place", "value": "work", "which": "last"},
    ),
    "by day and hour": (
        "preference",
        {
            "where": {"day_of_week": ["monday", "saturday"], "time_of_day": EVENING, "title": ["x", "y"]},
            "feature": "place",
            "value": "home",
        },
    ),
    "by number and flag": (
        "preference",
        {"where": {"size": [1, 2, 3], "remote": False}, "feature": "place", "value": "home"},
    ),
    "a person": ("relationship", {"where": {"participants": "bo"}, "feature": "participants", "value": "al"}),
    "two steps": ("workflow", {"steps": [X, {"title": "y"}], "within_minutes": 300}),
    "three steps": ("workflow", {"steps": [A, X, {"type": "b"}], "within_minutes": 600}),
    "what came before": ("workflow", {"steps": [X, A], "within_minutes": 400, "given": "last"}),
    "hours": ("avoidance", {"where": A, "days": WEEKDAYS, "from": "09:00", "to": "13:00"}),
    "whole days": ("avoidance", {"where": X, "days": ["saturday", "sunday"], "from": "00:00", "to": "24:00"}),
    "past midnight": (
        "avoidance",
        {"where": {}, "days": ["friday", "sunday"], "from": "22:00", "to": "03:00"},
    ),
    "hours of night owls": (
        "avoidance",
        {"where": A, "days": WEEKDAYS, "from": "22:00", "to": "03:00", "day_starts_at": "04:00"},
    ),
    "since": (
        "avoidance",
        {"where": X, "days": WEEKDAYS, "from": "12:00", "to": "24:00", "since": "2026-03-30"},
    ),
}

happenings = st.fixed_dictionaries(
    {
        "minutes": st.integers(0, 24 * 24 * 60),
        "tz": st.sampled_from(ZONES),
        "type": st.sampled_from(["a", "b"]),
        "all_day": st.sampled_from([False, False, False, True]),
        "title": st.sampled_from(["x", "y", None]),
        "place": st.sampled_from(["home", "work", None]),
        "size": st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, None]),
        "remote": st.sampled_from([True, False, None]),
        "participants": st.sampled_from([["al"], ["bo"], ["al", "bo"], None]),
    }
)
lives = st.lists(happenings, min_size=1, max_size=60)


def frame_of(life: list[dict[str, Any]]) -> pl.DataFrame:
    """The life as observations; two zones alternate, so that instants and wall clocks are in different orders."""
    records = RecordBuilder()
    for number, one in enumerate(life):
        local = FIRST + timedelta(minutes=one["minutes"])
        if one["all_day"]:
            local = local.replace(hour=0, minute=0)
        features = {n: one[n] for n in ("title", "place", "size", "remote", "participants")}
        features["all_day"] = True if one["all_day"] else None
        records.add(one["type"], "done", local=local, tz=one["tz"], features=features, id=f"{number:03}")
    return simulate.observations(records).sort("at", "id")


def happening(row: dict[str, Any]) -> slow_rules.Happening:
    fields = {
        name.partition(":")[0]: value for name, value in row.items() if ":" in name and value is not None
    }
    return slow_rules.Happening(
        row["at"],
        row["local"],
        not fields.get("all_day"),
        fields | {"type": row["type"], "action": row["action"]},
    )


def counted(type: str, rule: dict[str, Any], frame: pl.DataFrame) -> tuple[int, int]:
    """What the batch counts, long after everything is over."""
    asked = pl.DataFrame(
        {"id": "x", "user_id": frame["user_id"][0], "type": type, "rule": orjson.dumps(rule).decode()}
    )
    first, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
    support, opportunities = count_rules(frame, asked, first, last).select("support", "opportunities").row(0)
    return support, opportunities


def settled(rule: Rule, events: list[Event]) -> list[bool]:
    """What single events settle, each seen with those of the rule's reach before it."""
    found: list[bool] = []
    for place, event in enumerate(events):
        before = [one for one in events[:place] if event.since(one) <= rule.reach]
        found += rule.outcomes(event, before)
    return found


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(life=lives)
def test_a_frame_single_events_and_the_contract_agree(name: str, life: list[dict[str, Any]]) -> None:
    type, written = RULES[name]
    rule, frame = rule_of(type, written), frame_of(life)
    support, opportunities = counted(type, written, frame)
    slow = slow_rules.count(type, written, [happening(row) for row in frame.iter_rows(named=True)])
    assert (support, opportunities) == slow
    outcomes = settled(rule, list(events_of(with_features(frame))))
    which, per, given = written.get("which"), written.get("per"), written.get("given")
    if which == "last" or per:
        assert outcomes == []  # only the end of a day, a week or a month settles it
    elif type == "avoidance":
        assert outcomes == [False] * (opportunities - support)
    elif which == "first" or given == "last" or type in ("preference", "relationship"):
        assert (sum(outcomes), len(outcomes)) == (support, opportunities)
    else:
        assert outcomes == [True] * support


@pytest.mark.parametrize("name", RULES)
def test_json_round_trips_and_every_rule_is_the_same_as_itself(name: str) -> None:
    type, written = RULES[name]
    rule = rule_of(type, written)
    assert rule.to_json() == written
    assert rule_of(type, orjson.dumps(written).decode()) == rule
    assert rule.is_same(rule)
    others = [rule_of(*other) for title, other in RULES.items() if title != name]
    assert not any(rule.is_same(other) and rule.identity() != other.identity() for other in others)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_a_sentence_and_a_unit(name: str) -> None:
    rule = rule_of(*RULES[name])
    sentence = rule.sentence()
    assert sentence[0].isupper()
    for code in ("None", "FREQ", "{", "[", "TimeSpan", "inf"):
        assert code not in sentence
    one, many = rule.unit
    assert many == f"{one}s"


@pytest.mark.parametrize("name", RULES)
def test_rewording_replaces_every_text_of_the_data(name: str) -> None:
    rule = rule_of(*RULES[name])
    hidden = rule.reworded(lambda _where, field, value: value if field == "day_of_week" else "hidden")
    for _where, field, value in hidden.texts():
        assert value == "hidden" or field == "day_of_week"
    assert type(hidden) is type(rule)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("days without a time", "A events on Tue, Thu and Sat"),
        ("several times", "Is active daily between 06:00 and 08:00 or between 17:00 and 19:00"),
        ("a rota", "A events on 2 of every 4 days"),
        ("every other week", "A events every other week on Mon, Wed and Sat"),
        ("the last working day", "Is active on the last working day of the month"),
        ("days a week", "X events on 2–4 days a week"),
        ("at most", "Prefers size at most 3"),
        ("at most, in minutes", "Prefers a events of at most 45 minutes"),
        ("since", "No x events on weekdays after 12:00 since 2026-03-30"),
    ],
)
def test_new_shapes_in_words(name: str, sentence: str) -> None:
    assert rule_of(*RULES[name]).sentence() == sentence


def test_every_shape_of_the_registry_is_tried() -> None:
    tried = {type(rule_of(*rule)) for rule in RULES.values()}
    shapes = {shape for kind in KINDS for shape in kind.rules if not shape.keys >= {"said"}}
    assert tried == shapes


@pytest.mark.parametrize(
    ("type", "rule", "message"),
    [
        ("temporal", {"where": {}, "rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO"}, "needs a dtstart"),
        ("temporal", {"where": {}, "rrule": "sometimes"}, "is not an RFC 5545 recurrence"),
        ("temporal", {"where": {}, "rrule": "FREQ=DAILY", "time": "07:00"}, "go together"),
        ("temporal", {"where": {}, "per": "week"}, "has min, max or both"),
        ("temporal", {"where": {}, "per": "year", "min": 1}, "per: Input should be"),
        ("preference", {"where": {}, "feature": "size", "min": 3, "max": 1}, "min is not above max"),
        (
            "preference",
            {"where": {"time_of_day": {"from": "7", "to": "08:00"}}, "feature": "x", "value": 1},
            "where",
        ),
        (
            "workflow",
            {"steps": [{}, {}], "within_minutes": 5, "given": "first"},
            "given: Input should be 'last'",
        ),
        ("avoidance", {"where": {}, "days": [], "from": "08:00", "to": "12:00"}, "days: List should"),
        ("avoidance", {"where": {}, "days": ["monday"], "from": "08:00", "to": "25:00"}, "to: String should"),
        ("workflow", [], "a JSON object is expected"),
        ("habit", {"where": {}}, "unknown pattern type 'habit'"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_in_one_line(type: str, rule: Any, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        rule_of(type, orjson.dumps(rule).decode())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
