"""Subjects are exactly the sets of events that some `where` describes, each once, by its most specific `where`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from observations.features import with_features
from observations.ingest.toolkit.record_builder import RecordBuilder, Value
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects, Where, find_subjects
from patterns.settings import Settings
from tests import naive
from tests.simulate import observations, wall

MONDAY = wall("2026-03-02 07:00")

Event = tuple[str, str, str, dict[str, Value]]
"""User, type, action, features."""

WORDS: dict[str, Value] = {"a": ["a"], "b": ["b", "a", "b"], "c": []}
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("ada", "bo")),
        st.sampled_from(("calendar", "email", "type")),  # a type may be called like a column
        st.sampled_from(("created", "sent")),
        st.dictionaries(
            st.sampled_from(("category", "title", "mood", "thread", "labels")),
            st.sampled_from("abc"),
            max_size=4,
        ).map(lambda features: {n: WORDS[v] if n == "labels" else v for n, v in features.items()}),
    ),
    min_size=1,
    max_size=24,
)
NAMES = ("category", "title", "subject", "command", "subcommand", "program", "app", "label", "kind")
SHARED = ("category", "title", "mood", "kind", "labels")  # who, which one and threads are no subjects


def log_of(events: list[Event]) -> Log:
    records = RecordBuilder()
    for number, (user, type, action, features) in enumerate(events):
        moment = MONDAY + timedelta(hours=number)
        records.add(
            type, action, local=moment, tz="UTC", user_id=user, id=f"e{number:03d}", features=features
        )
    return Log.of(with_features(observations(records)), None, Settings())


def as_events(log: Log) -> list[dict[str, object]]:
    """The events of the log with their features by name."""
    return [
        {name.rpartition(":")[0] or name: value for name, value in row.items() if value is not None}
        for row in log.frame.iter_rows(named=True)
    ]


def members(subjects: Subjects) -> list[list[int]]:
    return [
        subjects.event[a:b].tolist() for a, b in zip(subjects.start[:-1], subjects.start[1:], strict=True)
    ]


def describe(log: Log, least: int) -> dict[tuple[str, frozenset[str]], Where]:
    """What was found: user and ids of the events → the where that was chosen for them."""
    subjects = find_subjects(log, least)
    ids = log.frame.get_column("id").to_list()
    wheres = subjects.where(np.arange(len(subjects)))
    return {
        (log.users[user], frozenset(ids[e] for e in own)): where
        for user, own, where in zip(subjects.user.tolist(), members(subjects), wheres, strict=True)
    }


def lattice(events: list[dict[str, object]]) -> Iterator[Where]:
    """Every where of the lattice that some event fits, with repetitions."""
    for event in events:
        base = {"type": str(event["type"])}
        for start in (base, {**base, "action": str(event["action"])}):
            yield start
            for name in SHARED:
                value = event.get(name, [])
                yield from ({**start, name: v} for v in (value if isinstance(value, list) else [str(value)]))


@hypothesis_settings(deadline=None, max_examples=40)
@given(EVENTS, st.integers(1, 4))
def test_subjects_are_the_sets_of_the_lattice_each_once(events: list[Event], least: int) -> None:
    log = log_of(events)
    found = describe(log, least)
    expected: dict[tuple[str, frozenset[str]], list[Where]] = defaultdict(list)
    rows = as_events(log)
    for user in log.users:
        own = [row for row in rows if row["user_id"] == user]
        for where in lattice(own):
            ids = frozenset(str(row["id"]) for row in own if naive.matches(row, where))
            if len(ids) >= least:
                expected[user, ids].append(where)
    assert set(found) == set(expected)
    for key, where in found.items():
        assert where in expected[key]
        assert how_telling(where) == min(map(how_telling, expected[key]))


def how_telling(where: Where) -> int:
    """The place of a where among those for the same events: a name, what is done, the type, anything else."""
    feature = next((name for name in where if name not in ("type", "action")), None)
    if feature is None:
        return 1 if "action" in where else 2
    if "action" in where:
        return 4
    return 0 if feature in NAMES else 3


@hypothesis_settings(deadline=None, max_examples=25)
@given(EVENTS)
def test_events_of_a_subject_ascend_and_are_its_owners(events: list[Event]) -> None:
    log = log_of(events)
    subjects = find_subjects(log, 1)
    assert subjects.size.sum() == len(subjects.event) == len(subjects.owner)
    for number, own in enumerate(members(subjects)):
        assert own == sorted(set(own))
        assert set(log.user[own].tolist()) == {subjects.user[number]}
        assert len(own) == subjects.size[number]


@hypothesis_settings(deadline=None, max_examples=25)
@given(EVENTS, st.integers(1, 3))
def test_leaving_a_person_out_changes_nothing_for_the_other(events: list[Event], least: int) -> None:
    both = describe(log_of(events), least)
    for user in ("ada", "bo"):
        # The ids stay those of the whole log: what is compared is which events, not how they are counted.
        alone = [(*event[:3], event[3]) for event in events if event[0] == user]
        names = [f"e{n:03d}" for n, event in enumerate(events) if event[0] == user]
        if not alone:
            continue
        found = {
            frozenset(names[int(i[1:])] for i in ids): where
            for (_, ids), where in describe(log_of(alone), least).items()
        }
        assert found == {ids: where for (owner, ids), where in both.items() if owner == user}


@pytest.mark.parametrize(
    ("features", "where"),
    [
        ({"labels": ["urgent", "later"], "kind": "run"}, {"type": "x", "kind": "run"}),
        ({"category": "run", "title": "Run", "mood": "good"}, {"type": "x", "category": "run"}),
        ({"title": "Run", "mood": "good"}, {"type": "x", "title": "Run"}),
        ({"mood": "good"}, {"type": "x", "mood": "good"}),
        ({"kind": "run", "mood": "good"}, {"type": "x", "kind": "run"}),
        ({"subcommand": "git pull", "program": "git"}, {"type": "x", "subcommand": "git pull"}),
    ],
)
def test_equal_sets_are_said_in_the_most_telling_way(features: dict[str, Value], where: Where) -> None:
    other: Event = ("ada", "x", "done", {})
    found = describe(log_of([("ada", "x", "done", features)] * 3 + [other] * 3), 3)
    ids = frozenset(f"e00{n}" for n in range(3))
    assert found["ada", ids] == where


def test_a_name_says_more_than_the_type_and_what_is_done_more_than_the_rest() -> None:
    assert list(describe(log_of([("ada", "x", "done", {"category": "c"})] * 4), 3).values()) == [
        {"type": "x", "category": "c"}
    ]
    assert list(describe(log_of([("ada", "x", "done", {"mood": "good"})] * 4), 3).values()) == [
        {"type": "x", "action": "done"}
    ]


def test_who_and_which_one_are_no_subjects() -> None:
    names = ("participants", "from", "organizer", "series", "thread", "message_id", "status", "response")
    events: list[Event] = [("ada", "x", "done", dict.fromkeys(names, "same"))] * 4
    events += [("ada", "x", "done", {})] * 4
    assert list(describe(log_of(events), 3).values()) == [{"type": "x", "action": "done"}]


def test_too_few_events_are_no_subject() -> None:
    assert describe(log_of([("ada", "x", "done", {})] * 2), 3) == {}
    assert len(describe(log_of([("ada", "x", "done", {})] * 3), 3)) == 1


def test_where_of_some_subjects_comes_in_the_order_asked() -> None:
    log = log_of([("ada", "x", "done", {"title": title}) for title in "abab"])
    subjects = find_subjects(log, 2)
    every = subjects.where(np.arange(len(subjects)))
    assert subjects.where(np.array([2, 0])) == [every[2], every[0]]
    assert subjects.where(np.empty(0, dtype=np.int64)) == []


def test_a_log_without_events_has_no_subjects() -> None:
    records = RecordBuilder()
    records.add("x", "done", local=MONDAY, tz="UTC", features={"title": "a"})
    early = datetime(2000, 1, 1, tzinfo=UTC)
    log = Log.of(with_features(observations(records)), early, Settings())
    subjects = find_subjects(log, 1)
    assert len(subjects) == 0
    assert subjects.size.tolist() == subjects.owner.tolist() == []
