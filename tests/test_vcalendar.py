"""vCalendar 1.0: what phones and old organisers export."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observations.ingest.ical.rrule import RuleError, parse_rule
from observations.ingest.ical.vcalendar import modern_rule, without_quoting
from observations.ingest.toolkit.reader import ReadOptions
from tests.ics_samples import read

OPTIONS = ReadOptions(until=datetime(2027, 1, 1, tzinfo=UTC), tz="Europe/Berlin")

EXPORT = """BEGIN:VCALENDAR
VERSION:1.0
PRODID:-//Nokia
TZ:+01
DAYLIGHT:TRUE;+02;20260329T010000Z;20261025T010000Z;CET;CEST
BEGIN:VEVENT
UID:a
DTSTART:20260302T080000Z
DTEND:20260302T090000Z
SUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Gr=C3=B6=C3=9Fe, =
und weiter
DESCRIPTION;ENCODING=QUOTED-PRINTABLE:first=0D=0A=
LOCATION:not a place
RRULE:W1 MO #4
EXDATE:20260309T080000Z;20260316T080000Z
AALARM:20260302T075000Z;;;
END:VEVENT
BEGIN:VEVENT
UID:b
DTSTART:20260305T080000Z
DTEND:20260305T090000Z
LOCATION;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Caf=E9
SUMMARY:Plain = text
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_phone_s_export(line_end: str) -> None:
    """Texts written out, the rule followed without its exceptions, and nothing to be said."""
    frame, notes = read(EXPORT.replace("\n", line_end).encode(), OPTIONS)
    frame = frame.sort("at")
    assert frame.get_column("local").dt.strftime("%m-%d %H:%M").to_list() == [
        "03-02 09:00",
        "03-05 09:00",
        "03-23 09:00",
    ]
    assert frame.get_column("title:text").to_list() == [
        "Größe, und weiter",
        "Plain = text",
        "Größe, und weiter",
    ]
    assert frame.get_column("location:text").to_list() == [None, "Café", None]
    assert notes == []


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("D1 #10", "FREQ=DAILY;INTERVAL=1;COUNT=10"),
        ("d2 #0", "FREQ=DAILY;INTERVAL=2"),
        ("D1", "FREQ=DAILY;INTERVAL=1;COUNT=2"),
        ("D1 19970101T000000Z", "FREQ=DAILY;INTERVAL=1;UNTIL=19970101T000000Z"),
        ("D1 #5 19970101T000000Z", "FREQ=DAILY;INTERVAL=1;COUNT=5"),
        ("W1 #4", "FREQ=WEEKLY;INTERVAL=1;COUNT=4"),
        ("W2 TU TH #0", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH"),
        ("MP1 1+ 1- FR #3", "FREQ=MONTHLY;INTERVAL=1;BYDAY=1FR,-1FR;COUNT=3"),
        ("MP6 1+ MO 2+ TH #5", "FREQ=MONTHLY;INTERVAL=6;BYDAY=1MO,2TH;COUNT=5"),
        ("MP2 1+ SA SU #0", "FREQ=MONTHLY;INTERVAL=2;BYDAY=1SA,1SU"),
        ("MD1 7 LD #0", "FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=7,-1"),
        ("MD1 2- #0", "FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=-2"),
        ("YM1 6 7 #8", "FREQ=YEARLY;INTERVAL=1;BYMONTH=6,7;COUNT=8"),
        ("YD1 1 100 #0", "FREQ=YEARLY;INTERVAL=1;BYYEARDAY=1,100"),
    ],
)
def test_rules_are_what_rrule_says(written: str, means: str) -> None:
    assert modern_rule(written) == means
    assert parse_rule(written) == parse_rule(means)


@pytest.mark.parametrize(
    "written", ["", "W", "W1 XX", "M5 #3", "D1 0600 1200 #5", "D1 MO", "MP1 FR+", "YM1 13+x"]
)
def test_other_texts_are_no_rules(written: str) -> None:
    """A rule within rules, or with times of day, is told as one that cannot be followed."""
    assert modern_rule(written) is None
    with pytest.raises(RuleError, match="is not a frequency"):
        parse_rule(written)


@settings(deadline=None, max_examples=200)
@given(st.text("DWMPY0123456789+-# TUFRL=;", max_size=20))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    modern = modern_rule(text)
    if modern is not None:
        try:
            parse_rule(modern)
        except RuleError as error:
            message = str(error)
            assert message


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text("SUMARY;:=QEC3\xa9 ", max_size=12), max_size=6), st.integers(0, 6))
def test_lines_keep_their_numbers(lines: list[str], place: int) -> None:
    """Whatever is written out, and however it is broken."""
    lines.insert(min(place, len(lines)), "SUMMARY;ENCODING=QUOTED-PRINTABLE:=C3=A9=")
    text = "\n".join([*lines, "END:VEVENT"])
    assert without_quoting(text).count("\n") == text.count("\n")
