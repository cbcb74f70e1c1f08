"""The calendar reader: which entries become observations, with which features, ids and times, and which notes it adds."""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from observations.errors import SourceError
from observations.ingest.ical.calendar import CALENDAR
from observations.ingest.read import read_observations
from observations.ingest.toolkit.reader import ReadOptions, Source
from tests.ics_samples import BERLIN, VTIMEZONE, calendar, event, instants, read, said, starts, values

SHARED = Path(__file__).parents[1].parent / "shared"

TEA = "UID:tea\nSUMMARY:Tea\nDTSTART:20260302T150000Z\nDTEND:20260302T153000Z\n"


def only(content: str, options: ReadOptions = BERLIN) -> dict[str, object]:
    """The one observation of an export, features by name, absent ones left out."""
    frame, _ = read(content, options)
    assert frame.height == 1
    row = frame.row(0, named=True)
    return {name.rpartition(":")[0] or name: value for name, value in row.items() if value is not None}


# --- recognising ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"BEGIN:VCALENDAR\r\nVERSION:2.0", "export", True),
        (b"\xef\xbb\xbfBEGIN:VCALENDAR\n", "x.txt", True),
        ("BEGIN:VCALENDAR\n".encode("utf-16"), "x", True),
        (b"\n\nbegin:vcalendar\r", "x", True),
        (b"BEGIN:VEVENT\n", "x", True),
        (b"---\nlayout: none\n---\nBEGIN:VCALENDAR\n", "meetings.ics", True),
        (b"---\nlayout: none\n---\nBEGIN:VCALENDAR\n", "meetings.txt", False),
        (b"Subject: Invitation\n\nBEGIN:VCALENDAR\n", "invitation.eml", False),
        (b"cat > x.ics <<END\nBEGIN:VCALENDAR\n", "bash_history", False),
        (b"BEGIN:VCARD\nFN:Ada\n", "ada.ics", False),
        (b"hello", "hello.ics", False),
        (b"", "empty.ics", False),
    ],
)
def test_calendars_are_told_from_what_contains_one(head: bytes, name: str, expected: bool) -> None:
    assert CALENDAR.recognises(head, name) is expected


# --- features -------------------------------------------------------------------------------------------------


def test_an_event_with_everything() -> None:
    got = only(
        calendar(
            r"""UID:full@x
DTSTART;TZID=Europe/Berlin:20260302T090000
DTEND;TZID=Europe/Berlin:20260302T101500
SUMMARY:Planning\, part 1\; with cake
LOCATION:Room 3\, 2nd floor
ORGANIZER;CN=Boss:MAILTO:Boss@Example.com
ATTENDEE;CN=Me;PARTSTAT=ACCEPTED:mailto:me@example.com
ATTENDEE;CN=Ada:mailto:Ada@Example.com
CATEGORIES:Work,Planning
CATEGORIES:With\, comma
STATUS:TENTATIVE"""
        ),
        replace(BERLIN, me=("me@example.com",)),
    )
    assert got == {
        "id": "full@x",
        "user_id": "me",
        "type": "calendar",
        "action": "created",
        "at": datetime(2026, 3, 2, 8, tzinfo=UTC),
        "local": datetime(2026, 3, 2, 9),
        "tz": "Europe/Berlin",
        "actor": "user",
        "title": "Planning, part 1; with cake",
        "location": "Room 3, 2nd floor",
        "organizer": "boss@example.com",
        "participants": ["ada@example.com", "boss@example.com"],
        "category": "Work",
        "categories": ["Work", "Planning", "With, comma"],
        "duration_minutes": 75.0,
        "status": "tentative",
        "response": "accepted",
    }


def test_an_event_with_nothing_but_a_start() -> None:
    got = only(calendar("DTSTART:20260302T150000Z"))
    assert got["duration_minutes"] == 0
    assert not {"title", "location", "participants", "category", "series", "all_day"} & set(got)


