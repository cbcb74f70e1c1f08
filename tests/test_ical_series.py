"""The occurrences of a series, for any mixture of dates, local times and UTC in its exceptions."""

from __future__ import annotations

import pytest

from tests.ics_samples import calendar, instants, read, said, starts, values

WEEKLY = """UID:s
DTSTART;TZID=Europe/Vienna:20260302T090000
DTEND;TZID=Europe/Vienna:20260302T100000
RRULE:FREQ=WEEKLY;COUNT=6
SUMMARY:Choir
"""
"""Mondays at 09:00: 2, 9, 16, 23 March, and after the clocks change 30 March and 6 April."""

ALL_DAY = """UID:d
DTSTART;VALUE=DATE:20260302
RRULE:FREQ=WEEKLY;COUNT=4
"""

FLOATING = """UID:f
DTSTART:20260302T090000
RRULE:FREQ=WEEKLY;COUNT=4
"""

IN_UTC = """UID:u
DTSTART:20260302T090000Z
RRULE:FREQ=WEEKLY;COUNT=4
"""


def dates(*events: str, head: str = "") -> list[str]:
    """The dates (MM-DD) on which the events took place."""
    frame, _ = read(calendar(*events, head=head))
    return [start[5:10] for start in starts(frame)]


# --- exceptions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "exception",
    [
        "EXDATE;TZID=Europe/Vienna:20260316T090000",
        "EXDATE;TZID=America/New_York:20260316T040000",
        "EXDATE;TZID=W. Europe Standard Time:20260316T090000",
        "EXDATE;TZID=(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna:20260316T090000,20260317T090000",
        "EXDATE:20260316T080000Z",
        "EXDATE:20260316T090000",
        "EXDATE;VALUE=DATE:20260316",
        "EXDATE:20260316",
        "EXDATE;TZID=Europe/Vienna:20260316T000000",  # Exchange: the day at midnight
        "EXDATE;VALUE=DATE;TZID=Europe/Vienna:20260316",
        "EXDATE:20260316T080000Z,20260317T080000Z,",
        "EXDATE:20200101T080000Z\nEXDATE:20260316T080000Z",
        "EXDATE:rubbish,20260316T080000Z",
    ],
)
def test_an_exception_to_a_zoned_series(exception: str) -> None:
    assert dates(WEEKLY + exception) == ["03-02", "03-09", "03-23", "03-30", "04-06"]


@pytest.mark.parametrize(
    "exception",
    [
        "EXDATE;VALUE=DATE:20260316",
        "EXDATE:20260316",
        "EXDATE:20260316T000000",
        "EXDATE;TZID=Europe/Berlin:20260316T000000",
        "EXDATE;TZID=America/New_York:20260316T000000",
        "EXDATE:20260316T000000Z",
        "EXDATE:20260315T230000Z",  # the midnight of Berlin
        "EXDATE;TZID=Europe/Berlin:20260316T090000",
    ],
)
def test_an_exception_to_an_all_day_series(exception: str) -> None:
    assert dates(ALL_DAY + exception) == ["03-02", "03-09", "03-23"]


@pytest.mark.parametrize(
    "exception",
    [
        "EXDATE:20260316T090000",
        "EXDATE;TZID=America/New_York:20260316T090000",  # the zone is an afterthought
        "EXDATE:20260316T090000Z",
        "EXDATE:20260316T080000Z",  # 09:00 in Berlin
        "EXDATE;VALUE=DATE:20260316",
    ],
)
def test_an_exception_to_a_floating_series(exception: str) -> None:
    assert dates(FLOATING + exception) == ["03-02", "03-09", "03-23"]


@pytest.mark.parametrize(
    "exception",
    [
        "EXDATE:20260316T090000Z",
        "EXDATE:20260316T090000",
        "EXDATE;TZID=Europe/Berlin:20260316T100000",
        "EXDATE;VALUE=DATE:20260316",
    ],
)
def test_an_exception_to_a_series_in_utc(exception: str) -> None:
    assert dates(IN_UTC + exception) == ["03-02", "03-09", "03-23"]


