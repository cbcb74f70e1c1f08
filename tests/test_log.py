"""The log holds what counts as evidence, on the person's wall clock, sorted by person and time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from observations.errors import SettingError
from observations.features import with_features
from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions
from observations.ingest.toolkit.record_builder import RecordBuilder
from patterns.eventlog.log import ActiveDays, Log, occasions, weekday_of
from patterns.settings import Settings
from tests.naive import DAY, HOUR
from tests.simulate import wall

OPTIONS = ReadOptions(until=datetime(2030, 1, 1, tzinfo=UTC))
DEFAULT = Settings()
MONDAY = wall("2026-03-02 07:00")


def log_of(records: RecordBuilder, as_of: datetime | None = None, settings: Settings = DEFAULT) -> Log:
    return Log.of(with_features(complete(records.take(), OPTIONS)), as_of, settings)


def events(*local: datetime, tz: str = "UTC", user: str = "ada") -> RecordBuilder:
    """One plain event of one person at each of these wall clocks."""
    records = RecordBuilder()
    for moment in local:
        records.add("calendar", "created", local=moment, tz=tz, user_id=user, features={"title": "Swim"})
    return records


def day_number(moment: date) -> int:
    return (moment - date(1970, 1, 1)).days


def test_day_minute_and_weekday_are_the_wall_clocks() -> None:
    """23:30 in Auckland is the next day there, and the morning of it in UTC."""
    log = log_of(events(wall("2026-03-02 23:30:30"), tz="Pacific/Auckland"))
    assert log.day.tolist() == [day_number(date(2026, 3, 2))]
    assert log.minute.tolist() == [23 * 60 + 30.5]
    assert log.weekday.tolist() == [0]
    assert log.frame.get_column("at").item() == datetime(2026, 3, 2, 10, 30, 30, tzinfo=UTC)


def test_seven_o_clock_stays_seven_when_the_clocks_change() -> None:
    days = [wall("2026-03-27 07:00") + timedelta(days=n) for n in range(5)]
    log = log_of(events(*days, tz="Europe/Berlin"))
    assert set(log.minute.tolist()) == {420.0}
    assert np.diff(log.day).tolist() == [1] * 4
    assert (np.diff(log.at) != DAY).sum() == 1  # 29 March 2026 has 23 hours


def test_events_are_sorted_by_person_and_instant() -> None:
    records = events(MONDAY, MONDAY - timedelta(days=1), user="bo")
    for moment in (MONDAY + timedelta(days=2), MONDAY):
        records.add("email", "sent", local=moment, tz="UTC", user_id="ada", features={})
    log = log_of(records)
    assert log.users == ("ada", "bo")
    assert log.user.tolist() == [0, 0, 1, 1]
    assert all(np.diff(log.at[log.user == u]).min() >= 0 for u in (0, 1))


def test_what_an_agent_or_a_machine_did_is_no_evidence() -> None:
    records = events(MONDAY)
    records.add("calendar", "created", local=MONDAY, tz="UTC", user_id="ada", features={}, actor="agent")
    records.add("email", "received", local=MONDAY, tz="UTC", user_id="ada", features={"automatic": True})
    records.add("email", "received", local=MONDAY, tz="UTC", user_id="ada", features={"automatic": False})
    kept = log_of(records).frame
    assert sorted(kept.select("type", "actor").rows()) == [("calendar", "user"), ("email", "user")]
    assert kept.filter(type="email").get_column("automatic:flag").to_list() == [False]


def test_what_is_later_than_as_of_does_not_count_and_what_is_at_it_does() -> None:
    records = events(MONDAY, MONDAY + timedelta(hours=1), MONDAY + timedelta(hours=1, microseconds=1))
    as_of = (MONDAY + timedelta(hours=1)).replace(tzinfo=UTC)
    log = log_of(records, as_of)
    assert len(log) == 2
    assert log.as_of_local.tolist() == [log.at[1]]


def test_as_of_without_a_zone_is_no_moment() -> None:
    with pytest.raises(SettingError, match="as_of needs a zone or an offset; 2026-03-02T07:00:00 has none"):
        log_of(events(MONDAY), MONDAY)


def test_without_as_of_each_person_is_judged_at_their_own_newest() -> None:
    records = events(MONDAY, user="ada")
    records.add("email", "sent", local=MONDAY + timedelta(days=40), tz="UTC", user_id="bo", features={})
    log = log_of(records)
    assert (np.diff(log.as_of_local) / DAY).tolist() == [40.0]


def test_as_of_on_the_wall_clock_takes_the_latest_offset() -> None:
    log = log_of(events(MONDAY, tz="Asia/Tokyo"), MONDAY.replace(tzinfo=UTC))
    shown = wall("1970-01-01 00:00") + timedelta(microseconds=int(log.as_of_local[0]))
    assert shown == MONDAY + timedelta(hours=9)


@pytest.mark.parametrize("tz", ["Europe/Berlin", "Asia/Tokyo"])
def test_as_of_may_be_given_in_any_zone(tz: str) -> None:
    as_of = MONDAY.replace(tzinfo=UTC)
    here = log_of(events(MONDAY), as_of.astimezone(ZoneInfo(tz)))
    assert here.as_of_local.tolist() == log_of(events(MONDAY), as_of).as_of_local.tolist()


@pytest.mark.parametrize("day_starts_at", [0, 5])
def test_what_lasts_all_day_has_its_own_day_and_no_minute(day_starts_at: int) -> None:
    records = RecordBuilder()
    records.add("calendar", "created", local=wall("2026-03-02 00:00"), tz="UTC", features={"all_day": True})
    log = log_of(records, settings=Settings(day_starts_at=day_starts_at))
    assert np.isnan(log.minute).all()
    assert log.day.tolist() == [day_number(date(2026, 3, 2))]


def test_a_night_owls_day_begins_when_it_is_said_to() -> None:
    late = wall("2026-03-03 01:30")
    log = log_of(events(late, wall("2026-03-03 04:00")), settings=Settings(day_starts_at=4))
    assert log.day.tolist() == [day_number(date(2026, 3, 2)), day_number(date(2026, 3, 3))]
    assert log.minute.tolist() == [21.5 * 60, 0.0]
    assert log.weekday.tolist() == [0, 1]


def test_an_empty_log_has_nobody_in_it() -> None:
    log = log_of(events(MONDAY), datetime(2020, 1, 1, tzinfo=UTC))
    assert len(log) == 0
    assert log.users == ()
    assert log.active.count.tolist() == []


def test_features_are_the_feature_columns_only() -> None:
    assert set(log_of(events(MONDAY)).features) == {"kind:text", "title:text"}


# --- active days ----------------------------------------------------------------------------------------------


@hypothesis_settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.integers(-400, 400), min_size=1, max_size=12), min_size=1, max_size=5))
def test_active_days_are_the_distinct_days_of_each_person(people: list[list[int]]) -> None:
    """Days before 1970 are negative, and must not spill into another person."""
    user = np.array([u for u, days in enumerate(people) for _ in days])
    active = ActiveDays.of(user, np.array([d for days in people for d in sorted(days)]), len(people))
    assert active.count.tolist() == [len(set(days)) for days in people]
    for u, days in enumerate(people):
        own = slice(active.start[u], active.start[u + 1])
        assert active.day[own].tolist() == sorted(set(days))
        assert set(active.user[own]) == {u}
        for day in (-401, *days, 0, 401):
            expected = active.start[u] + sum(d < day for d in set(days))
            assert active.position(np.array([u]), np.array([day]))[0] == expected


@hypothesis_settings(deadline=None, max_examples=100)
@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_weekdays_are_the_calendars(day: date) -> None:
    assert weekday_of(np.array([day_number(day)]))[0] == day.weekday()


# --- occasions ------------------------------------------------------------------------------------------------


def test_events_within_an_hour_of_the_one_before_are_one_occasion() -> None:
    minute = 60_000_000
    at = np.array([0, 10 * minute, 69 * minute, 129 * minute, 129 * minute, 0, HOUR])
    group = np.array([0, 0, 0, 0, 0, 1, 1])
    assert occasions(group, at).tolist() == [True, False, False, True, False, True, True]


def test_nothing_has_no_occasions() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert len(occasions(nothing, nothing)) == 0