@pytest.mark.parametrize(
    ("attendee", "participants"),
    [
        ("ATTENDEE:mailto:a@x.org", ["a@x.org"]),
        ("ATTENDEE:MAILTO:A@X.ORG", ["a@x.org"]),
        ("ATTENDEE:a@x.org", ["a@x.org"]),
        ("ATTENDEE:mailto:a%40x.org?subject=hi", ["a@x.org"]),
        ('ATTENDEE;CN="A";EMAIL=a@x.org:mailto:2_GI4TQ@imip.me.com', ["a@x.org"]),
        ("ATTENDEE;EMAIL=a@x.org:urn:uuid:1234", ["a@x.org"]),
        ("ATTENDEE;CN=A:/aMzA/principal/", None),
        ("ATTENDEE;CN=A:invalid:nomail", None),
        ("ATTENDEE:", None),
        ("ATTENDEE", None),
        ("ATTENDEE;CUTYPE=ROOM:mailto:blue@x.org", None),
        ("ATTENDEE;cutype=resource:mailto:beamer@x.org", None),
        ("ATTENDEE:mailto:c_1a2b@resource.calendar.google.com", None),
        ("ATTENDEE:mailto:me@x.org", None),
        ("ATTENDEE:mailto:a@x.org\nATTENDEE:mailto:A@x.org\nORGANIZER:mailto:a@x.org", ["a@x.org"]),
        ("ATTENDEE;PARTSTAT=DECLINED:mailto:a@x.org", ["a@x.org"]),  # was invited all the same
        ("ORGANIZER:OA\nORGANIZER:mailto:boss@x.org", ["boss@x.org"]),
        ("ORGANIZER:mailto:abc@group.calendar.google.com", None),
    ],
)
def test_participants(attendee: str, participants: list[str] | None) -> None:
    got = only(calendar(TEA + attendee), replace(BERLIN, me=("me@x.org",)))
    assert got.get("participants") == participants


@pytest.mark.parametrize(
    ("lines", "response"),
    [
        ("ATTENDEE;PARTSTAT=TENTATIVE:mailto:me@x.org", "tentative"),
        ("ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:me@x.org", "needs-action"),
        ("ATTENDEE;PARTSTAT=ACCEPTED:mailto:ME@x.org", "accepted"),
        ("ATTENDEE;PARTSTAT=TENTATIVE:mailto:other@x.org", None),
        ("X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE", "tentative"),
        ("X-MICROSOFT-CDO-BUSYSTATUS:BUSY", None),
    ],
)
def test_what_the_person_answered(lines: str, response: str | None) -> None:
    got = only(calendar(TEA + lines), replace(BERLIN, me=("me@x.org",)))
    assert got.get("response") == response


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("STATUS:CANCELLED", "cancelled"),
        ("STATUS:canceled", "cancelled"),
        ("ATTENDEE;PARTSTAT=DECLINED:mailto:me@x.org", "declined"),
        ("ATTENDEE;PARTSTAT=DELEGATED:mailto:me@x.org", "delegated"),
    ],
)
def test_what_did_not_take_place_for_the_person_is_counted_and_left_out(lines: str, reason: str) -> None:
    options = replace(BERLIN, me=("me@x.org",))
    frame, notes = read(calendar(TEA + lines, TEA.replace("UID:tea", "UID:other")), options)
    assert frame.get_column("id").to_list() == ["other"]
    assert said(notes, "left_out") == {reason: 1}
    series, notes = read(calendar(f"{TEA}RRULE:FREQ=DAILY;COUNT=4\n{lines}"), options)
    assert series.height == 0
    assert said(notes, "left_out") == {reason: 4}


def test_a_calendar_that_is_a_cancellation_cancels() -> None:
    cancelled = calendar(TEA + "SEQUENCE:1", head="METHOD:CANCEL\n")
    frame, notes = read(calendar(TEA) + cancelled)
    assert frame.height == 0
    assert said(notes, "left_out") == {"superseded": 1, "cancelled": 1}


def test_the_owner_of_a_google_calendar_is_the_person() -> None:
    content = calendar(
        TEA + "ATTENDEE;PARTSTAT=ACCEPTED:mailto:me@gmail.com\nATTENDEE:mailto:a@x.org",
        head="X-WR-CALNAME:Me@gmail.com\n",
    )
    got = only(content)
    assert (got["participants"], got["response"]) == (["a@x.org"], "accepted")


