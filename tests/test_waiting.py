"""How late the next occasion of a habit may be."""

from __future__ import annotations

from datetime import date

import numpy as np

from observations.civil_time import MICROSECONDS_PER_DAY as DAY
from observations.features import with_features
from patterns.eventlog.due_times import next_occasion, patience
from patterns.eventlog.log import Log
from patterns.settings import Settings
from tests.simulate import every, regular

HOUR = DAY // 24


def wait(*days: float) -> float:
    """The days that a candidate with occasions on these days is waited for."""
    local = np.array([round(day * DAY) for day in days])
    return float(patience(np.zeros(len(days), dtype=np.int64), local)[0] / DAY)


def test_one_waits_three_times_the_mean_gap() -> None:
    assert wait(0, 7, 14, 21) == 21
    assert wait(0, 2, 14) == 21


def test_one_waits_a_day_at_least() -> None:
    assert wait(5) == 1
    assert wait(0, 0.1, 0.2) == 1


def test_what_comes_within_an_hour_is_one_occasion() -> None:
    assert wait(0, 0.001, 0.002, 7, 7.001) == wait(0, 7)


def test_each_candidate_has_its_own_patience() -> None:
    candidate = np.array([0, 0, 1, 1, 1])
    local = np.array([0, 7, 0, 1, 2]) * DAY
    assert (patience(candidate, local) / DAY).tolist() == [21, 3]


def test_nothing_is_waited_for_where_there_is_nothing() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert patience(nothing, nothing).tolist() == []


def test_in_a_holiday_one_waits_for_the_day_on_which_the_person_is_back() -> None:
    """Two months of work, three weeks away, and work again: due in the middle of the holiday is due after it."""
    before, after = every(1, 60, date(2026, 1, 1)), every(1, 30, date(2026, 3, 23))
    log = Log.of(with_features(regular("Work", [*before, *after])), None, Settings())
    back = (after[0] - date(1970, 1, 1)).days
    last = (before[-1] - date(1970, 1, 1)).days
    local = np.array([last * DAY + 9 * HOUR, (back + 1) * DAY + 9 * HOUR])
    due = next_occasion(log, np.zeros(2, dtype=np.int64), local, np.full(2, 5 * DAY))
    assert due.tolist() == [back * DAY + 9 * HOUR, (back + 6) * DAY + 9 * HOUR]
