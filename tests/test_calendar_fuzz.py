"""Calendars of arbitrary bytes: no crash, no hang, no lost event next to damage, nothing dropped without a note."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ics_samples import VTIMEZONE, calendar, read, values
from tests.log_strategies import damaged

# --- any bytes ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(st.binary(max_size=400))
def test_any_bytes(content: bytes) -> None:
    read(content)


LINES = (
    *("BEGIN:VCALENDAR", "END:VCALENDAR", "BEGIN:VEVENT", "END:VEVENT", "BEGIN:VALARM", "END:VALARM"),
    *("BEGIN:VTODO", "END:VTODO", "BEGIN:VTIMEZONE", "END:VTIMEZONE", "BEGIN:STANDARD", "END:STANDARD"),
    *("UID:a", "UID:b", "UID:", "SEQUENCE:1", "SEQUENCE:-1", "DTSTAMP:20260101T000000Z", "STATUS:CANCELLED"),
    *("DTSTART:20260302T090000", "DTSTART;VALUE=DATE:20260302", "DTSTART;TZID=Odd:20260302T090000Z"),
    *("DTSTART;TZID=Europe/Berlin:20260329T023000", "DTSTART:16010101", "DTSTART:99981231T235959Z"),
    *("DTEND:20260302T100000Z", "DTEND;VALUE=DATE:20250101", "DURATION:-P1D", "DURATION:P36525D"),
    *("RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY;COUNT=3;UNTIL=20260401", "RRULE:FREQ=SECONDLY;COUNT=200"),
    *("RRULE:FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", "RRULE:FREQ=HOURLY;BYSETPOS=-1", "RRULE:FREQ=MONTHLY;UNTIL=1"),
    *("EXRULE:FREQ=DAILY;INTERVAL=2", "EXDATE:20260302T090000Z,20260303", "EXDATE;VALUE=DATE:20260304,"),
    *("RDATE;VALUE=PERIOD:20260302T090000Z/PT1H", "RDATE:20260305", "RDATE;VALUE=PERIOD:99980101/P36525D"),
    *("RECURRENCE-ID:20260303T090000Z", "RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20260303"),
    *("RECURRENCE-ID;TZID=Odd:16010101T000000", "ATTENDEE;CN=\"x:mailto:a@b.c", "ORGANIZER:a@b.c", "CATEGORIES:,a\\,"),
    *("TZID:Odd", "TZOFFSETFROM:+0100", "TZOFFSETTO:-0330", "X-WR-TIMEZONE:Odd", "X-MICROSOFT-CDO-ALLDAYEVENT:TRUE"),
    *(" folded", "rubbish", "", "SUMMARY:caf\u00e9 \U0001f642"),
)  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_order_of_lines(lines: list[str], end: str) -> None:
    content = end.join(lines)
    frame, notes = read(content)
    again, _ = read(content)
    assert again.equals(frame)
    if content.startswith("BEGIN:VEVENT" + end) and "END:VEVENT" in lines:
        assert frame.height or notes


VALUES = st.text(alphabet="0123456789TZPDHMSW/+-:,;= ", max_size=20)


@settings(deadline=None, max_examples=80)
@given(
    st.dictionaries(
        st.sampled_from(["DTSTART", "DTEND", "RDATE", "EXDATE", "RECURRENCE-ID", "RRULE:FREQ=DAILY;UNTIL="]),
        VALUES,
    )
)
def test_any_values_of_dates(written: dict[str, str]) -> None:
    lines = "\n".join(f"{name}{'' if '=' in name else ':'}{value}" for name, value in written.items())
    frame, notes = read(calendar("UID:a\n" + lines, "UID:neighbour\nSUMMARY:n\nDTSTART:20260302T090000Z"))
    assert "n" in values(frame, "title:text")
    assert frame.height > 1 or notes


# --- damaged files --------------------------------------------------------------------------------------------

HEAD = "BEGIN:VCALENDAR\nVERSION:2.0\n" + VTIMEZONE.format(tzid="Mine", winter="+0100", summer="+0200")
BEFORE = "BEGIN:VEVENT\nUID:the-event-before\nSUMMARY:before\nDTSTART;TZID=Mine:20260302T090000\nEND:VEVENT\n"
AFTER = BEFORE.replace("before", "after").replace("0302", "0304")
HIT = """BEGIN:VEVENT
UID:the-one-that-was-hit
SUMMARY:Käse und Brot\\, für alle
DTSTART;TZID=Mine:20260303T090000
DTEND;TZID=Mine:20260303T100000
RRULE:FREQ=WEEKLY;COUNT=3
EXDATE;TZID=Mine:20260310T090000
ORGANIZER;CN="Boss: the":mailto:boss@example.com
ATTENDEE;CN=Ada;PARTSTAT=ACCEPTED:mailto:ada@exam
 ple.com
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT10M
END:VALARM
END:VEVENT
"""


@settings(deadline=None, max_examples=80)
@given(damaged(HIT.rstrip("\n").encode()))
def test_damage_within_an_event_costs_no_neighbour(hit: bytes) -> None:
    content = (HEAD + BEFORE).encode() + hit + f"\n{AFTER}END:VCALENDAR\n".encode()
    frame, notes = read(content)
    found = dict(zip(values(frame, "title:text"), frame.get_column("at").dt.hour(), strict=True))
    assert found.get("before") == 8
    assert found.get("after") == 8
    if b"\nDTSTART" in hit:  # so much is left that it must be there, or something is said
        assert frame.height > 2 or notes


@settings(deadline=None, max_examples=80)
@given(damaged((HEAD + BEFORE + HIT + AFTER + "END:VCALENDAR\n").encode()))
def test_damage_anywhere_is_survived(content: bytes) -> None:
    frame, notes = read(content)
    assert frame.height >= 2 or notes


@settings(deadline=None, max_examples=80)
@given(st.integers(0, len(HEAD + BEFORE + HIT)))
def test_a_file_cut_anywhere_keeps_the_events_before(length: int) -> None:
    content = (HEAD + BEFORE + HIT).encode()[:length]
    frame, notes = read(content)
    assert ("before" in values(frame, "title:text")) is (length >= len(HEAD + BEFORE) - len("END:VEVENT\n"))
    assert notes or length == 0


def test_a_doubled_file_is_the_same_file() -> None:
    content = HEAD + BEFORE + HIT + AFTER + "END:VCALENDAR\n"
    once, _ = read(content)
    twice, _ = read(content * 2)
    assert twice.equals(once)
