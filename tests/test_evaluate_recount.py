"""Every pattern's support and opportunities can be recounted from the events, as the contract defines."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import cache
from typing import Any

import orjson
import pytest

from patterns.evaluate import evaluate
from patterns.registry import DETECTORS, PATTERN_TYPES
from tests.recount import as_events, recount
from tests.simulate import creature_of_habit, nobody_in_particular, somebody_untidy

PEOPLE = {
    "habits": creature_of_habit(31, weeks=12, tz="UTC"),
    "habits in Sydney": creature_of_habit(33, weeks=12, tz="Australia/Sydney"),
    "no habits": nobody_in_particular(34, weeks=12),
    **{f"untidy {seed}": somebody_untidy(seed) for seed in (1, 2, 3, 4)},
}


def wall_clock(timestamp: str) -> datetime:
    return datetime.fromisoformat(timestamp).replace(tzinfo=None)


@cache
def counted_again(name: str) -> list[tuple[dict[str, Any], tuple[int, int]]]:
    """Each pattern with its recount; one that expired is counted until it did."""
    events = as_events(PEOPLE[name].observations)
    found = []
    for pattern in evaluate(PEOPLE[name].observations).iter_rows(named=True):
        end = wall_clock(pattern["expired_at"]) if pattern["expired_at"] else events[-1]["local"]
        first = wall_clock(pattern["first_seen"])
        found.append((pattern, recount(orjson.loads(pattern["rule"]), events, first, end)))
    return found


@pytest.mark.parametrize("name", PEOPLE)
def test_support_and_opportunities_are_counted_again(name: str) -> None:
    wrong = [
        (pattern["statement"], pattern["rule"], (pattern["support"], pattern["opportunities"]), counts)
        for pattern, counts in counted_again(name)
        if counts != (pattern["support"], pattern["opportunities"])
    ]
    assert wrong == []


def test_the_recount_saw_every_type_that_is_found() -> None:
    seen = Counter(pattern["type"] for name in PEOPLE for pattern, _ in counted_again(name))
    assert set(seen) == {detector.type for detector in DETECTORS} <= set(PATTERN_TYPES)
    assert min(seen.values()) >= 10, seen