def test_the_category_that_google_gave_every_event_is_none() -> None:
    assert "category" not in only(calendar(TEA + "CATEGORIES:http://schemas.google.com/g/2005#event"))


def test_no_password_of_a_meeting_is_kept() -> None:
    got = only(
        calendar(
            "DTSTART:20260302\nLOCATION:https://zoom.us/j/98?pwd=s3cretpass#x Passcode: 4711x\nSUMMARY:a"
        )
    )
    assert str(got["location"]).startswith("https://zoom.us/j/98 Passcode: ")
    assert "s3cret" not in str(got)
    assert "4711x" not in str(got)


# --- days and lengths -----------------------------------------------------------------------------------------


AT_BERLIN = ";TZID=Europe/Berlin:202603"


@pytest.mark.parametrize(
    ("lines", "minutes"),
    [
        ("DTSTART;VALUE=DATE:20260329", 1440),
        ("DTSTART:20260329", 1440),
        ("DTSTART;VALUE=DATE:20260329T000000", 1440),
        ("DTSTART;VALUE=DATE:20260329\nDTEND;VALUE=DATE:20260330", 1440),
        ("DTSTART;VALUE=DATE:20260329\nDTEND;VALUE=DATE:20260329", 1440),
        ("DTSTART;VALUE=DATE:20260329\nDTEND;VALUE=DATE:20260401", 3 * 1440),
        ("DTSTART;VALUE=DATE:20260329\nDTEND;VALUE=DATE:20260301", 1440),
        ("DTSTART;VALUE=DATE:20260329\nDTEND:20260330T000000", 1440),
        ("DTSTART;VALUE=DATE:20260329\nDTEND:20260330T120000", 2 * 1440),
        ("DTSTART;VALUE=DATE:20260329\nDURATION:P2D", 2 * 1440),
        ("DTSTART;VALUE=DATE:20260329\nDURATION:PT3H", 1440),
        (f"DTSTART{AT_BERLIN}29T000000\nDTEND{AT_BERLIN}30T000000\nX-MICROSOFT-CDO-ALLDAYEVENT:TRUE", 1440),
        ("DTSTART:20260328T230000Z\nDTEND:20260329T220000Z\nX-MICROSOFT-CDO-ALLDAYEVENT:TRUE", 1440),
        ("DTSTART:20260329T000000Z\nDTEND:20260330T000000Z\nX-MICROSOFT-CDO-ALLDAYEVENT:TRUE", 1440),
        (f"DTSTART{AT_BERLIN}29T000000\nDTEND{AT_BERLIN}30T000000", 1440),  # 23 hours: the clocks change
        ("DTSTART:20260329T000000\nDTEND:20260331T000000", 2 * 1440),
    ],
)
def test_an_all_day_event_starts_at_the_persons_midnight(lines: str, minutes: float) -> None:
    got = only(calendar(lines))
    assert got["all_day"] is True
    assert got["local"] == datetime(2026, 3, 29)
    assert got["at"] == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert got["duration_minutes"] == minutes


@pytest.mark.parametrize(
    "lines",
    [
        "DTSTART:20260302T000000\nDTEND:20260302T230000",
        "DTSTART;TZID=America/New_York:20260302T000000\nDTEND;TZID=America/New_York:20260303T000000",
        "DTSTART:20260302T090000Z\nDTEND:20260302T170000Z\nX-MICROSOFT-CDO-ALLDAYEVENT:TRUE",
        "DTSTART:20260302T000000\nX-MICROSOFT-CDO-ALLDAYEVENT:FALSE",
    ],
)
def test_other_events_with_times_are_not_all_day(lines: str) -> None:
    assert "all_day" not in only(calendar(lines))


