"""Traps: chance that looks like a habit, and a pause that looks like its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

from observations.civil_time import to_instant
from observations.ingest.ical.calendar import CALENDAR
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions, Source
from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from observations.schema import concat_observations
from patterns.evaluate import evaluate
from patterns.settings import Settings
from tests.simulate import (
    FRIENDS,
    START,
    Person,
    creature_of_habit,
    every,
    nobody_in_particular,
    observations,
)

Features = Mapping[str, Value | None]
Add = Callable[..., None]

WORKDAYS = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"


def life(
    write: Callable[[np.random.Generator, date, Add], None], days: list[date], seed: int = 4
) -> pl.DataFrame:
    """What `write` adds, day by day, with ``add(minute, type, action, features, tz=…, day=…)``."""
    rng, records = np.random.default_rng(seed), RecordBuilder()
    for today in days:

        def add(
            minute: float,
            type: str,
            action: str,
            features: Features,
            *,
            tz: str = "UTC",
            actor: str = "user",
            day: date = today,
        ) -> None:
            moment = datetime.combine(day, time()) + timedelta(seconds=round(minute * 60))
            records.add(type, action, local=moment, tz=tz, user_id="ada", actor=actor, features=features)

        write(rng, today, add)
    return observations(records)


@cache
def background(weeks: int = 26, tz: str = "UTC") -> pl.DataFrame:
    """Somebody without habits."""
    return nobody_in_particular(seed=91, weeks=weeks, tz=tz).observations


def found(
    frame: pl.DataFrame, as_of: datetime | None = None, settings: Settings | None = None, **only: str
) -> list[dict[str, Any]]:
    """The patterns, their rules read."""
    patterns = evaluate(frame, as_of, settings).filter(**only)
    return [{**p, "rule": orjson.loads(p["rule"])} for p in patterns.iter_rows(named=True)]


def about(patterns: list[dict[str, Any]], word: str) -> list[dict[str, Any]]:
    """Those whose rule has this word in it."""
    return [p for p in patterns if word.lower() in orjson.dumps(p["rule"]).decode().lower()]


def moment(day: date, clock: str = "00:00", tz: str = "UTC") -> datetime:
    return to_instant(datetime.combine(day, time.fromisoformat(clock)), tz)


# --- one decision is not many -----------------------------------------------------------------------------------


def imported(times: int) -> pl.DataFrame:
    """Half a year, and on so many of its days fifty meetings that were taken in within a minute."""

    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        at = rng.uniform(540, 1080)
        for n in range(50):
            features: Features = {
                "category": "imported",
                "title": f"Imported {rng.choice(['Alpha', 'Beta', 'Gamma'])}",
                "location": "Room 9",
                "duration_minutes": 25.0,
                "participants": ["vera@example.org", str(rng.choice(FRIENDS))],
            }
            add(at + n / 50, "calendar", "created", features)

    on = [START + timedelta(days=days) for days in (40, 61, 97, 120)[:times]]
    return concat_observations([background(), life(write, on)])


@pytest.mark.parametrize("times", [1, 2, 4])
def test_an_import_of_fifty_meetings_in_a_minute_is_one_decision(times: int) -> None:
    """Fewer imports than occasions that a habit takes: nothing is said of what is in them."""
    patterns = [p for p in found(imported(times), status="confirmed") if p["type"] != "avoidance"]
    assert [p["statement"] for word in ("imported", "room 9", "vera") for p in about(patterns, word)] == []


@pytest.mark.parametrize("times", [1, 2, 4])
def test_after_an_import_the_rest_of_the_week_is_not_avoided(times: int) -> None:
    patterns = found(imported(times), type="avoidance", status="confirmed")
    assert [p["statement"] for word in ("imported", "room 9", "vera") for p in about(patterns, word)] == []


def invitation(response: str, days: str = "MO,TU,WE,TH,FR") -> pl.DataFrame:
    """Half a year of a series that the chief created, as our reader reads it from an export."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "BEGIN:VEVENT",
        "UID:series@example.org",
        f"DTSTART:{START:%Y%m%d}T091500Z",
        "DURATION:PT15M",
        f"RRULE:FREQ=WEEKLY;BYDAY={days}",
        "SUMMARY:All hands sync",
        "ORGANIZER:mailto:chief@example.org",
        f"ATTENDEE;PARTSTAT={response}:mailto:ada@example.org",
        "ATTENDEE;PARTSTAT=ACCEPTED:mailto:omar@example.org",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    until = datetime.combine(START + timedelta(weeks=26), time(), UTC)
    options = ReadOptions(until=until, user="ada", me=("ada@example.org",))
    source = Source.of_bytes("\r\n".join([*lines, ""]).encode(), "ada.ics")
    return concat_observations(
        [complete(batch.observations, options) for batch in CALENDAR.read(source, options)]
    )