@pytest.mark.parametrize(
    "exception",
    ["EXDATE:20260316T100000Z", "EXDATE;TZID=Europe/Vienna:20260316T100000", "EXDATE;VALUE=DATE:20260317"],
)
def test_an_exception_at_another_time_takes_nothing_out(exception: str) -> None:
    assert len(dates(WEEKLY + exception)) == 6


def test_a_midnight_in_utc_is_a_time_and_not_a_day() -> None:
    """19:00 in New York is midnight in UTC: only that occurrence is taken out, not the next day's."""
    daily = "UID:n\nDTSTART;TZID=America/New_York:20260105T190000\nRRULE:FREQ=DAILY;COUNT=3\n"
    frame, _ = read(calendar(daily + "EXDATE:20260107T000000Z"))
    assert instants(frame) == ["2026-01-06T00:00Z", "2026-01-08T00:00Z"]


def test_a_value_that_cannot_be_read_is_told_and_passed_over() -> None:
    _, notes = read(calendar(WEEKLY + "EXDATE:rubbish\nRDATE:20261301T000000Z"))
    assert said(notes, "warning") == {"bad_exdate": 1, "bad_rdate": 1}
    assert notes[0].line == 3
    assert notes[0].item == "s"


def test_an_exception_rule() -> None:
    assert dates(WEEKLY + "EXRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=2") == ["03-09", "03-23", "03-30", "04-06"]


# --- overrides ------------------------------------------------------------------------------------------------


def override(master: str, named: str, more: str = "") -> str:
    """An override of the occurrence on 16 March, put off to 17 March at noon."""
    uid = master.splitlines()[0]
    return f"{uid}\n{named}\nDTSTART;TZID=Europe/Vienna:20260317T120000\nSUMMARY:Moved\n{more}"


@pytest.mark.parametrize("first", ["master", "override"])
@pytest.mark.parametrize(
    ("master", "named"),
    [
        (WEEKLY, "RECURRENCE-ID;TZID=Europe/Vienna:20260316T090000"),
        (WEEKLY, "RECURRENCE-ID:20260316T080000Z"),
        (WEEKLY, "RECURRENCE-ID:20260316T090000"),
        (WEEKLY, "RECURRENCE-ID;VALUE=DATE:20260316"),
        (WEEKLY, "RECURRENCE-ID;TZID=America/New_York:20260316T040000"),
        (WEEKLY, "RECURRENCE-ID;TZID=Europe/Vienna:20260316T000000"),
        (ALL_DAY, "RECURRENCE-ID;VALUE=DATE:20260316"),
        (ALL_DAY, "RECURRENCE-ID;TZID=Europe/Berlin:20260316T000000"),
        (ALL_DAY, "RECURRENCE-ID:20260316T000000Z"),
        (ALL_DAY, "RECURRENCE-ID:20260315T230000Z"),
        (FLOATING, "RECURRENCE-ID:20260316T090000"),
        (FLOATING, "RECURRENCE-ID:20260316T090000Z"),
        (FLOATING, "RECURRENCE-ID;VALUE=DATE:20260316"),
        (IN_UTC, "RECURRENCE-ID:20260316T090000Z"),
        (IN_UTC, "RECURRENCE-ID:20260316T090000"),
        (IN_UTC, "RECURRENCE-ID;TZID=Europe/Berlin:20260316T100000"),
    ],
)
def test_an_override_takes_the_place_of_its_occurrence(master: str, named: str, first: str) -> None:
    events = [master, override(master, named)]
    frame, notes = read(calendar(*(events if first == "master" else events[::-1])))
    moved = frame.filter(frame.get_column("title:text") == "Moved")
    assert starts(moved) == ["2026-03-17T12:00"]
    assert not [start for start in starts(frame) if start.startswith("2026-03-16")]
    assert frame.height == (6 if master is WEEKLY else 4)
    assert said(notes, "left_out") == {}