@pytest.mark.parametrize(
    ("end", "minutes", "warned"),
    [
        ("DTEND:20260302T161500Z", 75, None),
        ("DTEND;TZID=America/New_York:20260302T111500", 75, None),
        ("DTEND:20260302T150000Z", 0, None),
        ("DTEND:20260302T143000Z", 0, "negative_length"),
        ("DTEND;VALUE=DATE:20260303", 540, None),
        ("DTEND:rubbish", 0, "bad_length"),
        ("DTEND:", 0, None),
        ("DURATION:PT1H45M", 105, None),
        ("DURATION:P1DT2H", 1560, None),
        ("DURATION:P2W", 20160, None),
        ("DURATION:+PT90S", 1.5, None),
        ("duration:pt15m", 15, None),
        ("DURATION:-PT15M", 0, "negative_length"),
        ("DURATION:P", 0, "bad_length"),
        ("DURATION:PT", 0, "bad_length"),
        ("DURATION:P999999999W", 0, "bad_length"),
        ("DURATION:P99999999999999999999D", 0, "bad_length"),
        ("DTEND:20260302T153000Z\nDURATION:PT5H", 30, None),
    ],
)
def test_lengths(end: str, minutes: float, warned: str | None) -> None:
    frame, notes = read(calendar(f"UID:a\nDTSTART:20260302T150000Z\n{end}"))
    assert values(frame, "duration_minutes:number") == [minutes]
    assert said(notes, "warning") == ({warned: 1} if warned else {})


def test_the_length_over_a_change_of_the_clocks_is_what_it_took() -> None:
    night = "DTSTART;TZID=Europe/Berlin:20260328T230000\nDTEND;TZID=Europe/Berlin:20260329T070000"
    assert only(calendar(night))["duration_minutes"] == 7 * 60


# --- whose clock ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "at", "local"),
    [
        ("DTSTART:20260302T150000Z", "15:00", "16:00"),
        ("DTSTART;TZID=America/New_York:20260302T100000", "15:00", "16:00"),
        ("DTSTART;TZID=W. Europe Standard Time:20260302T160000", "15:00", "16:00"),
        ("DTSTART;TZID=America/New_York:20260302T150000Z", "15:00", "16:00"),  # Z wins
        ("DTSTART:20260302T170000+0200", "15:00", "16:00"),
        ("DTSTART:2026-03-02T15:00:00Z", "15:00", "16:00"),
        ("DTSTART;TZID=(UTC-05:00) Eastern Time (US & Canada):20260302T100000", "15:00", "16:00"),
        ("DTSTART;TZID=tzone://Microsoft/Utc:20260302T150000", "15:00", "16:00"),
        ("DTSTART:20260302T1600", "15:00", "16:00"),
        ("DTSTART:20260301T240000", "23:00", "00:00"),
        ("DTSTART:20260302T160060Z", "16:00", "17:00"),
    ],
)
def test_the_instant_is_exact_and_the_clock_is_the_persons(start: str, at: str, local: str) -> None:
    frame, _ = read(calendar(start))
    assert (instants(frame)[0][11:16], starts(frame)[0][11:]) == (at, local)
    assert values(frame, "tz") == ["Europe/Berlin"]


OSLO, UTC_HEAD = "X-WR-TIMEZONE:Europe/Oslo\n", "X-WR-TIMEZONE:UTC\n"
NEW_YORK = "X-WR-TIMEZONE:Eastern Standard Time\n"
PRIVATE = VTIMEZONE.format(tzid="Mine", winter="+0300", summer="+0400")