def test_a_series_that_the_person_accepted_is_declared() -> None:
    frame = concat_observations([background(), invitation("ACCEPTED")])
    (pattern,) = about(found(frame, type="temporal", status="confirmed"), "sync")
    assert (pattern["rule"]["rrule"], pattern["rule"]["time"]) == (WORKDAYS, "09:15")
    assert pattern["source"] == "declared"


@pytest.mark.parametrize("response", ["NEEDS-ACTION", "DECLINED"])
def test_a_series_that_somebody_else_made_and_the_person_never_accepted_is_no_habit(response: str) -> None:
    frame = concat_observations([background(), invitation(response)])
    assert about(found(frame, status="confirmed"), "sync") == []
    assert about(found(frame, status="confirmed"), "chief") == []


def test_what_the_assistant_went_on_doing_is_over_for_the_person() -> None:
    """She booked a table herself for eleven weeks; since then her assistant does, at the same time."""
    change = START + timedelta(weeks=11)

    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        actor = "user" if day < change else "agent"
        add(780 + rng.normal(0, 3), "command", "ran", {"program": "book-table"}, actor=actor)

    frame = concat_observations([background(), life(write, every(1, 26 * 7))])
    (pattern,) = about(found(frame, type="temporal"), "book-table")
    assert pattern["status"] == "expired"
    assert pattern["last_seen"] < change.isoformat()


# --- clocks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("home", "away"),
    [
        ("Europe/Lisbon", ("Asia/Dubai", "Asia/Tokyo")),
        ("Europe/Lisbon", ("America/New_York", "America/Los_Angeles")),
        (
            "Australia/Sydney",
            ("Pacific/Honolulu", "America/New_York"),
        ),  # across the date line: a day comes twice
    ],
)
def test_a_journey_of_three_weeks_moves_no_habit(home: str, away: tuple[str, str]) -> None:
    """Ten days in one zone and eleven in another: what is done at seven is done at seven on the clock of the place."""
    leaves, changes, returns = (START + timedelta(days=n) for n in (98, 108, 119))

    def zone_on(day: date) -> str:
        return home if not leaves <= day < returns else away[day >= changes]

    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        tz = zone_on(day)
        for minute in rng.uniform(480, 1200, rng.poisson(4)):
            kind = str(rng.choice(["parcel", "garden", "tax"]))
            add(minute, "email", "sent", {"category": kind, "to": [str(rng.choice(FRIENDS))]}, tz=tz)
        if day.weekday() < 5 and rng.random() < 0.95:
            add(420 + rng.normal(0, 3), "calendar", "created", {"title": "Swim"}, tz=tz)

    frame = life(write, every(1, 26 * 7))
    (at_home,) = about(found(frame, moment(leaves, tz=home), type="temporal"), "swim")
    assert (at_home["status"], at_home["rule"]["rrule"], at_home["rule"]["time"]) == (
        "confirmed",
        WORKDAYS,
        "07:00",
    )
    for day in (changes, returns, returns + timedelta(days=3), START + timedelta(weeks=26)):
        (pattern,) = about(found(frame, moment(day, "20:30", zone_on(day)), type="temporal"), "swim")
        assert (pattern["id"], pattern["status"]) == (at_home["id"], "confirmed"), day
        assert (pattern["rule"], pattern["confirmed_at"]) == (at_home["rule"], at_home["confirmed_at"]), day


