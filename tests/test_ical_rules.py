"""Recurrence rules yield the times that RFC 5545 gives them, and never take long."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

import contextlib
from datetime import datetime, timedelta

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.ical.rrule import RuleError, parse_rule
from observations.ingest.ical.rrule_expand import MOST_A_DAY, expand

START = datetime(1997, 9, 2, 9)


def days(text: str, *, start: datetime = START, last: datetime = datetime(2000, 12, 31)) -> list[str]:
    """The dates that a rule yields."""
    return [f"{moment:%Y-%m-%d}" for moment in expand(parse_rule(text), start, start, last)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,TH", ["1997-09-02", "1997-09-04", "1997-09-16"]),
        ("FREQ=MONTHLY;BYDAY=1FR", ["1997-09-05", "1997-10-03", "1997-11-07"]),
        ("FREQ=MONTHLY;INTERVAL=2;BYDAY=1SU,-1SU", ["1997-09-07", "1997-09-28", "1997-11-02"]),
        ("FREQ=MONTHLY;BYMONTHDAY=-3", ["1997-09-28", "1997-10-29", "1997-11-28"]),
        ("FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200", ["2000-01-01", "2000-04-09", "2000-07-18"]),
        ("FREQ=YEARLY;BYDAY=20MO", ["1998-05-18", "1999-05-17", "2000-05-15"]),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", ["1998-05-11", "1999-05-17", "2000-05-15"]),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", ["1998-02-13", "1998-03-13", "1998-11-13"]),
        ("FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3", ["1997-09-04", "1997-10-07", "1997-11-06"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", ["1997-09-29", "1997-10-30", "1997-11-27"]),
        ("FREQ=YEARLY;BYMONTH=1;BYDAY=SU,MO", ["1998-01-04", "1998-01-05", "1998-01-11"]),
        # RFC 5545 derives what a rule does not say from DTSTART, a Tuesday; dateutil takes the whole week.
        ("FREQ=YEARLY;BYWEEKNO=20", ["1998-05-12", "1999-05-18", "2000-05-16"]),
        # Of weekdays with and without an ordinal either may match; dateutil wants both.
        ("FREQ=MONTHLY;BYDAY=1MO,TU", ["1997-09-02", "1997-09-09", "1997-09-16"]),
    ],
)
def test_the_examples_of_the_standard(text: str, expected: list[str]) -> None:
    """Most are those of RFC 5545, section 3.8.5.3."""
    assert days(text)[:3] == expected


def test_days_that_a_month_or_year_does_not_have_are_passed_over() -> None:
    start = datetime(2023, 1, 31, 1)
    assert days("FREQ=MONTHLY", start=start, last=datetime(2023, 6, 1)) == [
        "2023-01-31",
        "2023-03-31",
        "2023-05-31",
    ]
    leap = datetime(2020, 2, 29)
    assert days("FREQ=YEARLY", start=leap, last=datetime(2029, 1, 1)) == [
        "2020-02-29",
        "2024-02-29",
        "2028-02-29",
    ]


def test_times_of_day_multiply() -> None:
    found = expand(
        parse_rule("FREQ=DAILY;BYHOUR=9,14;BYMINUTE=0,30"), datetime(2026, 1, 1), *WEEK_OF_JANUARY_2026
    )
    assert [f"{moment:%d %H:%M}" for moment in found[:5]] == [
        "01 09:00",
        "01 09:30",
        "01 14:00",
        "01 14:30",
        "02 09:00",
    ]


WEEK_OF_JANUARY_2026 = (datetime(2026, 1, 1), datetime(2026, 1, 7))

WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def _subset(values: list[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True).map(",".join)


def _numbers(*values: int) -> st.SearchStrategy[str]:
    return _subset([str(value) for value in values])


_KEYS = st.sampled_from(["BYDAY", "BYHOUR", "BYMINUTE", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "WKST"])


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Rules that dateutil follows as RFC 5545 says: no mixed ordinals, no lone week numbers."""
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]))
    least = 60 if frequency == "MINUTELY" else 1
    parts = [f"FREQ={frequency}", f"INTERVAL={draw(st.integers(least, least + 5))}"]
    optional = {
        "BYMONTH": _numbers(*range(1, 13)),
        "BYMONTHDAY": _numbers(1, 2, 15, 28, 29, 30, 31, -1, -2, -31),
        "BYHOUR": _numbers(0, 9, 10, 23),
        "BYMINUTE": _numbers(0, 15, 59),
        "WKST": st.sampled_from(WEEKDAYS),
    }
    if frequency == "YEARLY":
        optional["BYYEARDAY"] = _numbers(1, 60, 100, 365, 366, -1, -366)
    ordinals = ["1", "-1", "2", "5"] if draw(st.booleans()) and frequency in ("YEARLY", "MONTHLY") else [""]
    optional["BYDAY"] = _subset([ordinal + day for ordinal in ordinals for day in WEEKDAYS])
    chosen = draw(st.sets(_KEYS, max_size=4)) & set(optional)
    parts += [f"{name}={draw(optional[name])}" for name in sorted(chosen)]
    if frequency == "YEARLY" and "BYDAY" in chosen and draw(st.booleans()):
        parts.append(f"BYWEEKNO={draw(_numbers(1, 2, 20, 52, 53, -1))}")
    positioned: bool = draw(st.booleans())
    if positioned and chosen - {"WKST"}:
        parts.append(f"BYSETPOS={draw(_numbers(1, 2, 3, -1, -2))}")
    return ";".join(parts)