@pytest.mark.parametrize(
    ("head", "start", "at", "warned"),
    [
        ("", "DTSTART:20260302T120000", "11:00", {"tz_assumed": 1}),
        (OSLO, "DTSTART:20260302T120000", "11:00", {}),
        (NEW_YORK, "DTSTART:20260302T120000", "17:00", {}),
        (UTC_HEAD, "DTSTART:20260302T120000", "11:00", {"tz_assumed": 1}),  # UTC is no place
        ("X-WR-TIMEZONE:Nowhere\n", "DTSTART:20260302T120000", "11:00", {"tz_assumed": 1, "tz_unknown": 1}),
        (NEW_YORK, "DTSTART;TZID=Nowhere:20260302T120000", "17:00", {"tz_unknown": 1}),
        ("", "DTSTART;TZID=Nowhere:20260302T120000", "11:00", {"tz_unknown": 1}),
        (NEW_YORK, "DTSTART:20260302T120000Z", "12:00", {}),
        ("", "DTSTART;TZID=Nowhere:20260302T110000Z", "11:00", {}),
        (PRIVATE, "DTSTART;TZID=Mine:20260302T120000", "09:00", {}),
        (PRIVATE.replace("Mine", '"(UTC) X: y"'), 'DTSTART;TZID="(UTC) X: y":20260302T120000', "09:00", {}),
        (PRIVATE.replace("Mine", "(UTC) X: y"), "DTSTART;TZID=(UTC) X: y:20260302T120000", "09:00", {}),
        (PRIVATE + "X-WR-TIMEZONE:Mine\n", "DTSTART:20260302T120000", "09:00", {}),
    ],
)
def test_a_time_without_a_zone_is_on_the_calendars_clock_or_else_the_persons(
    head: str, start: str, at: str, warned: dict[str, int]
) -> None:
    frame, notes = read(calendar(start, head=head))
    assert instants(frame)[0][11:16] == at
    assert said(notes, "warning") == warned


def test_a_zone_may_be_defined_after_its_events_or_in_another_calendar_of_the_file() -> None:
    own = calendar("UID:a\nDTSTART;TZID=Mine:20260302T120000").replace(
        "END:VCALENDAR\n", PRIVATE + "END:VCALENDAR\n"
    )
    other = calendar("UID:b\nDTSTART;TZID=Mine:20260302T120000")
    frame, notes = read(other + own)
    assert [at[11:16] for at in instants(frame)] == ["09:00", "09:00"]
    assert notes == []


def test_what_is_assumed_for_many_events_is_said_once() -> None:
    many = [f"UID:{n}\nDTSTART:20260302T12{n:02}00" for n in range(50)]
    _, notes = read(calendar(*many))
    assert [(note.reason, note.count, note.line) for note in notes] == [("tz_assumed", 50, 3)]


# --- versions and ids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("SEQUENCE:0", "SEQUENCE:3"),
        ("", "SEQUENCE:1"),
        ("SEQUENCE:9", "SEQUENCE:10"),
        ("LAST-MODIFIED:20260101T000000Z", "LAST-MODIFIED:20260102T000000Z"),
        ("DTSTAMP:20260101T000000Z", "DTSTAMP:20260102T000000Z"),
        ("SEQUENCE:1\nLAST-MODIFIED:20260102T000000Z", "SEQUENCE:2\nLAST-MODIFIED:20260101T000000Z"),
    ],
)
@pytest.mark.parametrize("join", ["one", "two"])
def test_of_two_versions_the_newer_counts(older: str, newer: str, join: str) -> None:
    first, second = TEA + older, TEA.replace("0302T15", "0304T15") + newer
    for pair in ([first, second], [second, first]):
        content = calendar(*pair) if join == "one" else "".join(map(calendar, pair))
        frame, notes = read(content)
        assert starts(frame) == ["2026-03-04T16:00"]
        assert said(notes, "left_out") == {"superseded": 1}


def test_the_same_event_twice_is_one() -> None:
    frame, notes = read(calendar(TEA) + calendar(TEA))
    assert frame.height == 1
    assert said(notes, "left_out") == {"repeated": 1}


def test_a_uid_that_a_program_uses_for_everything_loses_nothing() -> None:
    events = [TEA.replace("0302T15", f"030{n}T15") for n in (2, 3, 4)]
    frame, notes = read(calendar(*events))
    assert frame.get_column("id").to_list() == [f"tea/2026-03-0{n}T15:00:00Z" for n in (2, 3, 4)]
    assert said(notes, "warning") == {"uid_reused": 1}
    assert values(frame, "series:text") == [None] * 3


def test_events_without_a_uid_have_an_id_from_what_they_say() -> None:
    nameless = [TEA.replace("UID:tea\n", "").replace("0302T15", f"030{n}T15") for n in (2, 3, 3)]
    frame, notes = read(calendar(*nameless))
    again, _ = read(calendar(*nameless[::-1]))
    assert frame.height == 2
    assert said(notes, "left_out") == {"repeated": 1}
    assert frame.get_column("id").to_list() == again.get_column("id").to_list()