def test_an_overrides_id_is_that_of_the_occurrence_that_it_moves() -> None:
    plain, _ = read(calendar(WEEKLY))
    moved, _ = read(calendar(WEEKLY, override(WEEKLY, "RECURRENCE-ID:20260316T080000Z")))
    alone, _ = read(calendar(override(WEEKLY, "RECURRENCE-ID:20260316T080000Z")))
    assert plain.get_column("id").to_list() == moved.get_column("id").to_list()
    assert alone.get_column("id").to_list() == ["s/2026-03-16T08:00:00Z"]
    assert values(alone, "series:text") == ["s"]


def test_an_override_that_cannot_be_placed_stands_where_it_says() -> None:
    frame, notes = read(calendar(WEEKLY, override(WEEKLY, "RECURRENCE-ID:rubbish")))
    assert "2026-03-17T12:00" in starts(frame)
    assert said(notes, "warning") == {"bad_recurrence_id": 1}


@pytest.mark.parametrize(
    ("master", "other", "stands"),
    [
        ("SEQUENCE:1", "SEQUENCE:1", False),  # taken out by EXDATE
        ("SEQUENCE:1", "SEQUENCE:2", True),  # and put back later
        ("SEQUENCE:2", "SEQUENCE:1", False),
    ],
)
def test_an_exception_and_an_override_for_one_occurrence(master: str, other: str, stands: bool) -> None:
    events = (
        f"{WEEKLY}EXDATE:20260316T080000Z\n{master}",
        override(WEEKLY, "RECURRENCE-ID:20260316T080000Z", other),
    )
    assert ("03-17" in dates(*events)) is stands
    assert "03-16" not in dates(*events)


@pytest.mark.parametrize(("sequence", "stands"), [(0, False), (1, True), (2, True)])
def test_an_override_of_no_occurrence_stands_unless_its_master_is_newer(sequence: int, stands: bool) -> None:
    events = (
        WEEKLY + "SEQUENCE:1",
        override(WEEKLY, "RECURRENCE-ID:20260318T080000Z", f"SEQUENCE:{sequence}"),
    )
    frame, notes = read(calendar(*events))
    assert frame.height == 6 + stands
    assert said(notes, "left_out") == ({} if stands else {"superseded": 1})


def test_an_older_override_of_an_occurrence_that_the_newer_master_has_counts() -> None:
    events = (WEEKLY + "SEQUENCE:3", override(WEEKLY, "RECURRENCE-ID:20260316T080000Z", "SEQUENCE:1"))
    assert dates(*events) == ["03-02", "03-09", "03-17", "03-23", "03-30", "04-06"]


def test_of_two_overrides_of_one_occurrence_the_newer_counts() -> None:
    newer = override(WEEKLY, "RECURRENCE-ID:20260316T080000Z", "SEQUENCE:2").replace("0317T12", "0318T12")
    older = override(WEEKLY, "RECURRENCE-ID;TZID=Europe/Vienna:20260316T090000", "SEQUENCE:1")
    for events in ([newer, older], [older, newer]):
        assert dates(WEEKLY, *events) == ["03-02", "03-09", "03-18", "03-23", "03-30", "04-06"]


# --- this and future ------------------------------------------------------------------------------------------


