"""The activity profile of the null models is the formula of the module, counted one event at a time."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from observations.features import with_features
from observations.ingest.toolkit.record_builder import RecordBuilder
from patterns.eventlog.activity_profile import (
    ANY_TIME,
    BINS,
    PRIOR,
    Background,
    OwnTimes,
    Rhythm,
    weekday_factor,
)
from patterns.eventlog.arrays import Floats, Ints
from patterns.eventlog.log import Log
from patterns.settings import Settings
from tests.simulate import observations, wall

MONDAY = wall("2026-03-02 00:00")

Event = tuple[str, str, int, int]
"""User, type, day, minute."""

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("ada", "bo")),
        st.sampled_from(("calendar", "email")),
        st.integers(0, 9),
        st.one_of(st.integers(0, 1439), st.sampled_from((0, 4, 5, 1435, 1439))),
    ),
    min_size=1,
    max_size=20,
)


def log_of(events: list[Event]) -> Log:
    records = RecordBuilder()
    for user, type, day, minute in events:
        moment = MONDAY + timedelta(days=day, minutes=minute)
        records.add(type, "done", local=moment, tz="UTC", user_id=user, features={})
    frame = observations(records).with_row_index("n")
    frame = frame.with_columns(id=frame.get_column("n").cast(str)).drop("n")
    return Log.of(with_features(frame), None, Settings())


def bins_of(low: float, width: float) -> list[int]:
    """The five-minute bins of a window, widened to an hour about its middle; they may run past midnight."""
    wide = max(width, 60.0)
    first = math.floor((low - (wide - width) / 2) / 5)
    return [(first + n) % BINS for n in range(min(math.ceil(wide / 5), BINS))]


def share_by_hand(log: Log, own: list[int], user: int, type: str, low: float, width: float) -> float:
    """The docstring's formula over all events but the subject's `own`."""
    types = log.frame.get_column("type").to_list()
    others = [n for n in range(len(log)) if log.user[n] == user and n not in own]
    window = bins_of(low, width)

    def inside(events: list[int]) -> int:
        return sum(int(log.minute[n] // 5) in window for n in events)

    wide = max(width, 60.0)
    wider = (inside(others) + PRIOR * min(wide / 960, 1)) / (len(others) + PRIOR)
    same = [n for n in others if types[n] == type]
    share = (inside(same) + PRIOR * wider) / (len(same) + PRIOR)
    any_time = ANY_TIME * min(wide / 960, 1)
    return ((1 - ANY_TIME) * share + any_time) * min(max(width, 5.0) / wide, 1)


@hypothesis_settings(deadline=None, max_examples=30)
@given(EVENTS, st.integers(0, 1439), st.sampled_from((1, 5, 10, 40, 60, 90, 360, 1440)), st.data())
def test_shares_are_the_formula(events: list[Event], low: int, width: int, data: st.DataObject) -> None:
    log = log_of(events)
    rhythm = Rhythm.of(log)
    first = data.draw(st.integers(0, len(log) - 1))
    user, type = int(log.user[first]), log.frame.get_column("type")[first]
    kin = np.flatnonzero(log.kind == log.kind[first]).tolist()
    own = sorted(data.draw(st.sets(st.sampled_from(kin))))
    times = OwnTimes.of(np.zeros(len(own), dtype=np.int64), log.minute[own], 1)
    background = Background(rhythm, times, np.array([user]), log.kind[[first]])
    share = background.share(np.array([0]), np.array([float(low)]), np.array([float(width)]))
    assert share == background.share(np.array([0]), np.array([float(low)]), float(width))
    assert share[0] == pytest.approx(share_by_hand(log, own, user, type, low, width))
    assert 0 < share[0] <= 1


@hypothesis_settings(deadline=None, max_examples=30)
@given(EVENTS)
def test_kinds_are_one_person_and_type(events: list[Event]) -> None:
    log = log_of(events)
    types = log.frame.get_column("type").to_list()
    for a in range(len(log)):
        for b in range(len(log)):
            same = (log.user[a], types[a]) == (log.user[b], types[b])
            assert (log.kind[a] == log.kind[b]) == same


def test_what_is_left_out_is_not_counted() -> None:
    log = log_of([("ada", "calendar", day, 420) for day in range(5)] + [("ada", "calendar", 5, 900)])
    whole, without = Rhythm.of(log), Rhythm.of(log, log.minute == 420)
    assert (whole.of_user[0, BINS], without.of_user[0, BINS]) == (6, 1)
    assert (whole.of_type[0, BINS], without.of_type[0, BINS]) == (6, 1)
    assert without.week_of_user.sum() == without.week_of_type.sum() == 1


def test_what_lasts_all_day_has_no_hour() -> None:
    records = RecordBuilder()
    records.add("calendar", "done", local=MONDAY, tz="UTC", features={"all_day": True})
    rhythm = Rhythm.of(Log.of(with_features(observations(records)), None, Settings()))
    assert rhythm.of_user.sum() == 0


@hypothesis_settings(deadline=None, max_examples=80)
@given(
    st.lists(st.lists(st.floats(0, 1439.99), max_size=8), min_size=1, max_size=4),
    st.integers(0, BINS - 1),
    st.integers(0, BINS),
)
def test_own_times_are_counted_past_midnight(days: list[list[float]], first: int, length: int) -> None:
    subject = np.array([s for s, own in enumerate(days) for _ in own], dtype=np.int64)
    times = OwnTimes.of(subject, np.array([m for own in days for m in own], dtype=np.float64), len(days))
    window = {(first + n) % BINS for n in range(length)}
    for s, own in enumerate(days):
        expected = sum(int(m // 5) in window for m in own)
        assert times.running[s, first + length] - times.running[s, first] == expected
        assert times.total[s] == len(own)


def test_a_busy_monday_is_no_habit_of_mondays() -> None:
    """Where everything happens on Mondays, the factor says so; where nothing is known, every day is alike."""
    monday_heavy = [("ada", "calendar", 7 * (n % 2), 600 + n) for n in range(40)]
    log = log_of([*monday_heavy, *(("ada", "calendar", day, 700) for day in range(1, 7))])
    factor = factor_of(log)
    assert factor[0] > 1.5
    assert factor[1:].max() < 1
    own = np.array([[1, 0, 0, 0, 0, 0, 0]])
    assert factor_of(log_of([("ada", "calendar", 0, 600)]), own).tolist() == [1.0] * 7


def factor_of(log: Log, own: Ints | int = 0) -> Floats:
    """The weekday factor of the one person of a log, without a subject's own events."""
    rhythm = Rhythm.of(log)
    factor = weekday_factor(log.active.by_weekday, rhythm.week_of_user - own, rhythm.week_of_type - own)
    first: Floats = factor[0]
    return first


