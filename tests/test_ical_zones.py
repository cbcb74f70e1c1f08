"""A TZID resolves to the zone that it names in any spelling, or that the file defines."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tzlocal.windows_tz import win_tz

from observations.ingest.ical.outlook_timezones import DISPLAY_NAMES
from observations.ingest.ical.parser import Component, parse_calendars
from observations.ingest.ical.timezones import (
    RuleZone,
    ZoneRules,
    Zones,
    exact_zone,
    parse_zone_rules,
    similar_zone,
)
from tests.ics_samples import VTIMEZONE

WINTER, SUMMER = datetime(2026, 1, 15, 12), datetime(2026, 7, 15, 12)


def component(text: str) -> Component:
    """The VTIMEZONE that the text writes."""
    return parse_calendars(text.encode())[0][0].inside[0]


def rules(text: str) -> ZoneRules:
    """What a VTIMEZONE without faults defines."""
    defined, wrong = parse_zone_rules(component(text))
    assert wrong == []
    return defined


def hours(name: str, *definitions: str) -> tuple[float, float] | None:
    """The offsets, winter and summer, of what a TZID means beside these VTIMEZONEs."""
    defined = [rules(text) for text in definitions]
    found = Zones({d.tzid: d for d in defined}).find(name)
    if found is None:
        return None
    winter, summer = found.utcoffset(WINTER), found.utcoffset(SUMMER)
    assert winter is not None
    assert summer is not None
    return winter / timedelta(hours=1), summer / timedelta(hours=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Europe/Berlin", (1, 2)),
        ("Etc/GMT+5", (-5, -5)),
        ("W. Europe Standard Time", (1, 2)),
        ("New Zealand Standard Time", (13, 12)),
        ("Eastern Daylight Time", (-5, -4)),
        ("W. Europe Standard Time 1", (1, 2)),
        ("w. europe standard time", (1, 2)),
        ("(UTC+01:00) W. Europe Standard Time", (1, 2)),
        ("(UTC-05:00) Eastern Time (US & Canada)", (-5, -4)),
        ("(UTC-05:00) Eastern Time (US and Canada)", (-5, -4)),
        ("(GMT-05:00) Eastern Time (US & Canada)", (-5, -4)),
        ("Eastern Time (US & Canada)", (-5, -4)),
        ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", (1, 2)),
        ("(UTC+01:00) Amsterdam, Berlin, Bern, Rom, Stockholm, Wien", (1, 2)),
        ("(UTC-07:00) La Paz, Mazatlan", (-7, -7)),
        ("(UTC-04:00) Georgetown, La Paz, Manaus, San Juan", (-4, -4)),
        ("(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi", (5.5, 5.5)),
        ("(UTC) Coordinated Universal Time", (0, 0)),
        ("(UTC+00:00) Dublin, Edinburgh, Lisbon, London", (0, 1)),
        ("/freeassociation.sourceforge.net/Tzfile/Europe/Berlin", (1, 2)),
        ("/mozilla.org/20050126_1/America/Argentina/Buenos_Aires", (-3, -3)),
        ("/citadel.org/20210210_1/America/New_York", (-5, -4)),
        ("tzone://Microsoft/Utc", (0, 0)),
        ("Europe_Berlin", (1, 2)),
        ("Europe-Berlin", (1, 2)),
        ("europe/berlin", (1, 2)),
        ("America/New York", (-5, -4)),
        ("Berlin", (1, 2)),
        ("GMT+0100", (1, 1)),
        ("UTC+02:00", (2, 2)),
        ("UTC-5", (-5, -5)),
        ("-03:30", (-3.5, -3.5)),
        ("utc", (0, 0)),
        ("Z", (0, 0)),
        ('"Europe/Berlin"', (1, 2)),
        ("Customized Time Zone", None),
        ("tzone://Microsoft/Custom", None),
        ("FOO", None),
        ("", None),
        ("../../etc/passwd", None),
        ("/", None),
        ("Europe", None),
        ("localtime", None),
        ("a\0b", None),
        ("x" * 5000, None),
        ("UTC+99:00", None),
    ],
)
def test_names_in_every_spelling(name: str, expected: tuple[float, float] | None) -> None:
    assert hours(name) == expected


def test_every_windows_and_display_name_is_a_zone() -> None:
    for name in win_tz:
        assert exact_zone(name) is not None, name
    for name in DISPLAY_NAMES:
        assert similar_zone(f"(UTC+00:00) {name}") is not None, name


# --- VTIMEZONE ------------------------------------------------------------------------------------------------


def private(tzid: str, winter: str, summer: str, extra: str = "") -> str:
    """A VTIMEZONE with the dates of Europe."""
    text = VTIMEZONE.format(tzid=tzid, winter=winter, summer=summer)
    return text.replace("BEGIN:STANDARD", f"{extra}BEGIN:STANDARD", 1)


def test_rules_are_followed_where_the_name_says_nothing() -> None:
    assert hours("Customized Time Zone", private("Customized Time Zone", "+0330", "+0430")) == (3.5, 4.5)


def test_an_exact_name_goes_before_rules_of_that_name() -> None:
    """Exports cut the rules down to a few years, or get them wrong (khal's tz_windows_format.ics)."""
    assert hours("Europe/Berlin", private("Europe/Berlin", "+0900", "+0900")) == (1, 2)
    assert hours("Romance Standard Time", private("Romance Standard Time", "+0900", "+0900")) == (1, 2)


def test_rules_that_contradict_a_similar_name_go_before_it() -> None:
    """Google knows a zone "Europe/lisbon" that is an hour ahead of Lisbon (its own exports, 2010–2020)."""
    assert hours("Europe/lisbon", private("Europe/lisbon", "+0100", "+0200")) == (1, 2)
    assert hours("Europe/lisbon", private("Europe/lisbon", "+0000", "+0100")) == (0, 1)
    assert isinstance(Zones({}).find("Europe/lisbon"), ZoneInfo)


def test_the_zone_that_rules_say_they_are_is_taken_unless_they_contradict_it() -> None:
    said = "X-LIC-LOCATION:Asia/Tokyo\n"
    assert hours("mine", private("mine", "+0900", "+0900", said)) == (9, 9)
    found = Zones({"mine": rules(private("mine", "+0900", "+0900", said))}).find("mine")
    assert found == ZoneInfo("Asia/Tokyo")
    assert hours("mine", private("mine", "+0100", "+0200", said)) == (1, 2)


def test_dates_instead_of_a_rule() -> None:
    """As Apple and iCalcreator write it: some years one by one."""
    zone = rules(
        """BEGIN:VTIMEZONE
TZID:mine
BEGIN:STANDARD
DTSTART:20141026T030000
RDATE:20151025T030000,20161030T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20140330T020000
RDATE:20150329T020000
RDATE:20160327T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE"""
    ).zone
    assert zone is not None
    offsets = [
        (zone.utcoffset(datetime(y, m, 1)) or timedelta()) / timedelta(hours=1)
        for y in (2013, 2015, 2016, 2020)
        for m in (1, 7)
    ]
    assert offsets == [1, 1, 1, 2, 1, 2, 1, 1]


def test_a_rule_that_ended_holds_no_longer() -> None:
    text = private("mine", "+0000", "+0100").replace("BYDAY=-1SU", "BYDAY=-1SU;UNTIL=20101231T000000Z")
    zone = rules(text).zone
    assert zone is not None
    assert [zone.utcoffset(datetime(year, 7, 1)) for year in (2010, 2011)] == [
        timedelta(hours=1),
        timedelta(),
    ]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("TZOFFSETTO:+0100", "TZOFFSETTO:+5328", "'+5328' is not a UTC offset"),
        ("TZOFFSETFROM:+0200\nTZOFFSETTO:+0100", "TZOFFSETTO:+0100", "'' is not a UTC offset"),
        ("DTSTART:19701025T030000", "DTSTART:soon", "'soon' is not a date"),
        ("FREQ=YEARLY", "FREQ=NEVER", "FREQ=NEVER is not a frequency"),
    ],
)
def test_a_broken_part_is_told_and_the_others_hold(before: str, after: str, problem: str) -> None:
    broken = private("mine", "+0100", "+0200").replace(before, after, 1)
    defined, wrong = parse_zone_rules(component(broken))
    assert wrong == [problem]
    assert len(defined.observances) == 1


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("BEGIN:VTIMEZONE\nTZID:a\nEND:VTIMEZONE\n", ["it has no rules"]),
        (private("", "+0100", "+0200"), ["it has no TZID"]),
    ],
)
def test_a_definition_without_rules_or_name_is_told(text: str, problems: list[str]) -> None:
    assert parse_zone_rules(component(text))[1] == problems


