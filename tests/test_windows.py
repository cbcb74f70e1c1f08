"""Windows are where events cluster: they match an exhaustive search, and planted ones are found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest

from observations.features import with_features
from observations.ingest.toolkit.record_builder import RecordBuilder
from patterns.detectors.scan_windows import LEAST_GAIN, ROUNDS, WIDTH_CLASSES, Windows, find_windows
from patterns.eventlog.activity_profile import Background, OwnTimes, Rhythm
from patterns.eventlog.log import Log
from patterns.settings import Settings
from tests.simulate import observations, wall

MONDAY = wall("2026-03-02 00:00")
LEAST = 3

Event = tuple[int, int]
"""Day and minute."""


def log_of(people: list[list[Event]]) -> Log:
    """A log of people who do one thing."""
    records = RecordBuilder()
    for user, events in enumerate(people):
        for day, minute in events:
            moment = MONDAY + timedelta(days=day, minutes=minute)
            records.add("run", "done", local=moment, tz="UTC", user_id=f"u{user:03d}", features={})
    frame = observations(records).with_row_index("n")
    return Log.of(
        with_features(frame.with_columns(id=frame.get_column("n").cast(str)).drop("n")), None, Settings()
    )


def found(people: list[list[Event]], busy: Rhythm | None = None) -> Windows:
    """The windows of each person's one subject, which holds all their events."""
    log = log_of(people)
    rhythm = busy or Rhythm.of(log)
    own = OwnTimes.of(log.user, log.minute, len(people))
    order = np.lexsort((log.minute, log.user))
    background = background_of(log, rhythm, own)
    return find_windows(log.user[order], log.weekday[order], log.minute[order], background, LEAST)


def background_of(log: Log, rhythm: Rhythm, own: OwnTimes) -> Background:
    """What else people do, seen from their one subject each."""
    users = np.arange(len(log.users))
    return Background(rhythm, own, users, log.kind[np.searchsorted(log.user, users)])


def as_list(windows: Windows) -> list[tuple[int, float, float]]:
    widths = np.floor(windows.width)  # without what is left of the last minute
    return list(zip(windows.subject.tolist(), windows.low.tolist(), widths.tolist(), strict=True))


def covers(windows: Windows, minutes: list[int], subject: int = 0) -> list[bool]:
    """For each window of the subject, whether it holds all those minutes."""
    return [
        all((m - low) % 1440 <= width for m in minutes) for s, low, width in as_list(windows) if s == subject
    ]


def gain(count: int, expected: float) -> float:
    return count * math.log(count / expected) - (count - expected) if count > expected else 0.0