def test_googles_split_series_is_one() -> None:
    first = "UID:4m1c@google.com\nDTSTART:20260302T080000Z\nRRULE:FREQ=WEEKLY;UNTIL=20260315T225959Z"
    rest = "UID:4m1c_R20260316T080000@google.com\nDTSTART:20260316T090000Z\nRRULE:FREQ=WEEKLY;COUNT=2"
    last = "UID:4m1c_R20260330@google.com\nDTSTART;VALUE=DATE:20260330"
    frame, _ = read(calendar(first, rest, last))
    assert values(frame, "series:text") == ["4m1c@google.com"] * 5
    assert frame.get_column("id").to_list() == [
        "4m1c@google.com/2026-03-02T08:00:00Z",
        "4m1c@google.com/2026-03-09T08:00:00Z",
        "4m1c@google.com/2026-03-16T09:00:00Z",
        "4m1c@google.com/2026-03-23T09:00:00Z",
        "4m1c@google.com/2026-03-30",
    ]


def test_overlapping_exports_add_nothing() -> None:
    """The second export was made later: one event has moved, the series was split, an occurrence was put off."""
    series = "UID:s@google.com\nDTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=WEEKLY;UNTIL="
    march = calendar(TEA, series + "20260331")
    april = calendar(
        TEA.replace("0302T15", "0303T15"),
        series + "20260315",
        "UID:s_R20260316T090000@google.com\nDTSTART;TZID=Europe/Berlin:20260316T090000\nRRULE:FREQ=WEEKLY;UNTIL=20260331",
        "UID:s@google.com\nRECURRENCE-ID:20260309T080000Z\nDTSTART:20260310T080000Z",
    )
    sources = [Source.of_bytes(export.encode(), f"{n}.ics") for n, export in enumerate((march, april, march))]
    once, _ = read_observations(sources[:1], BERLIN)
    both, _ = read_observations(sources, BERLIN)
    assert set(both.get_column("id")) == set(once.get_column("id"))
    assert both.height == once.height == 6


# --- the window -----------------------------------------------------------------------------------------------


def test_only_what_has_begun_is_read_and_the_rest_is_counted() -> None:
    options = replace(
        BERLIN, since=datetime(2026, 3, 2, tzinfo=UTC), until=datetime(2026, 3, 4, 12, tzinfo=UTC)
    )
    content = calendar(
        "UID:a\nDTSTART:20200101T120000Z\nRRULE:FREQ=DAILY",
        "UID:b\nDTSTART:20260301T120000Z",
        "UID:c\nDTSTART:20260304T120001Z",
        "UID:d\nDTSTART;VALUE=DATE:20260304",
        "UID:e\nDTSTART;VALUE=DATE:20260302\nRRULE:FREQ=DAILY",
    )
    frame, report = read_observations([Source.of_bytes(content.encode(), "x.ics")], options)
    assert frame.filter(pl.col("series:text") == "a").height == 3
    assert frame.filter(pl.col("series:text") == "e").height == 2, (
        "midnight of 2 March in Berlin is 1 March in UTC"
    )
    assert frame.get_column("id").to_list().count("d") == 1
    assert report.sources["x.ics"].counts == {("left_out", "before_since"): 1, ("left_out", "after_until"): 1}


def test_what_is_dated_before_1970_is_counted_and_left_out() -> None:
    birthday = "UID:b\nDTSTART;VALUE=DATE:16040229\nRRULE:FREQ=YEARLY"
    frame, notes = read(calendar(birthday, "UID:o\nDTSTART;VALUE=DATE:19450508"))
    assert [start[:4] for start in starts(frame)] == [str(year) for year in range(1972, 2030, 4)]
    assert said(notes, "left_out") == {"before_1970": 1}