def test_the_weekday_factor_averages_to_one_over_the_days() -> None:
    rng = np.random.default_rng(1)
    log = log_of([("ada", "calendar", int(d), int(m)) for d, m in rng.integers((0, 0), (60, 1440), (200, 2))])
    days = log.active.by_weekday[0] / log.active.by_weekday.sum()
    factor = factor_of(log)
    assert (factor * days).sum() == pytest.approx(1.0)


def own_of(minutes: list[float]) -> OwnTimes:
    """The times of a log's one subject."""
    return OwnTimes.of(np.zeros(len(minutes), dtype=np.int64), np.array(minutes), 1)


def about(minutes: list[float], low: float, width: float) -> float:
    """The largest share that its shape alone puts into a window."""
    return float(own_of(minutes).about(np.array([0]), np.array([low]), np.array([width]))[0])


@hypothesis_settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 1439), min_size=1, max_size=30), st.integers(0, BINS - 1), st.integers(1, BINS)
)
def test_what_is_usual_about_an_hour_is_told_by_the_hours_about_it(
    minutes: list[int], first: int, length: int
) -> None:
    """Window and neighbours counted bin by bin."""
    wide = min(length, BINS - 2)
    beside = min(wide, (BINS - wide) // 2)

    def inside(begin: int, bins: int) -> int:
        window = {(begin + n) % BINS for n in range(bins)}
        return sum(m // 5 in window for m in minutes)

    busier = max(inside(first - beside, beside), inside(first + wide, beside)) * wide / beside
    expected = (2 * busier + 0.5) / (len(minutes) + 1)
    share = about([float(m) for m in minutes], 5.0 * first, 5.0 * length)
    assert share == pytest.approx(min(expected, 1.0))


def test_a_busy_morning_is_usual_and_a_crowd_about_an_hour_is_not() -> None:
    """Of what comes between eight and noon, a third comes between nine and ten twenty; a crowd comes alone."""
    assert about([480 + 2.5 * n for n in range(96)], 540, 80) > 1 / 3
    assert about([540 + n % 20 for n in range(60)], 540, 20) < 0.01


def shares_at(others: int, low: float, width: float) -> tuple[float, float]:
    """Smoothed and close share of a window, of so many others between ten and eleven, for a subject of ten at noon."""
    minutes = [600 + 60 * (n + 0.5) / others for n in range(others)] + [720.0] * 10
    log = log_of([("ada", "calendar", n % 10, int(m)) for n, m in enumerate(minutes)])
    own = OwnTimes.of(np.zeros(10, dtype=np.int64), np.full(10, 720.0), 1)
    background = Background(Rhythm.of(log), own, np.array([0]), np.array([0]))
    window = np.array([0]), np.array([low]), np.array([width])
    return float(background.share(*window)[0]), float(background.close_share(*window)[0])


def test_a_busy_hour_is_busy_to_its_end_where_others_are_many() -> None:
    """A third of all others come between 10:40 and 11:00; smoothed about it, that looks like less."""
    smoothed, close = shares_at(3000, low=640, width=20)
    assert smoothed < 0.25
    assert close == pytest.approx(1 / 3, abs=0.02)
    few_smoothed, few_close = shares_at(12, low=640, width=20)
    assert few_close == pytest.approx(few_smoothed, rel=0.25)


def test_what_is_left_out_in_part_counts_in_part() -> None:
    log = log_of([("ada", "calendar", day, 420) for day in range(4)] + [("ada", "calendar", 5, 900)])
    rhythm = Rhythm.of(log, np.where(log.minute == 420, 0.75, 0.0))
    assert (rhythm.of_user[0, BINS], rhythm.of_type[0, BINS]) == (2.0, 2.0)
    assert rhythm.week_of_user.sum() == rhythm.week_of_type.sum() == 2.0