def test_an_override_of_this_and_future_moves_and_changes_what_follows() -> None:
    future = """UID:s
RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Vienna:20260316T090000
DTSTART;TZID=Europe/Vienna:20260317T103000
DTEND;TZID=Europe/Vienna:20260317T110000
SUMMARY:Choir, new time
"""
    single = (
        "UID:s\nRECURRENCE-ID:20260330T070000Z\nDTSTART;TZID=Europe/Vienna:20260330T200000\nSUMMARY:Concert\n"
    )
    frame, _ = read(calendar(single, future, WEEKLY))
    assert starts(frame) == [
        "2026-03-02T09:00",
        "2026-03-09T09:00",
        "2026-03-17T10:30",
        "2026-03-24T10:30",
        "2026-03-30T20:00",
        "2026-04-07T10:30",
    ]
    assert values(frame, "title:text") == ["Choir"] * 2 + ["Choir, new time"] * 2 + [
        "Concert",
        "Choir, new time",
    ]
    assert values(frame, "duration_minutes:number") == [60, 60, 30, 30, 0, 30]
    assert frame.get_column("id").to_list()[3] == "s/2026-03-23T08:00:00Z"


def test_cancelling_this_and_future_ends_a_series() -> None:
    cancel = "UID:s\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260323T080000Z\nDTSTART:20260323T080000Z\nSTATUS:CANCELLED"
    frame, notes = read(calendar(WEEKLY, cancel))
    assert [start[5:10] for start in starts(frame)] == ["03-02", "03-09", "03-16"]
    assert said(notes, "left_out") == {"cancelled": 3}


# --- more dates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "start", "minutes"),
    [
        ("RDATE;TZID=Europe/Vienna:20260318T110000", "2026-03-18T11:00", 60),
        ("RDATE:20260318T100000Z", "2026-03-18T11:00", 60),
        ("RDATE;VALUE=DATE:20260318", "2026-03-18T09:00", 60),
        ("RDATE;VALUE=PERIOD:20260318T100000Z/20260318T123000Z", "2026-03-18T11:00", 150),
        ("RDATE;VALUE=PERIOD:20260318T100000Z/PT15M", "2026-03-18T11:00", 15),
        ("RDATE;VALUE=PERIOD;TZID=Europe/Vienna:20260318T110000/PT15M", "2026-03-18T11:00", 15),
        ("RDATE;VALUE=PERIOD:20260318T100000Z/nonsense", "2026-03-18T11:00", 60),
        ("RDATE;VALUE=PERIOD:20260318T100000Z/20260318T090000Z", "2026-03-18T11:00", 0),
    ],
)
def test_a_further_date(extra: str, start: str, minutes: float) -> None:
    frame, _ = read(calendar(WEEKLY + extra))
    assert frame.height == 7
    assert starts(frame)[3] == start
    assert values(frame, "duration_minutes:number")[3] == minutes


def test_further_dates_without_a_rule_make_a_series() -> None:
    frame, _ = read(calendar("UID:r\nDTSTART;VALUE=DATE:20260302\nRDATE;VALUE=DATE:20260405,20260501"))
    assert [start[5:10] for start in starts(frame)] == ["03-02", "04-05", "05-01"]
    assert values(frame, "series:text") == ["r"] * 3


def test_a_further_date_that_the_rule_has_already_is_one_occurrence() -> None:
    assert len(dates(WEEKLY + "RDATE:20260316T080000Z")) == 6


def test_two_rules_are_joined() -> None:
    two = WEEKLY.replace("COUNT=6", "UNTIL=20260316T080000Z") + "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260312"
    assert dates(two) == ["03-02", "03-04", "03-09", "03-11", "03-16"]


# --- ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "count"),
    [
        ("20260316", 3),  # the whole day
        ("20260315", 2),
        ("20260316T080000Z", 3),  # just now
        ("20260316T075959Z", 2),
        ("20260316T090000", 3),  # on the clock of the series
        ("20260316T085959", 2),
        ("99991231T235959Z", 201),
        ("45001231", 201),  # as good as never: up to --until
    ],
)
def test_until_in_every_form(until: str, count: int) -> None:
    found = dates(WEEKLY.replace("COUNT=6", f"UNTIL={until}"))
    assert len(found) == count


