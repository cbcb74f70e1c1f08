"""Times as logs write them."""

# ruff: noqa: DTZ001  wall clocks have no zone

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.tabular import timestamps
from observations.ingest.tabular.timestamp_formats import date_orders, epoch_instant, parse_timestamp
from observations.ingest.tabular.timestamps import TIMES, parse_timestamps


@pytest.mark.parametrize(
    ("text", "instant", "wall"),
    [
        ("2026-03-02T09:30:00+01:00", "2026-03-02T08:30:00+00:00", "2026-03-02T09:30:00"),
        ("2026-03-02t09:30:00-0530", "2026-03-02T15:00:00+00:00", "2026-03-02T09:30:00"),
        ("2026-03-02 09:30:00.25 +0100", "2026-03-02T08:30:00.250000+00:00", "2026-03-02T09:30:00.250000"),
        ("2026-03-02T09:30+01", "2026-03-02T08:30:00+00:00", "2026-03-02T09:30:00"),
        ("Mon, 02 Mar 2026 09:30:00 +0100", "2026-03-02T08:30:00+00:00", "2026-03-02T09:30:00"),
        ("2026-03-02T09:30:00Z", "2026-03-02T09:30:00+00:00", None),
        ("2026-03-02T09:30:00-00:00", "2026-03-02T09:30:00+00:00", None),
        ("2026-03-02 09:30:00 UTC", "2026-03-02T09:30:00+00:00", None),
        ("1772443800", "2026-03-02T09:30:00+00:00", None),
        ("1772443800.5", "2026-03-02T09:30:00.500000+00:00", None),
        ("1772443800123", "2026-03-02T09:30:00.123000+00:00", None),
        ("1772443800123456", "2026-03-02T09:30:00.123456+00:00", None),
        ("1772443800123456789", "2026-03-02T09:30:00.123457+00:00", None),
        ("2026-03-02T09:30", None, "2026-03-02T09:30:00"),
        (" 2026-03-02 09:30:00 ", None, "2026-03-02T09:30:00"),
        ("2026-3-2T9:30:0-05:30", "2026-03-02T15:00:00+00:00", "2026-03-02T09:30:00"),
        ("20260302T093000", None, "2026-03-02T09:30:00"),
        ("20260302093000", None, "2026-03-02T09:30:00"),
        ("2026/3/2 9:30", None, "2026-03-02T09:30:00"),
        ("2.3.2026 9:30", None, "2026-03-02T09:30:00"),
        ("31/3/2026 9:30 PM", None, "2026-03-31T21:30:00"),
        ("3/31/26, 12:05 a.m.", None, "2026-03-31T00:05:00"),
        ("3/31/2026 12:05:06 PM", None, "2026-03-31T12:05:06"),
        ("2 Mar 2026 09:30", None, "2026-03-02T09:30:00"),
        ("March 2nd, 2026 at 9:30 AM", None, "2026-03-02T09:30:00"),
    ],
)
def test_a_time_is_read_as_what_it_says(text: str, instant: str | None, wall: str | None) -> None:
    """Instant, wall clock or both; never more than the text says."""
    moment = parse_timestamp(text)
    assert moment.problem is None
    assert (
        moment.at.isoformat() if moment.at else None,
        moment.wall.isoformat() if moment.wall else None,
    ) == (
        instant,
        wall,
    )


@pytest.mark.parametrize("text", ["2026-03-02", "20260302", "2.3.2026", "Mar 2, 2026"])
def test_a_date_alone_is_a_day_not_midnight(text: str) -> None:
    """Only the date is known, and that is said."""
    moment = parse_timestamp(text)
    assert (moment.wall, moment.date_only) == (datetime(2026, 3, 2), True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no_timestamp"),
        ("null", "no_timestamp"),
        ("soon", "bad_timestamp"),
        ("2026-02-30T09:30:00", "bad_timestamp"),
        ("31/31/2026", "bad_timestamp"),
        ("3/31/2026 13:05 PM", "bad_timestamp"),
        ("0", "implausible_time"),
        ("-61178300000000", "implausible_time"),
        ("9780306406157", "implausible_time"),
        ("0001-01-01T00:00:00Z", "implausible_time"),
        ("9999-12-31T00:00:00+01:00", "implausible_time"),
        ("03/04/2026 10:00", "ambiguous_date_order"),
    ],
)
def test_what_is_no_time_is_a_problem_of_its_kind(text: str, problem: str) -> None:
    """Nothing is guessed."""
    moment = parse_timestamp(text)
    assert (moment.at, moment.wall, moment.problem) == (None, None, problem)