def test_a_rule_too_dense_to_follow_leaves_the_first_change() -> None:
    text = VTIMEZONE.format(tzid="a", winter="+0300", summer="+0400").replace("FREQ=YEARLY", "FREQ=SECONDLY")
    zone = rules(text).zone
    assert zone is not None
    assert (zone.utcoffset(WINTER), zone.utcoffset(SUMMER)) == (timedelta(hours=3), timedelta(hours=3))


# --- a zone made of rules behaves as one of the database ------------------------------------------------------

OWN = rules(private("mine", "+0100", "+0200")).zone
BERLIN = ZoneInfo("Europe/Berlin")


@settings(deadline=None, max_examples=100)
@given(st.datetimes(datetime(1997, 1, 1), datetime(2037, 1, 1)), st.booleans())
def test_rules_of_berlin_make_berlin(wall: datetime, fold: bool) -> None:
    assert isinstance(OWN, RuleZone)
    assert OWN.utcoffset(wall.replace(fold=fold)) == BERLIN.utcoffset(wall.replace(fold=fold))
    instant = wall.replace(tzinfo=UTC)
    assert instant.astimezone(OWN).replace(tzinfo=None) == instant.astimezone(BERLIN).replace(tzinfo=None)
    assert instant.astimezone(OWN).fold == instant.astimezone(BERLIN).fold


@pytest.mark.parametrize("minutes", range(-150, 151, 30))
@pytest.mark.parametrize("change", [datetime(2026, 3, 29, 1), datetime(2026, 10, 25, 1)])
@pytest.mark.parametrize("fold", [0, 1])
def test_gaps_and_folds_are_those_of_berlin(change: datetime, minutes: int, fold: int) -> None:
    assert isinstance(OWN, RuleZone)
    wall = (change + timedelta(hours=1.5, minutes=minutes)).replace(fold=fold)
    assert OWN.utcoffset(wall) == BERLIN.utcoffset(wall)
    assert OWN.tzname(wall) == "mine"