# --- what is said of the rest ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("SUMMARY:no start", "no_start"),
        ("DTSTART:", "bad_date"),
        ("DTSTART:20260231T090000Z", "bad_date"),
        ("DTSTART:20260201T250000Z", "bad_date"),
        ("DTSTART:tomorrow", "bad_date"),
        ("DTSTART:00010101T000000Z", "bad_date"),
        ("DTSTART:99991231", "bad_date"),
        ("DTSTART;TZID=Europe/Berlin:2026", "bad_date"),
    ],
)
def test_an_event_without_a_usable_start_is_rejected_and_its_neighbours_are_read(
    start: str, reason: str
) -> None:
    frame, notes = read(calendar(TEA, f"UID:bad\n{start}", TEA.replace("UID:tea", "UID:other")))
    assert sorted(frame.get_column("id").to_list()) == ["other", "tea"]
    assert [(n.level, n.reason, n.line, n.item) for n in notes] == [("reject", reason, 9, "bad")]


def test_tasks_and_other_components_are_counted() -> None:
    others = "".join(
        f"BEGIN:{name}\nUID:x\nDTSTART:20260302\nEND:{name}\n"
        for name in ("VTODO", "VTODO", "VJOURNAL", "X-Y")
    )
    frame, notes = read(calendar(TEA, head=others))
    assert frame.height == 1
    assert [(note.message, note.count) for note in notes] == [
        ("tasks are not events", 2),
        ("journal entries are not events", 1),
        ("components named X-Y are not events", 1),
    ]


def test_damage_is_told_where_it_is() -> None:
    broken = "BEGIN:VTIMEZONE\nTZID:Odd\nBEGIN:STANDARD\nTZOFFSETTO:+5328\nEND:STANDARD\nEND:VTIMEZONE\n"
    content = "hello\n" + calendar(TEA + "nonsense", head=broken).replace("SUMMARY:Tea", "SUMMARY:T\xe9")
    frame, notes = read(content.encode("latin-1")[: -len("END:VCALENDAR\n")])
    assert values(frame, "title:text") == ["Té"]
    assert {(note.level, note.reason, note.line) for note in notes} == {
        ("warning", "leading_junk", 1),
        ("warning", "bad_line", 15),
        ("warning", "not_utf8", 12),
        ("warning", "truncated", 2),
        ("warning", "bad_vtimezone", 4),
    }


def test_an_event_that_the_file_ends_in_is_rejected() -> None:
    content = calendar(TEA, TEA.replace("UID:tea", "UID:cut"))
    frame, notes = read(content[: content.rindex("T153000Z")])
    assert frame.get_column("id").to_list() == ["tea"]
    assert said(notes, "reject") == {"truncated": 1}


def test_an_event_that_was_not_closed_is_read() -> None:
    frame, notes = read(calendar(TEA, TEA.replace("UID:tea", "UID:b")).replace("END:VEVENT\n", "", 1))
    assert frame.height == 2
    assert said(notes, "warning") == {"unclosed": 1}


def test_the_end_of_an_event_that_never_began_is_a_reject() -> None:
    frame, notes = read(
        calendar(TEA).replace("END:VCALENDAR", event(TEA).replace("BEGIN:VEVENT", "BEGJN:VEVENT"))
    )
    assert frame.height == 1
    assert said(notes, "reject") == {"no_begin": 1}
    _, notes = read(calendar(TEA).replace("BEGIN:VEVENT\n", "").replace("END:VEVENT\n", ""))
    assert said(notes, "reject") == {"no_begin": 1}


def test_a_calendar_without_events_is_an_empty_frame() -> None:
    frame, notes = read("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    assert (frame.height, notes) == (0, [])


# --- real exports ---------------------------------------------------------------------------------------------


def test_every_real_calendar_is_read_without_a_reject() -> None:
    folder = SHARED / "real"
    if not folder.exists():
        pytest.skip("the shared exports are not on this machine")
    for path in folder.glob("*.ics"):
        frame, notes = read(path.read_bytes())
        assert frame.height > 0, path.name
        assert said(notes, "reject") == {}, path.name


def test_a_file_too_large_for_a_calendar_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read as a whole, so there is a limit, and it is said."""
    content = calendar("UID:a\nDTSTART:20260302T090000Z").encode()
    monkeypatch.setattr("observations.ingest.ical.calendar.LARGEST_BYTES", len(content))
    assert read(content, BERLIN)[0].height == 1
    with pytest.raises(SourceError, match="is not read; export fewer years"):
        read(content + b"\n", BERLIN)
