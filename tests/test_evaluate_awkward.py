"""Unusual logs never raise an error and give no false pattern."""

from __future__ import annotations

import math
from datetime import datetime, time, timedelta

import numpy as np
import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from observations.errors import SchemaError, SettingError
from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from patterns.evaluate import evaluate
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from tests.simulate import every, observations, regular, wall

START = wall("2026-01-05 00:00")
TEXTS = st.sampled_from(("a", "b", "", " ", "Ü", '"', "\n", "x" * 300, "0"))
VALUES: st.SearchStrategy[Value] = st.one_of(
    TEXTS,
    st.booleans(),
    st.sampled_from((0.0, -1.0, 30.0, 1e300, math.inf, -math.inf, math.nan)),
    st.lists(TEXTS, max_size=3),
)
NAMES = (
    "title",
    "category",
    "duration_minutes",
    "location",
    "to",
    "participants",
    "series",
    "all_day",
    "odd name",
)
MOMENTS = st.one_of(
    st.integers(0, 60 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes)),
    st.integers(0, 70).map(lambda days: START + timedelta(days=days, hours=7)),
    st.datetimes(wall("1902-01-01"), wall("2200-01-01")),
)
EVENTS = st.lists(
    st.tuples(
        MOMENTS,
        st.sampled_from(("calendar", "email", "command", "", "kind")),
        st.sampled_from(("sent", "created", "", "type")),
        st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
        st.sampled_from(("ada", "bo", "")),
    ),
    max_size=30,
)


@hypothesis_settings(deadline=None, max_examples=25)
@given(EVENTS, st.sampled_from((0, 5)), st.booleans())
def test_any_frame_has_an_answer(
    events: list[tuple[datetime, str, str, dict[str, Value], str]], day_starts_at: int, many: bool
) -> None:
    records = RecordBuilder()
    for moment, type, action, features, user in events * (4 if many else 1):
        own = {n: v for n, v in features.items() if n != "all_day" or isinstance(v, bool)}
        records.add(type, action, local=moment, tz="Europe/Berlin", features=own, user_id=user)
    frame = observations(records) if events else regular("x", []).clear()
    found = evaluate(frame, settings=Settings(day_starts_at=day_starts_at, confirmation_count=3))
    assert dict(found.schema) == dict(PATTERNS)
    assert found.get_column("id").is_unique().all()
    assert all(orjson.loads(rule) for rule in found.get_column("rule"))
    assert found.get_column("confidence").is_between(0, 1).all()


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_handful_of_events_is_no_error(count: int) -> None:
    assert evaluate(regular("Gym", every(1, count))).height <= 1


def test_a_thousand_events_in_one_second_are_one_occasion() -> None:
    frame = regular("Import", every(0, 1000)).with_row_index("n")
    frame = frame.with_columns(id=pl.col("n").cast(pl.String)).drop("n")
    assert evaluate(frame).filter(status="confirmed").height == 0


def test_only_things_of_the_whole_day_are_no_habit_of_an_hour() -> None:
    frame = regular("Holiday", every(1, 30), "00:00").with_columns(pl.lit(True).alias("all_day:flag"))
    assert evaluate(frame).filter(type="temporal").height == 0


def test_a_broken_frame_is_a_clear_error() -> None:
    frame = regular("Gym", every(1, 5))
    with pytest.raises(SchemaError, match="needs the column 'local'"):
        evaluate(frame.drop("local"))
    with pytest.raises(SchemaError, match="'at' must be"):
        evaluate(frame.with_columns(pl.col("at").dt.replace_time_zone(None)))
    with pytest.raises(SchemaError, match="is not a feature column"):
        evaluate(frame.with_columns(pl.lit(1).alias("minutes")))
    with pytest.raises(SettingError, match="as_of needs a zone"):
        evaluate(frame, wall("2026-03-01 00:00"))


def test_a_day_with_something_all_day_is_not_avoided() -> None:
    rng, records = np.random.default_rng(1), RecordBuilder()
    for day in every(1, 140):
        midnight = datetime.combine(day, time())
        records.add("command", "ran", local=midnight + timedelta(hours=20), tz="UTC", features={})
        if day.weekday() == 5:
            trip: dict[str, Value | None] = {"title": "Trip", "all_day": True}
            records.add("calendar", "created", local=midnight, tz="UTC", features=trip)
            continue
        for minute in rng.uniform(480, 1200, 3):
            records.add(
                "calendar", "created", local=midnight + timedelta(minutes=minute), tz="UTC", features={}
            )
    found = evaluate(observations(records)).filter(type="avoidance", status="confirmed")
    assert "No events on Saturdays" not in found.get_column("statement").to_list()


def test_everybody_in_turn_is_nobody_in_particular() -> None:
    """People who meet by rotation: of their company many values are counted, and none is worth a candidate."""
    records = RecordBuilder()
    for number in range(100):
        moment = wall("2026-01-05 00:00") + timedelta(hours=7 * number)
        people = [f"p{number % 30}", f"q{7 * number % 30}"]
        records.add("calendar", "created", local=moment, tz="UTC", features={"participants": people})
    found = evaluate(observations(records))
    assert "preference" not in found.get_column("type").to_list()