def by_hand(log: Log, user: int) -> list[tuple[float, float]]:
    """Every window that begins at an event, of every width of a class, tried in turn; all days, and each weekday."""
    mine = np.flatnonzero(log.user == user)
    groups = [mine[log.weekday[mine] == day] for day in range(7)] + [mine]
    windows: list[tuple[float, float]] = []
    for widths in WIDTH_CLASSES:
        left = [sorted(log.minute[group].tolist()) for group in groups]
        for _ in range(ROUNDS):
            for number, times in enumerate(left):
                value, low, width = best_of(log, user, times, widths)
                if value >= LEAST_GAIN:
                    windows.append((low, width))
                    left[number] = [m for m in times if (m - low) % 1440 > width]
                else:
                    left[number] = []
    once: dict[tuple[float, float], tuple[float, float]] = {}
    for low, width in windows:
        once.setdefault((low // 15, (low + width) // 15), (low, width))
    return list(once.values())


def best_of(log: Log, user: int, times: list[float], widths: Sequence[int]) -> tuple[float, float, float]:
    """Gain, low and width of the best window; of equals the first, then the narrowest."""
    rhythm, own = Rhythm.of(log), OwnTimes.of(log.user, log.minute, len(log.users))
    background, one = background_of(log, rhythm, own), np.array([user])
    best = (-math.inf, 0.0, 0.0)
    for start in times:
        for width in widths:
            count = sum((m - start) % 1440 <= width for m in times)
            share = background.share(one, np.array([start]), float(width))[0]
            value = gain(count, len(times) * share) if count >= LEAST else -math.inf
            if value > best[0] + 1e-9:
                best = (value, start, float(width))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_windows_are_those_found_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = []
    for _ in range(4):
        middle = rng.integers(0, 1440, size=3)
        spread = rng.choice([5, 30, 200], size=3)
        which = rng.integers(3, size=40)
        minute = (middle[which] + rng.normal(0, 1, 40) * spread[which]).astype(int) % 1440
        people.append(list(zip(rng.integers(0, 28, 40).tolist(), minute.tolist(), strict=True)))
    windows, log = found(people), log_of(people)
    for user in range(len(people)):
        own = [(low, width) for s, low, width in as_list(windows) if s == user]
        assert sorted(own) == sorted(by_hand(log, user))


def test_a_crowd_at_seven_is_found_narrowly() -> None:
    windows = found([[(day, 415 + day % 11) for day in range(20)]])
    assert any(covers(windows, [415, 425]))
    assert windows.width.min() < 21


def test_a_crowd_about_midnight_is_one_window() -> None:
    late, early = [(day, 1430) for day in range(10)], [(day, 10) for day in range(10)]
    windows = found([late + early])
    assert any(covers(windows, [1430, 10]))


def test_twice_a_day_are_two_windows() -> None:
    windows = found([[(day, minute) for day in range(20) for minute in (480, 1080)]])
    assert any(covers(windows, [480]))
    assert any(covers(windows, [1080]))
    assert not any(covers(windows, [480, 1080]))


def test_tuesdays_at_six_are_not_drowned_by_the_other_days() -> None:
    """Fifteen Tuesdays at 18:00 among two hundred events at any time."""
    rng = np.random.default_rng(4)
    noise = [(int(day), int(minute)) for day, minute in rng.integers((0, 480), (105, 1320), (200, 2))]
    tuesdays = [(7 * week + 1, 1080) for week in range(15)]
    windows = found([noise + tuesdays])
    assert any(covers(windows, [1080]))


def test_events_at_any_time_crowd_seldom_and_a_little() -> None:
    """Spread evenly over the waking day, people's events make few windows, and those hold few events."""
    rng = np.random.default_rng(8)
    people = [
        [(int(day), int(minute)) for day, minute in rng.integers((0, 420), (60, 1380), (100, 2))]
        for _ in range(20)
    ]
    windows = found(people)
    assert len(windows) <= 3 * len(people)
    for subject, low, width in as_list(windows):
        assert sum((minute - low) % 1440 <= width for _, minute in people[subject]) <= 20


def test_fewer_events_than_needed_are_no_window() -> None:
    assert len(found([[(0, 420), (1, 420)]])) == 0
    assert len(found([[(0, 420), (1, 420), (2, 420)]])) >= 1


def test_nothing_has_no_windows() -> None:
    log = log_of([[(0, 420)]])
    nothing = np.empty(0, dtype=np.int64)
    own = OwnTimes.of(nothing, np.empty(0), 1)
    background = Background(Rhythm.of(log), own, np.array([0]), np.array([0]))
    windows = find_windows(nothing, nothing, np.empty(0), background, LEAST)
    assert len(windows) == 0


def test_a_persons_windows_do_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(5)
    people = [
        [
            (int(d), int(m))
            for d, m in zip(rng.integers(0, 40, 50), rng.normal(600, 90, 50) % 1440, strict=True)
        ]
        for _ in range(30)
    ]
    together = as_list(found(people))
    for user in (0, 15, 29):
        alone = [(low, width) for _, low, width in as_list(found([people[user]]))]
        assert [(low, width) for s, low, width in together if s == user] == alone
