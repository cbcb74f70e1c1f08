"""Dates in mail: every spelling gives its instant, and impossible dates are rejected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.mail.dates import MailDate, parse_date, parse_envelope_date, parse_received_date

SPELLINGS = {
    "Thu, 6 Oct 2022 12:27:13 +0200 (GMT+02:00)": "2022-10-06T12:27:13+02:00",
    "Wed, 14 Aug 2019 15:26:28 +0200 (W. Europe Daylight Time)": "2019-08-14T15:26:28+02:00",
    "Wed, 14 Aug 2019 15:26:28 +0200 (a (nested) comment)": "2019-08-14T15:26:28+02:00",
    "Mon, 05 Feb 2024 19:02:11 +0530 (IST)": "2024-02-05T19:02:11+05:30",
    "Mon, 06 Mar 17 05:57:31 +0100": "2017-03-06T05:57:31+01:00",
    "Sat, 06 Mar 99 05:57:31 EST": "1999-03-06T05:57:31-05:00",
    "Fri, 5 Mar 104 10:00:00 +0000": "2004-03-05T10:00:00+00:00",
    "30 Nov 2015 13:00:00 -0600": "2015-11-30T13:00:00-06:00",
    "Sat, 8 May 2010 16.03.09 +0200": "2010-05-08T16:03:09+02:00",
    "Fri,\n 12 Dec 2025 16:29:29 +0000": "2025-12-12T16:29:29+00:00",
    "Tue, 5 Mar 2024 9:05 +0100": "2024-03-05T09:05:00+01:00",
    "Tue, 05 Mar 2024 10:00:00 GMT-05:00": "2024-03-05T10:00:00-05:00",
    "Tue, 5 Mar 2024 10:00:00 GMT +0100": "2024-03-05T10:00:00+01:00",
    "Tue Mar 05 2024 10:00:00 GMT+0100 (CET)": "2024-03-05T10:00:00+01:00",
    "Tue, 5 Mar 2024 10:00:00 UTC+2": "2024-03-05T10:00:00+02:00",
    "Tue,5 Mar 2024 10:00:00+0100": "2024-03-05T10:00:00+01:00",
    "Tue, 5 Mar 2024 10:00:00 +01:00": "2024-03-05T10:00:00+01:00",
    "Tue, 5 Mar 2024 10:00:00 -05": "2024-03-05T10:00:00-05:00",
    'Tue, 5 Mar 2024 10:00:00 "GMT"': "2024-03-05T10:00:00+00:00",
    "Tue, 5 Mar 2024 10:00:00 CEST": "2024-03-05T10:00:00+02:00",
    "Tue, 5 March 2024 10:00:00 +0100": "2024-03-05T10:00:00+01:00",
    "Tue, March 5, 2024 10:00:00 PM +0100": "2024-03-05T22:00:00+01:00",
    "Tue, 5 Mar 2024 12:30:00 AM +0100": "2024-03-05T00:30:00+01:00",
    "5-Mar-2024 10:00:00 +0100": "2024-03-05T10:00:00+01:00",
    "Tue Aug 18 07:14:09 +0000 2020": "2020-08-18T07:14:09+00:00",
    "2024-03-05T10:00:00+01:00": "2024-03-05T10:00:00+01:00",
    "2024-03-05 10:00:00.123 -0500": "2024-03-05T10:00:00-05:00",
    "mar., 05 mars 2024 10:00:00 +0100": "2024-03-05T10:00:00+01:00",
    "Di, 5. Mär 2024 10:00:00 +0100": "2024-03-05T10:00:00+01:00",
    "jeu., 4 juil. 2024 10:00:00 +0200": "2024-07-04T10:00:00+02:00",
    "Sat, 31 Dec 2016 23:59:60 +0000": "2016-12-31T23:59:59+00:00",
}
ZONELESS = ["Tue Jul 24 18:55:07 2007", "24 Jul 2007 18:55:07", "Tue, 24 Jul 2007 18:55:07 Europe/Berlin"]
IMPOSSIBLE = [
    "",
    "soon",
    "Tue, 31 Feb 2024 10:00:00 +0100",
    "Tue, 5 Mar 2024 25:61:00 +0100",
    "Tue, 5 Foo 2024 10:00:00 +0100",
    "Tue, 5 Mar 2024 10:00:61 +0100",
    "Tue, 5 Mar 2024 24:00:00 +0100",
    "Tue, 0 Mar 2024 10:00:00 +0100",
    "Tue, 5 Mar 2024",
    "05/03/2024 10:00",
    "Thu, 1 Jan 1970 00:00:00 +0000",
    "Wed, 31 Dec 1969 16:00:00 -0800",
    "Fri, 1 Jan 1904 00:00:00 +0000",
    "Mon, 1 Jan 0001 00:00:00 +0000",
    "Mon, 4 Mar 9999 00:00:00 +0000",
    "(" * 1000,
    "1" * 1000,
]


@pytest.mark.parametrize(("text", "instant"), SPELLINGS.items())
def test_every_spelling_gives_its_instant(text: str, instant: str) -> None:
    date = parse_date(text)
    assert date is not None
    assert date.at == datetime.fromisoformat(instant)


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_what_cannot_be_is_no_date(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize("text", ZONELESS)
def test_a_date_without_a_zone_that_is_known_has_no_instant(text: str) -> None:
    assert parse_date(text) == MailDate(
        datetime.fromisoformat("2007-07-24T18:55:07"), offset=None, at=None, is_local=False
    )


@pytest.mark.parametrize(
    ("zone", "is_local"), [("+0000", True), ("-0000", False), ("GMT", False), ("EST", True)]
)
def test_only_a_zone_of_a_place_says_what_the_clock_showed(zone: str, is_local: bool) -> None:
    date = parse_date(f"Tue, 5 Mar 2024 10:00:00 {zone}")
    assert date is not None
    assert date.is_local is is_local


@pytest.mark.parametrize("offset", ["+9900", "+0175", "-1500"])
def test_an_offset_that_no_clock_shows_is_none(offset: str) -> None:
    date = parse_date(f"Tue, 5 Mar 2024 10:00:00 {offset}")
    assert date is not None
    assert date.offset is None


@settings(max_examples=300, deadline=None)
@given(
    st.datetimes(datetime.fromisoformat("1971-01-02"), datetime.fromisoformat("2199-12-30")),
    st.integers(-14 * 60, 14 * 60),
)
def test_the_standard_library_agrees_on_what_it_writes_itself(wall: datetime, minutes: int) -> None:
    written = format_datetime(wall.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes))))
    date = parse_date(written)
    assert date is not None
    assert date.at == parsedate_to_datetime(written)
    assert date.wall == wall.replace(microsecond=0)


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=60)
    | st.from_regex(r"[A-Z][a-z]{2}, [0-9 ]{1,6} [A-Za-z]{3} [0-9]{2,5} [0-9:.]{3,9} .{0,6}")
)
def test_no_text_raises(text: str) -> None:
    date = parse_date(text)
    assert date is None or 1970 <= date.wall.year <= 2200
    parse_envelope_date("From x " + text)


def test_the_newest_received_that_has_a_date_counts() -> None:
    date = parse_received_date(
        ["by b", "by c; Wed, 6 Mar 2024 07:15:00 +0200", "by d; Wed, 6 Mar 2024 07:14:00 +0200"]
    )
    assert date is not None
    assert date.at == datetime(2024, 3, 6, 5, 15, tzinfo=UTC)
    assert parse_received_date([]) is None


@pytest.mark.parametrize(
    ("line", "instant"),
    [
        ("From ada@example.com Tue Mar  5 08:30:00 2024", "2024-03-05T08:30:00+00:00"),
        ("From 1790@xxx Tue Aug 18 07:14:09 +0000 2020", "2020-08-18T07:14:09+00:00"),
        ("From ada@example.com Tue Mar  5 08:30:00 CET 2024", "2024-03-05T08:30:00+01:00"),
        ("From Mona at example.com  Tue Mar  5 08:30:00 2024", "2024-03-05T08:30:00+00:00"),
        ("From x  Tue, 5 Mar 2024 08:30:00 +0100", "2024-03-05T08:30:00+01:00"),
    ],
)
def test_from_lines_are_in_utc_unless_they_say_otherwise(line: str, instant: str) -> None:
    date = parse_envelope_date(line)
    assert date is not None
    assert date.at == datetime.fromisoformat(instant)


@pytest.mark.parametrize(
    "line",
    [
        "From - Thu Jan  1 00:00:00 1970",
        "From mboxrd@z Thu Jan  1 00:00:00 1970",
        "From 0123456789abcdef Mon Sep 17 00:00:00 2001",
        "From nobody",
        "",
    ],
)
def test_placeholders_of_from_lines_are_no_dates(line: str) -> None:
    assert parse_envelope_date(line) is None
