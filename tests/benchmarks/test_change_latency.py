"""A change is noticed within the time that is promised, on a few of the exam's people."""

from __future__ import annotations

from statistics import median

import pytest

from tests.benchmarks.change_latency import LONGEST, changes, latencies
from tests.benchmarks.exam import SHARED

pytestmark = pytest.mark.skipif(not (SHARED / "exam").is_dir(), reason="the exam is not beside this project")

NEVER = LONGEST + 1


def test_a_stop_is_noticed_within_two_weeks() -> None:
    measured = latencies([change for change in changes(1, people=4) if change.sort != "daily"])
    left = [NEVER if m.left is None else m.left for m in measured if m.was_confirmed]
    assert len(left) >= 5
    assert median(left) <= 14
    linked = [m.superseded for m in measured if m.superseded is not None]
    assert sum(linked) >= 0.8 * len(linked) > 0


def test_a_daily_habit_is_confirmed_within_three_days_of_its_fifth_occasion() -> None:
    daily = [change for seed in (1, 2, 3) for change in changes(seed) if change.sort == "daily"]
    began = [m for m in latencies(daily) if m.change.new is not None]
    assert len(began) >= 8
    assert median(NEVER if m.after_the_fifth is None else m.after_the_fifth for m in began) <= 3
