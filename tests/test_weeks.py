"""The weekly grid of a subject: the expected events of each weekday, by the person's other activity."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from observations.features import with_features
from observations.ingest.toolkit.record_builder import RecordBuilder
from patterns.detectors.weekly_grid import Weeks
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import find_subjects
from patterns.settings import Settings
from tests.simulate import observations, wall

MONDAY = wall("2026-03-02 00:00")


def weeks_of(events: list[tuple[int, int]]) -> Weeks:
    """The weeks of the one subject of one person: events by day and minute."""
    records = RecordBuilder()
    for day, minute in events:
        records.add("run", "done", local=MONDAY + timedelta(days=day, minutes=minute), tz="UTC", features={})
    frame = observations(records).with_row_index("n")
    frame = frame.with_columns(id=frame.get_column("n").cast(str)).drop("n")
    log = Log.of(with_features(frame), None, Settings())
    subjects = find_subjects(log, least=5)
    assert len(subjects) == 1
    return Weeks.of(log, subjects, np.zeros(len(log), dtype=np.bool_))


def test_a_persons_own_bursts_are_nothing_else_that_they_do() -> None:
    """Everything is one subject: bursts on Mondays do not make Mondays busier than they are."""
    bursts = [(7 * week, 600 + n) for week in range(6) for n in range(9)]
    plain = [(7 * week + day, 600) for week in range(6) for day in range(1, 7)]
    assert weeks_of(bursts + plain).share[0].tolist() == pytest.approx([1 / 7] * 7)


def test_beside_a_slot_the_other_hours_of_the_day_tell_what_to_expect() -> None:
    """On Sundays half as much comes in the evening as on other days, so half as much is expected in the morning."""
    evenings = [(day, 1080 + 60 * n) for day in range(70) for n in range(1 if day % 7 == 6 else 2)]
    mornings = [(day, 540) for day in range(70) if day % 7 != 6]
    weeks = weeks_of(evenings + mornings)
    assert weeks.is_most.tolist() == [True]
    before_noon = (np.arange(24) < 12).astype(np.float64)[None, :]
    share = weeks.share_beside(before_noon)[0]
    assert share.sum() == pytest.approx(1.0)
    assert 0.5 <= share[6] / share[0] < 0.7  # a prior of alike days draws it towards one
    assert weeks.share[0].tolist() == pytest.approx([1 / 7] * 7)