def test_the_order_of_day_and_month_is_used_where_it_is_given() -> None:
    """The flag decides what the text does not, and only that."""
    assert parse_timestamp("03/04/2026", day_first=True).wall == datetime(2026, 4, 3)
    assert parse_timestamp("03/04/2026", day_first=False).wall == datetime(2026, 3, 4)
    assert parse_timestamp("13/04/2026", day_first=False).wall == datetime(2026, 4, 13)


def test_a_number_above_twelve_proves_the_order() -> None:
    """And dates that fit both orders prove none."""
    assert date_orders(["03/04/2026", "2026-03-04", None]) == set()
    assert date_orders(["03/04/2026", "04/13/2026 10:00"]) == {False}
    assert date_orders(["13/04/2026", "04/13/2026"]) == {True, False}


@given(
    st.datetimes(datetime(1980, 1, 2), datetime(2099, 12, 30)).map(lambda t: t.replace(microsecond=0)),
    st.sampled_from([1, 10**3, 10**6, 10**9]),
)
@settings(deadline=None, max_examples=200)
def test_the_unit_of_an_epoch_follows_from_its_size(moment: datetime, ticks: int) -> None:
    """The ranges of the four units do not overlap."""
    moment = moment.replace(tzinfo=UTC)
    assert epoch_instant(int(moment.timestamp()) * ticks) == moment


_OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timedelta(minutes=minutes))


@given(st.lists(st.tuples(st.datetimes(datetime(1971, 1, 3), datetime(2199, 12, 30)), _OFFSETS), max_size=20))
@settings(deadline=None, max_examples=100)
def test_a_column_with_offsets_gives_instant_and_wall_clock(rows: list[tuple[datetime, timedelta]]) -> None:
    """The vectorised way agrees with the standard library, row by row."""
    from datetime import timezone

    aware = [wall.replace(tzinfo=timezone(offset)) for wall, offset in rows]
    times = parse_timestamps(pl.Series([moment.isoformat() for moment in aware], dtype=pl.String))
    assert times.schema == TIMES
    assert times.get_column("at").to_list() == [moment.astimezone(UTC) for moment in aware]
    shown = [wall if offset else None for wall, offset in rows]
    assert times.get_column("wall").to_list() == shown


@st.composite
def miswritten(draw: st.DrawFn) -> str:
    """A time as most logs write it, with up to two slips of the pen."""
    common = [
        "2026-03-02T09:30:00+01:00",
        "2026-03-02T08:30:00Z",
        "2026-03-29 02:30:00",
        "1971-01-01T00:00:00-00:00",
    ]
    text = draw(
        st.sampled_from([*common, "2026-03-02T23:59:59.25+05:45", "2199-12-31T23:59:59.999999-14:00"])
    )
    for _ in range(draw(st.integers(0, 2))):
        place, taken = draw(st.integers(0, len(text))), draw(st.integers(0, 1))
        text = text[:place] + draw(st.sampled_from([*"0123456789:.-T +Z٣", ""])) + text[place + taken :]
    return text


@given(st.lists(miswritten(), min_size=1, max_size=3))
@settings(deadline=None, max_examples=300)
def test_a_few_times_are_read_as_a_column_is(texts: list[str]) -> None:
    """The short cut for a single line in the stream changes nothing."""
    column = pl.Series(texts, dtype=pl.String)
    few = parse_timestamps(column)
    with patch.object(timestamps, "FEW", 0):
        assert few.equals(parse_timestamps(column))
        assert few.schema == TIMES


def test_common_times_take_the_short_cut() -> None:
    assert (
        timestamps._few(["2026-03-02T09:30:00+01:00", "2026-03-02T08:30:00.5Z", "2026-03-02 09:30:00"])
        is not None
    )
    assert timestamps._few(["2026-03-02T09:30:00Z", "Mon, 02 Mar 2026 09:30:00 +0100"]) is None


@given(st.lists(st.one_of(st.none(), st.text(max_size=30), st.text("0123456789:/.-T +ZeE,APM", max_size=30))))
@settings(deadline=None, max_examples=300)
def test_any_text_gives_a_time_or_a_problem(texts: list[str | None]) -> None:
    """No text crashes the parser or is passed over."""
    times = parse_timestamps(pl.Series(texts, dtype=pl.String))
    assert times.height == len(texts)
    told = times.get_column("at").is_not_null() | times.get_column("wall").is_not_null()
    assert (told ^ times.get_column("problem").is_not_null()).all()
