"""Every supported kind of habit is found in a busy life, once, and with the right rule."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest
from dateutil.rrule import rrulestr

from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import concat_observations
from patterns.evaluate import evaluate
from tests.simulate import START, nobody_in_particular, observations, wall

WEEKS = 52
END = START + timedelta(weeks=WEEKS)


@cache
def background() -> pl.DataFrame:
    """A year of somebody without habits."""
    return nobody_in_particular(seed=77, weeks=WEEKS, tz="UTC").observations


def dates(rrule: str, start: date = START, end: date = END) -> list[date]:
    """The dates of a recurrence from `start` up to `end`."""
    first, last = (datetime.combine(day, datetime.min.time()) for day in (start, end))
    return [moment.date() for moment in rrulestr(rrule, dtstart=first).between(first, last, inc=True)]


def kept(
    days: list[date], at: str, *, spread: float = 3.0, rate: float = 0.9, seed: int = 5, title: str = "Habit"
) -> pl.DataFrame:
    """Something done on nine in ten of these days, about that time (standard deviation in minutes)."""
    rng, records = np.random.default_rng(seed), RecordBuilder()
    middle = wall(f"2026-01-01 {at}") - wall("2026-01-01 00:00")
    for day in days:
        if rng.random() < rate:
            moment = datetime.combine(day, datetime.min.time()) + middle
            moment += timedelta(minutes=round(float(rng.normal(0, spread))))
            records.add(
                "calendar", "created", local=moment, tz="UTC", user_id="ada", features={"title": title}
            )
    return observations(records)


def found(*parts: pl.DataFrame, as_of: str | None = None) -> list[dict[str, Any]]:
    """The temporal patterns about the planted habit, in the midst of the background."""
    frame = concat_observations([background(), *parts])
    moment = None if as_of is None else datetime.fromisoformat(as_of + "T23:59+00:00")
    patterns = evaluate(frame, moment).filter(
        pl.col("rule").str.contains('"Habit"|"habit"'), pl.col("type") == "temporal"
    )
    return [{**p, "rule": orjson.loads(p["rule"])} for p in patterns.iter_rows(named=True)]


def minutes_from(pattern: dict[str, Any], at: str) -> float:
    return abs(
        (wall(f"2026-01-01 {pattern['rule']['time']}") - wall(f"2026-01-01 {at}")).total_seconds() / 60
    )


@pytest.mark.parametrize(
    "rrule",
    [
        "FREQ=DAILY",
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        "FREQ=WEEKLY;BYDAY=SA,SU",
        "FREQ=WEEKLY;BYDAY=WE",
        "FREQ=WEEKLY;BYDAY=TU,TH",
        "FREQ=WEEKLY;BYDAY=MO,WE,FR,SU",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=SA",
        "FREQ=WEEKLY;INTERVAL=4;BYDAY=MO",
        "FREQ=MONTHLY;BYMONTHDAY=1",
        "FREQ=MONTHLY;BYMONTHDAY=15",
        "FREQ=MONTHLY;BYMONTHDAY=-1",
        "FREQ=MONTHLY;BYDAY=1MO",
        "FREQ=MONTHLY;BYDAY=3TH",
        "FREQ=MONTHLY;BYDAY=-1FR",
    ],
)
def test_every_kind_of_recurrence_is_found_and_said_once(rrule: str) -> None:
    days = dates(rrule)
    (pattern,) = found(kept(days, "07:30", rate=0.95))
    assert pattern["status"] == "confirmed"
    assert pattern["rule"]["rrule"] == rrule
    assert minutes_from(pattern, "07:30") <= 5
    assert pattern["rule"]["tolerance_minutes"] <= 20
    if "INTERVAL" in rrule:
        assert date.fromisoformat(pattern["rule"]["dtstart"]) in days


@pytest.mark.parametrize("at", ["00:10", "03:40", "12:00", "23:50"])
def test_any_hour_will_do(at: str) -> None:
    (pattern,) = found(kept(dates("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"), at))
    assert (pattern["status"], pattern["rule"]["rrule"]) == ("confirmed", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR")
    assert minutes_from(pattern, at) <= 5


@pytest.mark.parametrize(
    ("spread", "least", "most"), [(0.0, 10, 10), (4.0, 10, 25), (20.0, 30, 90), (60.0, 90, 240)]
)
def test_the_tolerance_comes_from_the_data(spread: float, least: int, most: int) -> None:
    (pattern,) = found(kept(dates("FREQ=DAILY"), "18:00", spread=spread))
    assert pattern["status"] == "confirmed"
    assert least <= pattern["rule"]["tolerance_minutes"] <= most
    assert minutes_from(pattern, "18:00") <= max(10, spread)


def test_several_times_a_day_are_one_pattern_each() -> None:
    every_day = dates("FREQ=DAILY")
    patterns = found(kept(every_day, "08:00"), kept(every_day, "20:00", seed=6))
    assert sorted(p["rule"]["time"] for p in patterns) == ["08:00", "20:00"]
    assert {p["status"] for p in patterns} == {"confirmed"}
    assert len({p["id"] for p in patterns}) == 2


def test_weekdays_early_and_weekends_late_are_two_patterns() -> None:
    patterns = found(
        kept(dates("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"), "06:30"),
        kept(dates("FREQ=WEEKLY;BYDAY=SA,SU"), "09:30", seed=6),
    )
    assert sorted((p["rule"]["rrule"], p["rule"]["time"]) for p in patterns) == [
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "06:30"),
        ("FREQ=WEEKLY;BYDAY=SA,SU", "09:30"),
    ]


def test_a_habit_that_began_lately_is_not_diluted_by_the_months_before() -> None:
    began = END - timedelta(weeks=6)
    (pattern,) = found(kept(dates("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", began), "07:30"))
    assert pattern["status"] == "confirmed"
    assert pattern["first_seen"][:10] >= began.isoformat()
    assert pattern["components"]["consistency"] > 0.8


def test_a_habit_that_stopped_is_expired_and_says_when() -> None:
    stopped = START + timedelta(weeks=20)
    (pattern,) = found(kept(dates("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", end=stopped), "07:30"))
    assert pattern["status"] == "expired"
    assert stopped.isoformat() < pattern["expired_at"] < (stopped + timedelta(days=30)).isoformat()
    assert pattern["superseded_by"] is None


def test_a_habit_that_moved_is_superseded_by_the_new_one() -> None:
    moved = START + timedelta(weeks=30)
    workdays = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    old, new = kept(dates(workdays, end=moved), "07:30"), kept(dates(workdays, moved), "18:15", seed=6)
    patterns = {p["rule"]["time"]: p for p in found(old, new)}
    assert set(patterns) == {"07:30", "18:15"}
    assert (patterns["07:30"]["status"], patterns["18:15"]["status"]) == ("expired", "confirmed")
    assert patterns["07:30"]["superseded_by"] == patterns["18:15"]["id"]
    assert patterns["18:15"]["superseded_by"] is None


def test_a_habit_that_returned_is_confirmed_again_under_its_old_name() -> None:
    workdays = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    first = kept(dates(workdays, end=START + timedelta(weeks=15)), "07:30")
    again = kept(dates(workdays, START + timedelta(weeks=35)), "07:30", seed=6)
    patterns = found(first, again)
    confirmed = [p for p in patterns if p["status"] == "confirmed"]
    assert len(confirmed) == 1
    assert confirmed[0]["rule"]["rrule"] == workdays
    assert confirmed[0]["first_seen"] > (START + timedelta(weeks=34)).isoformat()