@settings(deadline=None, max_examples=80)
@given(rules(), st.datetimes(datetime(2017, 1, 1), datetime(2021, 1, 1)), st.integers(0, 300))
def test_every_rule_yields_what_dateutil_yields(text: str, start: datetime, later: int) -> None:
    start = start.replace(microsecond=0)
    first, last = start + timedelta(days=later), start + timedelta(days=600)
    try:
        # UNTIL keeps dateutil from looking further; a rule without matches it follows to the year 9999 all the same.
        theirs = rrulestr(f"{text};UNTIL={last:%Y%m%dT%H%M%S}", dtstart=start)
    except ValueError:  # an hour or minute that the interval never meets
        return
    years = 4 if "HOURLY" in text or "MINUTELY" in text else 28
    if not expand(parse_rule(text), start, start, start + timedelta(days=years * 366)):
        return  # no match in a cycle of leap years (and weekdays): dateutil would look for minutes
    assert expand(parse_rule(text), start, first, last) == theirs.between(first, last, inc=True)


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTH=4;BYMONTHDAY=31",
        "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
        "FREQ=MONTHLY;BYDAY=6MO",
        "FREQ=YEARLY;BYWEEKNO=20;BYMONTH=1;BYDAY=MO",
        "FREQ=DAILY;INTERVAL=7;BYDAY=MO",  # from a Tuesday on
        "FREQ=DAILY;BYSECOND=60",
    ],
)
def test_a_rule_without_matches_yields_nothing(text: str) -> None:
    """Each of them costs dateutil between 0.2 and 8 seconds."""
    assert expand(parse_rule(text), START, START, datetime(2040, 1, 1)) == []


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=SECONDLY",
        "FREQ=MINUTELY;INTERVAL=10",
        "FREQ=MINUTELY;COUNT=100000",
        "FREQ=HOURLY;BYMINUTE=0,10,20,30,40,50",
        "FREQ=DAILY;BYHOUR=9,10;BYMINUTE=" + ",".join(map(str, range(60))),
    ],
)
@pytest.mark.parametrize("length", [timedelta(hours=1), timedelta(days=9000)])
def test_a_dense_rule_is_refused_whatever_the_window(text: str, length: timedelta) -> None:
    with pytest.raises(RuleError, match="times a day") as caught:
        expand(parse_rule(text), START, START, START + length)
    assert caught.value.reason == "rule_too_dense"


def test_a_dense_rule_that_soon_ends_is_followed() -> None:
    found = expand(parse_rule("FREQ=SECONDLY;COUNT=5"), START, START, datetime(2030, 1, 1))
    assert found[:5] == [START + timedelta(seconds=n) for n in range(5)]


def test_the_densest_rule_that_is_followed_comes_every_quarter_of_an_hour() -> None:
    found = expand(parse_rule("FREQ=MINUTELY;INTERVAL=15"), START, START, START + timedelta(hours=23.99))
    assert len(found) == MOST_A_DAY


def test_a_window_too_long_for_a_rule_is_refused_rather_than_filled() -> None:
    with pytest.raises(RuleError, match="occurs 146,"):
        expand(parse_rule("FREQ=DAILY"), datetime(1700, 1, 1), datetime(1700, 1, 1), datetime(9000, 1, 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "BYDAY=MO",
        "FREQ=FORTNIGHTLY",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=x",
        "FREQ=DAILY;COUNT=0",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=YEARLY;BYMONTH=13",
        "FREQ=DAILY;BYHOUR=24",
        "FREQ=YEARLY;BYEASTER=0",
        "FREQ=YEARLY;RSCALE=CHINESE",
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(RuleError):
        parse_rule(text)


def test_spelling_is_forgiven() -> None:
    assert parse_rule("freq=weekly; BYDAY=MO, TU ;;WKST=SU") == parse_rule("FREQ=WEEKLY;BYDAY=MO,TU;WKST=SU")
    assert parse_rule("RRULE:FREQ=DAILY;X-NOTE=1") == parse_rule("FREQ=DAILY")
    assert parse_rule("FREQ=DAILY;COUNT=-1") == parse_rule("FREQ=DAILY"), "written for: without end"
    assert parse_rule("FREQ=DAILY;INTERVAL=999999999").interval == 1_000_000


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="FREQ=DAILYWKMONTHBS;,:-+0123456789TUPVC ", max_size=60))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    with contextlib.suppress(RuleError):
        expand(parse_rule("FREQ=DAILY;" + text), START, START, datetime(2005, 1, 1))