def evenings(rng: np.random.Generator, day: date, add: Add) -> None:
    """Something between 23:30 and 00:40, on nineteen evenings in twenty."""
    if rng.random() < 0.95:
        minute = rng.uniform(1410, 1480)
        on = day + timedelta(days=int(minute >= 1440))
        add(minute % 1440, "diary", "wrote", {"title": "Diary"}, day=on)


def minutes_to_midnight(clock: str) -> int:
    hours, minutes = (int(part) for part in clock.split(":"))
    return (hours * 60 + minutes + 720) % 1440 - 720


def is_about_midnight(rule: Mapping[str, Any]) -> bool:
    """Whether the rule's times are those from 23:30 to 00:40, more or less."""
    time, tolerance = minutes_to_midnight(rule["time"]), rule["tolerance_minutes"]
    return bool(-10 <= time <= 20 and 30 <= tolerance <= 60)


def test_an_evening_that_runs_past_midnight_is_one_habit() -> None:
    frame = concat_observations([background(), life(evenings, every(1, 26 * 7))])
    (pattern,) = about(found(frame, type="temporal", status="confirmed"), "diary")
    assert pattern["rule"]["rrule"] == "FREQ=DAILY"
    assert is_about_midnight(pattern["rule"]), pattern["rule"]


def test_a_night_owl_can_have_evenings_of_working_days() -> None:
    """With a day that begins at four, Friday's evening ends on Friday."""
    days = [day for day in every(1, 26 * 7) if day.weekday() < 5]
    frame = concat_observations([background(), life(evenings, days)])
    owl = Settings(day_starts_at=4)
    (pattern,) = about(found(frame, settings=owl, type="temporal", status="confirmed"), "diary")
    assert pattern["rule"]["rrule"] == WORKDAYS
    assert is_about_midnight(pattern["rule"]), pattern["rule"]
    assert pattern["support"] >= 0.85 * pattern["opportunities"]


@pytest.mark.parametrize("tz", ["Europe/Lisbon", "America/New_York", "Australia/Sydney"])
@pytest.mark.parametrize(("clock", "minute"), [("07:00", 420), ("02:30", 150)])
def test_a_year_with_two_changes_of_the_clock_is_one_habit(tz: str, clock: str, minute: int) -> None:
    """Also at an hour that one night does not have and another has twice."""

    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        if rng.random() < 0.95:
            add(minute + rng.normal(0, 2), "calendar", "created", {"title": "Rabbits"}, tz=tz)

    frame = concat_observations([background(52, tz), life(write, every(1, 364))])
    offsets = frame.get_column("at").dt.replace_time_zone(None) - frame.get_column("local")
    assert offsets.n_unique() == 2
    (pattern,) = about(found(frame, type="temporal"), "rabbits")
    assert (pattern["status"], pattern["rule"]["rrule"]) == ("confirmed", "FREQ=DAILY")
    assert abs(minutes_to_midnight(pattern["rule"]["time"]) - minutes_to_midnight(clock)) <= 5
    assert pattern["rule"]["tolerance_minutes"] <= 20
    assert pattern["confirmed_at"] < (START + timedelta(days=30)).isoformat()
    assert pattern["support"] >= 0.9 * pattern["opportunities"]


# --- what belongs to everything belongs to nothing in particular ------------------------------------------------