@pytest.mark.parametrize(
    ("until", "count"),
    [
        ("20260316", 3),
        ("20260316T000000Z", 3),
        ("20260315T230000Z", 3),
        ("20260315", 2),
        ("20260316T000000", 3),
    ],
)
def test_until_of_an_all_day_series(until: str, count: int) -> None:
    assert len(dates(ALL_DAY.replace("COUNT=4", f"UNTIL={until}"))) == count


def test_both_until_and_count_end_a_series() -> None:
    assert len(dates(WEEKLY.replace("COUNT=6", "COUNT=6;UNTIL=20260316"))) == 3
    assert len(dates(WEEKLY.replace("COUNT=6", "COUNT=2;UNTIL=20260316"))) == 2


def test_a_series_that_ends_before_it_starts_has_no_occurrence() -> None:
    frame, notes = read(calendar(WEEKLY.replace("COUNT=6", "UNTIL=20250101")))
    assert frame.height == 0
    assert said(notes, "warning") == {"until_before_start": 1}


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("FREQ=SOMETIMES", "bad_rule"),
        ("FREQ=WEEKLY;UNTIL=soon", "bad_rule"),
        ("FREQ=WEEKLY;INTERVAL=0", "bad_rule"),
        ("FREQ=SECONDLY", "rule_too_dense"),
        ("FREQ=MINUTELY;UNTIL=20300101T000000Z", "rule_too_dense"),
    ],
)
def test_a_rule_that_cannot_be_followed_leaves_the_first_date(rule: str, reason: str) -> None:
    frame, notes = read(calendar(WEEKLY.replace("FREQ=WEEKLY;COUNT=6", rule)))
    assert starts(frame) == ["2026-03-02T09:00"]
    assert said(notes, "warning") == {reason: 1}


def test_the_first_date_counts_also_where_the_rule_does_not_yield_it() -> None:
    """RFC 5545: "The DTSTART property value always counts as the first occurrence"."""
    assert dates(WEEKLY.replace("COUNT=6", "BYDAY=WE;COUNT=3")) == ["03-02", "03-04", "03-11"]


# --- clocks that change ---------------------------------------------------------------------------------------


def test_a_series_keeps_its_wall_clock() -> None:
    frame, _ = read(calendar(WEEKLY))
    assert {start[11:] for start in starts(frame)} == {"09:00"}
    assert instants(frame)[3:5] == ["2026-03-23T08:00Z", "2026-03-30T07:00Z"]


def test_a_time_that_the_clocks_jump_over_is_no_occurrence_and_uses_up_no_count() -> None:
    daily = "UID:g\nDTSTART;TZID=Europe/Berlin:20260328T023000\nRRULE:FREQ=DAILY;COUNT=3"
    frame, _ = read(calendar(daily))
    assert starts(frame) == ["2026-03-28T02:30", "2026-03-30T02:30", "2026-03-31T02:30"]


@pytest.mark.parametrize(
    "lines",
    [
        "DTSTART;TZID=Europe/Berlin:20260329T023000",
        "DTSTART;TZID=Europe/Berlin:20260328T010000\nRDATE;TZID=Europe/Berlin:20260329T023000\nEXDATE:20260328T000000Z",
    ],
)
def test_a_time_jumped_over_that_is_written_out_is_moved_on(lines: str) -> None:
    frame, _ = read(calendar("UID:g\n" + lines))
    assert (starts(frame), instants(frame)) == (["2026-03-29T03:30"], ["2026-03-29T01:30Z"])


def test_of_a_time_that_comes_twice_the_first_is_meant() -> None:
    daily = "UID:g\nDTSTART;TZID=Europe/Berlin:20261024T023000\nRRULE:FREQ=DAILY;COUNT=3"
    frame, _ = read(calendar(daily))
    assert instants(frame) == ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"]


def test_times_of_day_of_an_all_day_series_mean_nothing() -> None:
    assert dates(ALL_DAY.replace("FREQ=WEEKLY", "FREQ=DAILY;BYHOUR=9,10")) == [
        "03-02",
        "03-03",
        "03-04",
        "03-05",
    ]
