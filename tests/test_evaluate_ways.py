"""Preferences, relationships, workflows and avoidances are found in a busy life."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from observations.schema import concat_observations
from patterns.evaluate import evaluate
from tests.simulate import FRIENDS, every, nobody_in_particular, observations

WEEKS = 26
DAYS = every(1, WEEKS * 7)
OMAR = "omar@example.org"

Features = Mapping[str, Value | None]


def planted(write: Callable[[RecordBuilder, np.random.Generator, date], None], seed: int = 3) -> pl.DataFrame:
    """What `write` adds to half a year of somebody without habits, day by day."""
    rng, records = np.random.default_rng(seed), RecordBuilder()
    for day in DAYS:
        write(records, rng, day)
    background = nobody_in_particular(seed=55, weeks=WEEKS, tz="UTC").observations
    return concat_observations([background, observations(records)])


def add(records: RecordBuilder, day: date, minute: float, type: str, action: str, features: Features) -> None:
    moment = datetime.combine(day, datetime.min.time()) + timedelta(seconds=round(minute * 60))
    records.add(type, action, local=moment, tz="UTC", user_id="ada", features=features)


def confirmed(frame: pl.DataFrame, type: str) -> list[dict[str, Any]]:
    """The rules of that type that are confirmed."""
    found = evaluate(frame).filter(type=type, status="confirmed")
    return [orjson.loads(rule) for rule in found.get_column("rule")]


# --- preferences ----------------------------------------------------------------------------------------------


def meetings(usual: Callable[[np.random.Generator], Features]) -> pl.DataFrame:
    """A "review" on two days in three, done in the usual way nine times in ten, else as everything else."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        if rng.random() > 0.66:
            return
        features: dict[str, Value | None] = {
            "category": "review",
            "title": "review talk",
            "location": str(rng.choice(["Attic", "Cellar", "Loft"])),
            "duration_minutes": float(rng.choice([30, 45, 60])),
        }
        if rng.random() < 0.9:
            features.update(usual(rng))
        add(records, day, float(rng.uniform(480, 1200)), "calendar", "created", features)

    return planted(write)


def test_a_preferred_place_is_found_in_its_context() -> None:
    (rule,) = confirmed(meetings(lambda _: {"location": "Loft"}), "preference")
    assert (rule["feature"], rule["value"]) == ("location", "Loft")
    assert set(rule["where"].values()) & {"review", "review talk"}


def test_a_preferred_length_is_found_in_its_context() -> None:
    (rule,) = confirmed(meetings(lambda _: {"duration_minutes": 25.0}), "preference")
    assert rule["feature"] == "duration_minutes"
    assert rule.get("value", rule.get("min")) == 25.0


def test_a_preferred_flag_is_found() -> None:
    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        category = str(rng.choice(["review", "planning", "lunch"]))
        likely = 0.95 if category == "review" else 0.5
        features: dict[str, Value | None] = {"category": category, "remote": bool(rng.random() < likely)}
        add(records, day, float(rng.uniform(480, 1200)), "meeting", "held", features)

    (rule,) = confirmed(planted(write), "preference")
    assert (rule["where"], rule["feature"], rule["value"]) == (
        {"type": "meeting", "category": "review"},
        "remote",
        True,
    )


def test_a_preferred_band_of_a_number_is_found() -> None:
    """Tempo runs at 60 to 64, others anywhere from 40 to 100; hardly any value comes twice."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        tempo = rng.random() < 0.5
        speed = float(rng.uniform(60, 64) if tempo and rng.random() < 0.95 else rng.uniform(40, 100))
        features = {"category": "tempo" if tempo else "easy", "speed": speed}
        add(records, day, float(rng.uniform(480, 1200)), "run", "finished", features)

    rules = [r for r in confirmed(planted(write), "preference") if r["where"].get("category") == "tempo"]
    (rule,) = rules
    assert rule["feature"] == "speed"
    assert 55 <= rule["min"] <= 62 <= rule["max"] <= 70


def test_a_preference_in_general_is_said_in_general() -> None:
    """Whatever the meeting is about, it lasts 25 minutes: not once for each category."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        category = str(rng.choice(["review", "planning", "lunch"]))
        minutes = 25.0 if rng.random() < 0.9 else float(rng.choice([30, 45, 60, 90]))
        add(
            records,
            day,
            float(rng.uniform(480, 1200)),
            "meeting",
            "held",
            {"category": category, "duration_minutes": minutes},
        )

    (rule,) = confirmed(planted(write), "preference")
    assert rule == {
        "where": {"type": "meeting", "action": "held"},
        "feature": "duration_minutes",
        "value": 25.0,
    }


# --- relationships --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "type", "action"),
    [
        ("cc", "email", "sent"),
        ("to", "email", "sent"),
        ("from", "email", "received"),
        ("participants", "calendar", "created"),
        ("organizer", "calendar", "created"),
    ],
)
def test_who_belongs_to_a_context_is_found(feature: str, type: str, action: str) -> None:
    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        for _ in range(2):
            category = str(rng.choice(["legal", "garden"]))
            person = OMAR if category == "legal" and rng.random() < 0.9 else str(rng.choice(FRIENDS))
            value: Value = person if feature in ("from", "organizer") else [person]
            features = {"category": category, feature: value}
            add(records, day, float(rng.uniform(480, 1200)), type, action, features)

    (rule,) = confirmed(planted(write), "relationship")
    assert (rule["feature"], rule["value"]) == (feature, OMAR)
    assert rule["where"]["category"] == "legal"