@pytest.mark.parametrize("feature", ["cc", "to"])
def test_a_colleague_on_every_mail_is_not_said_of_legal_mail(feature: str) -> None:
    """At most once, of all mail; and never of one kind of it, be it the rarest."""

    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        for _ in range(rng.poisson(2)):
            kind = str(rng.choice(["legal", "garden", "survey", "party"], p=[0.1, 0.3, 0.3, 0.3]))
            people = sorted(
                {"vera@example.org", str(rng.choice(FRIENDS))}
                if rng.random() < 0.97
                else {str(rng.choice(FRIENDS))}
            )
            add(rng.uniform(480, 1200), "email", "sent", {"category": kind, feature: people})

    patterns = about(found(life(write, every(1, 26 * 7)), type="relationship", status="confirmed"), "vera")
    assert [p["rule"] for p in patterns if "category" in p["rule"]["where"]] == []
    assert len(patterns) <= 1


def zoom(rng: np.random.Generator) -> dict[str, Value | None]:
    return {"title": "Zoom", "location": "Zoom", "duration_minutes": float(rng.choice([30, 45, 60]))}


def zoom_calls(rng: np.random.Generator) -> dict[str, Value | None]:
    name = str(rng.choice(["Alpha", "Beta", "Gamma"]))
    return {
        "category": "call",
        "title": f"{name} on Zoom",
        "location": "Zoom",
        "duration_minutes": float(rng.choice([30, 45, 60])),
    }


def course(_: np.random.Generator) -> dict[str, Value | None]:
    return {"title": "Pottery course", "location": "Kiln street 4", "duration_minutes": 110.0}


@pytest.mark.parametrize("thing", [zoom, zoom_calls, course])
def test_what_follows_from_the_thing_itself_is_no_preference(
    thing: Callable[[np.random.Generator], dict[str, Value | None]],
) -> None:
    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        if rng.random() < 0.5:
            add(rng.uniform(480, 1200), "calendar", "created", thing(rng))

    frame = concat_observations([background(), life(write, every(1, 26 * 7))])
    assert [p["rule"] for p in found(frame, type="preference", status="confirmed")] == []


# --- silence ----------------------------------------------------------------------------------------------------


@cache
def back_from_holiday() -> tuple[Person, datetime]:
    """Somebody with habits of all types who was two weeks away, and the midnight at which the holiday began."""
    person = creature_of_habit(seed=5, weeks=16, tz="UTC")
    begins = moment(START + timedelta(weeks=12))
    moved = [
        pl.when(pl.col("at") >= begins).then(pl.col(c) + timedelta(days=14)).otherwise(c).alias(c)
        for c in ("at", "local")
    ]
    away = Person(person.observations.with_columns(moved), person.truths, person.as_of + timedelta(days=14))
    return away, begins


def test_two_weeks_away_demote_and_expire_nothing() -> None:
    person, begins = back_from_holiday()
    before = {p["id"]: p for p in found(person.observations, begins, status="confirmed")}
    assert {p["type"] for p in before.values()} == {
        "temporal",
        "preference",
        "relationship",
        "workflow",
        "avoidance",
    }
    for days in (3, 7, 13, 15, 16, 18, 21):
        now = {p["id"]: p for p in found(person.observations, begins + timedelta(days=days))}
        for id, pattern in before.items():
            assert now[id]["status"] == "confirmed", (days, pattern["statement"], now[id]["contradictions"])
            assert now[id]["confirmed_at"] < begins.isoformat(), (days, pattern["statement"])


def test_nothing_was_due_in_two_weeks_away() -> None:
    """Until the person is back nobody can tell; then the two weeks count for nothing."""
    person, begins = back_from_holiday()
    before = {p["id"]: p for p in found(person.observations, begins, status="confirmed")}
    after = {p["id"]: p for p in found(person.observations, begins + timedelta(days=14, minutes=1))}
    for id, pattern in before.items():
        counts = [(p["support"], p["opportunities"], p["contradictions"]) for p in (pattern, after[id])]
        assert counts[0] == counts[1], pattern["statement"]


