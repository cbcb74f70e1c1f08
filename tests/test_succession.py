"""Succession: a pattern is replaced by one of the same subject in another form at about the time it ended."""

from __future__ import annotations

from typing import Any

import orjson
import polars as pl
import pytest

from patterns.inference.successors import with_successors
from patterns.pattern_frame import PATTERNS

GYM = {"type": "calendar", "title": "Gym"}
EARLY = {"where": GYM, "rrule": "FREQ=DAILY", "time": "07:00", "tolerance_minutes": 10}
LATE = {**EARLY, "time": "18:00"}
ENDED, BEGAN = ("2026-01-01", "2026-03-01"), ("2026-03-05", "2026-05-01")


def pattern(
    id: str,
    status: str,
    seen: tuple[str, str],
    rule: dict[str, Any] = EARLY,
    *,
    type: str = "temporal",
    user: str = "ada",
    support: int = 20,
) -> dict[str, Any]:
    first, last = (f"{day}T07:00:00+01:00" for day in seen)
    return {
        "id": id,
        "user_id": user,
        "type": type,
        "rule": orjson.dumps(rule).decode(),
        "status": status,
        "support": support,
        "first_seen": first,
        "last_seen": last,
    }


def successors(*patterns: dict[str, Any]) -> dict[str, str]:
    """Which pattern is superseded by which, by id."""
    blank = dict.fromkeys(PATTERNS)
    frame = pl.DataFrame([{**blank, **p} for p in patterns], schema=dict(PATTERNS))
    linked = with_successors(frame)
    assert linked.get_column("id").to_list() == [p["id"] for p in patterns]
    assert dict(linked.schema) == dict(PATTERNS)
    pairs = linked.select("id", "superseded_by").drop_nulls().rows()
    return dict(pairs)


def test_what_moved_is_linked() -> None:
    assert successors(pattern("old", "expired", ENDED), pattern("new", "confirmed", BEGAN, LATE)) == {
        "old": "new"
    }


def test_what_fades_is_linked_before_it_has_expired() -> None:
    assert successors(pattern("old", "tracking", ENDED), pattern("new", "confirmed", BEGAN, LATE)) == {
        "old": "new"
    }


@pytest.mark.parametrize(
    "other",
    [
        pattern("new", "tracking", BEGAN, LATE),
        pattern("new", "confirmed", BEGAN, LATE, user="bo"),
        pattern("new", "confirmed", BEGAN, {**LATE, "where": {"type": "calendar", "title": "Choir"}}),
        pattern("new", "confirmed", ("2026-05-01", "2026-06-01"), LATE),
        pattern("new", "confirmed", ("2025-06-01", "2026-06-01"), LATE),
    ],
    ids=["not confirmed", "another person", "another thing", "long after", "long before"],
)
def test_what_is_no_successor(other: dict[str, Any]) -> None:
    assert successors(pattern("old", "expired", ENDED), other) == {}


def test_what_still_holds_is_not_superseded() -> None:
    assert successors(pattern("old", "confirmed", ENDED), pattern("new", "confirmed", BEGAN, LATE)) == {}


def test_of_several_the_best_supported_is_the_successor() -> None:
    few, many = pattern("few", "confirmed", BEGAN, LATE, support=9), pattern("many", "confirmed", BEGAN, LATE)
    assert successors(pattern("old", "expired", ENDED), few, many) == {"old": "many"}


def test_a_preference_is_superseded_by_one_of_the_same_feature_only() -> None:
    room = {"where": GYM, "feature": "location", "value": "Attic"}
    old = pattern("old", "expired", ENDED, room, type="preference")
    same = pattern("same", "confirmed", BEGAN, {**room, "value": "Loft"}, type="preference")
    other = {"where": GYM, "feature": "duration_minutes", "value": 30.0}
    assert successors(old, same) == {"old": "same"}
    assert successors(old, pattern("other", "confirmed", BEGAN, other, type="preference")) == {}


def test_a_workflow_is_not_superseded_by_another_about_other_things() -> None:
    def steps(first: str, second: str) -> dict[str, Any]:
        return {
            "steps": [{"type": "command", "program": first}, {"type": "command", "program": second}],
            "within_minutes": 10,
        }

    old = pattern("old", "expired", ENDED, steps("fetch", "build"), type="workflow")
    new = pattern("new", "confirmed", BEGAN, steps("edit", "spell"), type="workflow")
    assert successors(old, new) == {}


def test_a_habit_is_not_superseded_by_an_avoidance_of_the_same_thing() -> None:
    """To keep away on Fridays is no new time for what was done at seven."""
    never = {"where": GYM, "days": ["friday"], "from": "00:00", "to": "24:00"}
    old, new = pattern("old", "expired", ENDED), pattern("new", "confirmed", BEGAN, never, type="avoidance")
    assert successors(old, new) == {}


def test_a_lone_pattern_stays_as_it_is() -> None:
    assert successors(pattern("old", "expired", ENDED)) == {}
    assert successors() == {}


def test_a_workflow_that_ends_otherwise_is_superseded() -> None:
    def steps(last: str) -> dict[str, Any]:
        return {"steps": [{"type": "email"}, {"type": "command", "program": last}], "within_minutes": 10}

    old = pattern("old", "expired", ENDED, steps("make"), type="workflow")
    assert successors(old, pattern("new", "confirmed", BEGAN, steps("ninja"), type="workflow")) == {
        "old": "new"
    }
