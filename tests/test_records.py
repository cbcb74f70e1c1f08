"""Records added one by one to a `RecordBuilder` come back as the expected frame."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from observations.ingest.toolkit.complete import complete
from observations.ingest.toolkit.reader import ReadOptions
from observations.ingest.toolkit.record_builder import RecordBuilder
from observations.schema import check_observations

AT = datetime(2026, 3, 2, 8, 30, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    "lists",
    [
        [["a", "b"], [], ["c"]],
        [[""], ["", ""], [], ["a", ""]],
        [["a\x1fb"], ["c"], []],
        [("a",), ["b"], ()],
    ],
)
def test_lists_come_back_as_they_went_in(lists: list[list[str]]) -> None:
    """Empty ones, empty texts and texts with the separator that they travel with included."""
    records = RecordBuilder()
    for values in lists:
        records.add("email", "sent", at=AT, tz="UTC", features={"to": values})
    frame = check_observations(records.take())
    assert frame["to:list"].to_list() == [list(values) for values in lists]


def test_a_feature_that_some_records_lack_is_null_there() -> None:
    records = RecordBuilder()
    for features in ({"b": "x"}, {"a": 1}, {"a": 2.5, "b": True}, {}):
        records.add("log", "did", at=AT, tz="UTC", features=features)
    frame = check_observations(records.take())
    assert frame["a:number"].to_list() == [None, 1.0, 2.5, None]
    assert frame["b:text"].to_list() == ["x", None, None, None]
    assert frame["b:flag"].to_list() == [None, None, True, None]


def test_instants_keep_their_microseconds_whatever_their_zone() -> None:
    records = RecordBuilder()
    records.add(
        "log", "did", at=AT.astimezone(timezone(timedelta(hours=5, minutes=30))), tz="UTC", features={}
    )
    records.add("log", "did", at=datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC), tz="UTC", features={})
    assert records.take()["at"].to_list() == [AT, datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)]


@pytest.mark.parametrize("ids", [["x", None, "y", None], [None, "x"], ["x", None], [None, None]])
def test_ids_are_derived_where_they_are_absent_and_only_there(ids: list[str | None]) -> None:
    records = RecordBuilder()
    for id in ids:
        records.add("log", "did", at=AT, tz="UTC", id=id, features={})
    completed = complete(records.take(), ReadOptions(until=AT))
    assert [given or "" for given in ids] == [id if id in ("x", "y") else "" for id in completed["id"]]
    assert completed["id"].null_count() == 0


def test_the_gatherer_is_empty_after_it_was_taken_from() -> None:
    records = RecordBuilder()
    records.add("log", "did", at=AT, tz="UTC", features={"a": 1})
    assert records.take().height == 1
    assert records.take().equals(pl.DataFrame(schema=records.take().schema))