@cache
def export_that_ends() -> pl.DataFrame:
    """Three months of a calendar with a daily habit in it; six months of mail."""
    ends = START + timedelta(weeks=13)

    def write(rng: np.random.Generator, day: date, add: Add) -> None:
        for minute in rng.uniform(480, 1200, rng.poisson(5)):
            add(minute, "email", "sent", {"category": str(rng.choice(["parcel", "garden", "tax"]))})
        if day < ends:
            for minute in rng.uniform(480, 1200, rng.poisson(4)):
                kind = str(rng.choice(["budget", "hiring", "design"]))
                place = (
                    "Loft"
                    if kind == "design" and rng.random() < 0.85
                    else str(rng.choice(["Attic", "Cellar", "Loft"]))
                )
                add(
                    minute,
                    "calendar",
                    "created",
                    {"category": kind, "title": f"{kind} talk", "location": place},
                )
            if rng.random() < 0.95:
                add(420 + rng.normal(0, 3), "calendar", "created", {"title": "Swim"})

    return life(write, every(1, 26 * 7))


ENDS = START + timedelta(weeks=13)


@pytest.mark.parametrize("days", [7, 30, 91])
def test_an_export_that_ends_is_no_avoidance(days: int) -> None:
    patterns = found(export_that_ends(), moment(ENDS + timedelta(days=days)), type="avoidance")
    assert [p["statement"] for p in patterns if p["status"] == "confirmed"] == []


@pytest.mark.parametrize("days", [3, 5, 8])
def test_an_export_that_ends_contradicts_nothing(days: int) -> None:
    """Nothing of the calendar came since, of any kind: that is no three missed swims."""
    before = {p["id"]: p for p in found(export_that_ends(), moment(ENDS), status="confirmed")}
    assert {p["type"] for p in before.values()} >= {"temporal", "preference"}
    after = {p["id"]: p for p in found(export_that_ends(), moment(ENDS + timedelta(days=days)))}
    for id, pattern in before.items():
        counts = [(p["status"], p["opportunities"], p["contradictions"]) for p in (pattern, after[id])]
        assert counts[0] == counts[1], pattern["statement"]


# --- people -----------------------------------------------------------------------------------------------------


def test_two_people_in_one_file_with_the_same_habits_have_the_same_patterns() -> None:
    """Even with the same ids, which need only be unique for each."""
    twin = creature_of_habit(seed=3, weeks=14).observations
    both = concat_observations([twin, twin.with_columns(user_id=pl.lit("zoe"))])
    patterns = evaluate(both)
    ada, zoe = (patterns.filter(user_id=name) for name in ("ada", "zoe"))
    named = ("id", "user_id", "superseded_by")
    assert ada.height >= 6
    by = ["type", "rule", "first_seen"]
    assert ada.drop(named).sort(by).equals(zoe.drop(named).sort(by))
    ids = list(chain(ada.get_column("id"), zoe.get_column("id")))
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        pytest.param((480, 720), [], id="a busy morning"),
        pytest.param((540, 1080), [], id="a working day"),
        pytest.param((420, 430), [425], id="an hour of its own"),
        pytest.param((1110, 1190), [1150], id="an evening hour, loosely"),
    ],
)
def test_of_a_single_source_the_hours_are_no_habit_and_an_hour_is(
    hours: tuple[int, int], said: list[int]
) -> None:
    """Nothing else tells when the person is awake; but what crowds about one hour does not do so by itself."""

    def day(rng: np.random.Generator, today: date, add: Add) -> None:
        for _ in range(1 if hours[1] - hours[0] < 100 else 3):
            add(rng.uniform(*hours), "run", "done", {})

    patterns = found(life(day, every(1, 70)), status="confirmed")
    assert {p["type"] for p in patterns} <= {"temporal"}
    assert [minutes_to_midnight(p["rule"]["time"]) % 1440 for p in patterns] == pytest.approx(said, abs=15)