# --- workflows ------------------------------------------------------------------------------------------------


def test_mail_then_meeting_is_found_across_types() -> None:
    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        if rng.random() < 0.5:
            minute = float(rng.uniform(480, 1140))
            add(records, day, minute, "email", "received", {"category": "alarm"})
            if rng.random() < 0.9:
                add(records, day, minute + rng.uniform(5, 25), "calendar", "created", {"title": "Triage"})

    (rule,) = confirmed(planted(write), "workflow")
    assert [step["type"] for step in rule["steps"]] == ["email", "calendar"]
    assert set(rule["steps"][0].values()) & {"alarm", "received"}  # no other mail is received
    assert "triage" in [value.lower() for value in rule["steps"][1].values()]
    assert 20 <= rule["within_minutes"] <= 60


def test_three_steps_are_one_workflow_and_not_its_pieces() -> None:
    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        if rng.random() < 0.6:
            minute = float(rng.uniform(480, 1140))
            for program in ("fetch", "build", "publish"):
                add(records, day, minute, "command", "ran", {"program": program})
                minute += rng.uniform(1, 9)
                if rng.random() > 0.95:
                    break

    (rule,) = confirmed(planted(write), "workflow")
    assert [step.get("program") for step in rule["steps"]] == ["fetch", "build", "publish"]


def test_two_things_at_fixed_times_are_no_workflow() -> None:
    """Breakfast at 8:00 and the post at 8:30, each on its own days: the one does not bring the other."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        if rng.random() < 0.6:
            add(records, day, 480 + rng.normal(0, 2), "calendar", "created", {"title": "Breakfast"})
        if rng.random() < 0.6:
            add(records, day, 510 + rng.normal(0, 2), "calendar", "created", {"title": "Post"})

    assert confirmed(planted(write), "workflow") == []


def test_what_only_follows_something_timed_is_not_also_a_time() -> None:
    """Notes are sent after the stand-up, which is at 09:30 on most working days: one workflow, not a second time."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        if day.weekday() < 5 and rng.random() < 0.85:
            minute = 570 + rng.normal(0, 2)
            add(records, day, minute, "calendar", "created", {"title": "Stand-up"})
            if rng.random() < 0.95:
                add(records, day, minute + rng.uniform(15, 20), "email", "sent", {"category": "notes"})

    frame = planted(write)
    (rule,) = confirmed(frame, "workflow")
    assert [step["type"] for step in rule["steps"]] == ["calendar", "email"]
    assert [r for r in confirmed(frame, "temporal") if "notes" in r["where"].values()] == []


# --- avoidance ------------------------------------------------------------------------------------------------


def lectures(avoided: Callable[[date, float, str], bool]) -> pl.DataFrame:
    """Three to five lectures a day from eight to eight, except where they are avoided."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        for _ in range(int(rng.integers(3, 6))):
            minute, category = float(rng.uniform(480, 1200)), str(rng.choice(["history", "maths"]))
            if not avoided(day, minute, category):
                add(records, day, minute, "lecture", "heard", {"category": category})

    return planted(write)


@pytest.mark.parametrize(
    ("avoided", "days", "inside"),
    [
        (lambda day, minute, _: day.weekday() == 4 and minute >= 780, ["friday"], ("14:00", "19:00")),
        (lambda day, minute, _: day.weekday() >= 5, ["saturday", "sunday"], ("09:00", "19:00")),
        (lambda day, minute, _: day.weekday() == 2 and minute < 720, ["wednesday"], ("08:00", "11:00")),
    ],
    ids=["friday afternoons", "weekends", "wednesday mornings"],
)
def test_avoided_slots_are_found(
    avoided: Callable[[date, float, str], bool], days: list[str], inside: tuple[str, str]
) -> None:
    (rule,) = [r for r in confirmed(lectures(avoided), "avoidance") if r["where"].get("type") == "lecture"]
    assert rule["where"] == {"type": "lecture", "action": "heard"}
    assert rule["days"] == days
    assert rule["from"] <= inside[0]
    assert inside[1] <= rule["to"]


def test_what_one_kind_of_thing_avoids_is_said_of_that_kind() -> None:
    frame = lectures(lambda day, _, category: category == "maths" and day.weekday() == 0)
    (rule,) = [r for r in confirmed(frame, "avoidance") if r["where"].get("type") == "lecture"]
    assert rule["where"] == {"type": "lecture", "category": "maths"}
    assert rule["days"] == ["monday"]


def test_what_begins_at_the_end_of_a_slot_is_not_in_it() -> None:
    """Lectures begin on the hour; on Tuesdays there are none from 10:00 on, and the next begins at 14:00 sharp."""

    def write(records: RecordBuilder, rng: np.random.Generator, day: date) -> None:
        for hour in rng.choice(np.arange(8, 20), 5, replace=False).tolist():
            if not (day.weekday() == 1 and 10 <= hour < 14):
                add(records, day, 60 * hour, "lecture", "heard", {})

    frame = evaluate(planted(write)).filter(pl.col("rule").str.contains("lecture"), type="avoidance")
    (pattern,) = frame.filter(status="confirmed").iter_rows(named=True)
    rule = orjson.loads(pattern["rule"])
    assert (rule["days"], rule["from"], rule["to"]) == (["tuesday"], "10:00", "14:00")
    assert pattern["support"] == pattern["opportunities"]


def test_a_life_without_gaps_avoids_nothing() -> None:
    assert [
        r for r in confirmed(lectures(lambda *_: False), "avoidance") if r["where"]["type"] == "lecture"
    ] == []
