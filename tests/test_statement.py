"""Each rule gives one natural sentence."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from patterns.candidates import PatternType
from patterns.registry import PATTERN_TYPES, rule_of
from patterns.rules.phrases_of_time import dates_in_words
from patterns.rules.recurrence import BYDAY, RULES

WEEK = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
GYM = {"type": "calendar", "title": "Gym"}
EVENTS = {"type": "calendar"}
PLANNING = {"type": "calendar", "category": "planning"}
SENT = {"type": "email", "action": "sent"}
LEGAL = {"type": "email", "action": "sent", "category": "legal"}

Rule = dict[str, object]
Case = tuple[PatternType, Rule, str]


def statement(type: PatternType, rule: Rule) -> str:
    return rule_of(type, rule).sentence()


def recurrence(rrule: str) -> str:
    return dates_in_words([rrule])


def temporal(
    says: str, where: dict[str, str] = GYM, rrule: str = WEEKDAYS, time: str = "07:00", tolerance: int = 10
) -> Case:
    rule: Rule = {"where": where, "rrule": rrule, "time": time, "tolerance_minutes": tolerance}
    return "temporal", rule | ({"dtstart": "2026-03-05"} if "INTERVAL" in rrule else {}), says


def preference(says: str, where: dict[str, str], feature: str, **value: object) -> Case:
    return "preference", {"where": where, "feature": feature, **value}, says


def relationship(says: str, where: dict[str, str], feature: str, value: str = "ana@example.org") -> Case:
    return "relationship", {"where": where, "feature": feature, "value": value}, says


def workflow(says: str, minutes: int, *steps: dict[str, str]) -> Case:
    return "workflow", {"steps": list(steps), "within_minutes": minutes}, says


def avoidance(says: str, where: dict[str, str], days: list[str], low: str, high: str) -> Case:
    return "avoidance", {"where": where, "days": days, "from": low, "to": high}, says


SENTENCES = [
    # temporal: what
    temporal("Gym on weekdays at 07:00"),
    temporal("Events on weekdays at 07:00", EVENTS),
    temporal("Events on weekdays at 07:00", {**EVENTS, "action": "created"}),
    temporal("Cancels Gym on weekdays at 07:00", {**GYM, "action": "cancelled"}),
    temporal("Workout on weekdays at 07:00", {"type": "calendar", "category": "workout"}),
    temporal("1:1 ana on weekdays at 07:00", {"type": "calendar", "kind": "1:1 ana"}),
    temporal("Sends mail on weekdays at 07:00", SENT),
    temporal("Sends legal mail on weekdays at 07:00", LEGAL),
    temporal(
        "Gets invoice mail on weekdays at 07:00", {"type": "email", "action": "received", "kind": "invoice"}
    ),
    temporal("Runs commands on weekdays at 07:00", {"type": "command"}),
    temporal(
        "Runs git pull on weekdays at 07:00", {"type": "command", "action": "ran", "subcommand": "git pull"}
    ),
    temporal(
        "Commits on weekdays between 17:00 and 19:00",
        {"type": "commit", "action": "committed"},
        time="18:00",
        tolerance=60,
    ),
    temporal('Say "hi" & <b> on weekdays at 07:00', {"type": "calendar", "title": 'Say "hi" & <b>'}),
    temporal("Frühstück 🥐 on weekdays at 07:00", {"type": "calendar", "title": "Frühstück 🥐"}),
    # temporal: when
    temporal("Gym on weekdays between 06:15 and 07:45", tolerance=45),
    temporal("Gym on weekdays at 07:00", tolerance=44),
    temporal("Gym on weekdays between 22:00 and 01:00", time="23:30", tolerance=90),
    temporal("Gym on weekdays between 22:30 and 02:30", time="00:30", tolerance=120),
    temporal("Gym daily at 07:00", rrule="FREQ=DAILY"),
    temporal("Gym every other Thursday at 07:00", rrule="FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"),
    temporal("Gym on the last Friday of the month at 07:00", rrule="FREQ=MONTHLY;BYDAY=-1FR"),
    # preference
    preference("Prefers Room 4 for planning events", PLANNING, "location", value="Room 4"),
    preference("Prefers 25-minute events", EVENTS, "duration_minutes", value=25.0),
    preference("Prefers 25–35-minute planning events", PLANNING, "duration_minutes", min=25.0, max=35.0),
    preference("Prefers 22.5-minute events", EVENTS, "duration_minutes", value=22.5),
    preference("Prefers priority high for events", EVENTS, "priority", value="high"),
    # relationship
    relationship("CCs ana@example.org on mail", {"type": "email"}, "cc"),
    relationship("Writes to ana@example.org in mail", {"type": "email"}, "to"),
    relationship("Gets mail from ana@example.org", {"type": "email"}, "from"),
    relationship("Planning events organized by ana@example.org", PLANNING, "organizer"),
    relationship("Planning events with ana@example.org", PLANNING, "participants"),
    # workflow
    workflow(
        "After getting invoice mail, Pay bills within 30 minutes",
        30,
        {"type": "email", "action": "received", "category": "invoice"},
        {"type": "calendar", "title": "Pay bills"},
    ),
    workflow(
        "After Standup, Focus within an hour",
        60,
        {"type": "calendar", "title": "Standup"},
        {"type": "calendar", "title": "Focus"},
    ),
    workflow(
        "After git pull and then make, sends report mail within 2 hours",
        120,
        {"type": "command", "subcommand": "git pull"},
        {"type": "command", "program": "make"},
        {"type": "email", "action": "sent", "category": "report"},
    ),
    workflow(
        "After sending mail, gets legal mail within 90 minutes", 90, SENT, {**LEGAL, "action": "received"}
    ),
    workflow("After Gym, runs make within a minute", 1, GYM, {"type": "command", "program": "make"}),
    # avoidance
    avoidance("No events on Fridays between 13:00 and 20:00", EVENTS, ["friday"], "13:00", "20:00"),
    avoidance("No events on Fridays after 13:00", EVENTS, ["friday"], "13:00", "24:00"),
    avoidance("No events before 09:00", EVENTS, WEEK, "00:00", "09:00"),
    avoidance("No events between 13:00 and 17:00", EVENTS, WEEK, "13:00", "17:00"),
    avoidance("Never sends mail on weekends", SENT, ["saturday", "sunday"], "00:00", "24:00"),
    avoidance(
        "Never runs commands on weekdays between 12:00 and 13:00",
        {"type": "command"},
        WEEK[:5],
        "12:00",
        "13:00",
    ),
]

AWKWARD = [
    temporal("Is active on weekdays at 07:00", {}),
    avoidance("Never active on Sundays", {}, ["sunday"], "00:00", "24:00"),
    preference("Prefers Home", {}, "location", value="Home"),
    temporal("Door opened on weekdays at 07:00", {"type": "door", "action": "opened"}),
    # Whether a word has a plural (orders, but not musics) no rule says: what is not known is an event.
    temporal("Purchase order events on weekdays at 07:00", {"type": "purchase_order"}),
    temporal("Music events on weekdays at 07:00", {"type": "music"}),
    temporal("Team sync on weekdays at 07:00", {"type": "calendar", "title": "Team\nsync"}),
    temporal(
        "Runs git in /src/polars on weekdays at 07:00",
        {"type": "command", "program": "git", "cwd": "/src/polars"},
    ),
    temporal("Gym in Room 4 on weekdays at 07:00", {**GYM, "location": "Room 4"}),
    preference("Prefers 30-minute events", EVENTS, "duration_minutes", min=30.0, max=30.0),
    preference("Prefers planning events to be remote", PLANNING, "remote", value=True),
    preference("Prefers planning events not to be remote", PLANNING, "remote", value=False),
    preference("Prefers size 1000.5–2000000 for sent mail", SENT, "size", min=1000.5, max=2e6),
    relationship("CCs ana@example.org on legal mail", LEGAL, "cc"),
    relationship("Writes to ana@example.org in legal mail", LEGAL, "to"),
    relationship("Gets mail from ana@example.org", {"type": "email", "action": "received"}, "from"),
    workflow("After an event, runs git within 5 minutes", 5, EVENTS, {"type": "command", "program": "git"}),
    workflow(
        "After an order event, commits within 5 minutes",
        5,
        {"type": "order"},
        {"type": "commit", "action": "committed"},
    ),
    avoidance("No planning events on Mondays", PLANNING, ["monday"], "00:00", "24:00"),
    avoidance(
        "No events between 13:00 and 17:00 except on Fridays",
        EVENTS,
        [*WEEK[:4], *WEEK[5:]],
        "13:00",
        "17:00",
    ),
]
"""Rules of shapes and of logs that the usual words do not fit."""

CONDITIONS = [
    # names, classes and places
    temporal("Sends legal mail on weekdays at 07:00", {**SENT, "labels": "legal"}),
    temporal("Sends legal mail on weekdays at 07:00", {**SENT, "categories": "legal"}),
    temporal("Sends mail about Lunch on weekdays at 07:00", {**SENT, "subject": "Lunch"}),
    temporal("Events in Room 4 on weekdays at 07:00", {**EVENTS, "location": "Room 4"}),
    temporal("Events at 12 High Street on weekdays at 07:00", {**EVENTS, "location": "12 High Street"}),
    temporal("Gym with priority high on weekdays at 07:00", {**GYM, "priority": "high"}),
    temporal("Commits in polars on weekdays at 07:00", {"type": "commit", "repo": "polars"}),
    avoidance("No Gym on Mondays", GYM, ["monday"], "00:00", "24:00"),
    avoidance("No events except on Fridays", EVENTS, [*WEEK[:4], *WEEK[5:]], "00:00", "24:00"),
    preference("Prefers /src for git", {"type": "command", "program": "git"}, "cwd", value="/src"),
    # which of several conditions names the thing, none is left out
    temporal("Gym with category sport on weekdays at 07:00", {**GYM, "category": "sport"}),
    temporal('Sends mail about "" on weekdays at 07:00', {**SENT, "subject": " "}),
    # what was done
    workflow(
        "After cancelling an event, sends mail within an hour", 60, {**EVENTS, "action": "cancelled"}, SENT
    ),
    workflow(
        "After an update event, runs a command within an hour", 60, {"type": "update"}, {"type": "command"}
    ),
    workflow("After a user event, an event within an hour", 60, {"type": "user"}, EVENTS),
    preference(
        "Prefers 20-minute cancelled events", {**EVENTS, "action": "cancelled"}, "duration_minutes", value=20
    ),
    temporal("Uses Firefox on weekdays at 07:00", {"type": "application", "app": "Firefox"}),
    temporal("Gym on weekdays at 07:00", {"type": "event", "action": "happened", "title": "Gym"}),
    workflow(
        "After Register, Check ticket within an hour",
        60,
        {"type": "process", "action": "Register"},
        {"type": "process", "action": "Check ticket"},
    ),
    # which way the mail went
    relationship("Gets legal mail to ana@example.org", {**LEGAL, "action": "received"}, "to"),
    relationship("Gets legal mail with ana@example.org in copy", {**LEGAL, "action": "received"}, "cc"),
    relationship("Sends mail from ana@example.org", SENT, "from"),
    # values
    preference("Prefers 0.22–1.32-minute events", EVENTS, "duration_minutes", min=0.216667, max=1.31667),
    preference("Prefers 0.21-minute events", EVENTS, "duration_minutes", min=0.211, max=0.213),
    preference("Prefers mail to have attachments", {"type": "email"}, "has_attachments", value=True),
    preference("Prefers events not to be all day", EVENTS, "is_all_day", value=False),
]


@pytest.mark.parametrize(("type", "rule", "says"), SENTENCES, ids=[says for *_, says in SENTENCES])
def test_each_rule_is_one_plain_sentence(type: PatternType, rule: Rule, says: str) -> None:
    assert statement(type, rule) == says


@pytest.mark.parametrize(
    ("type", "rule", "says"), AWKWARD + CONDITIONS, ids=[says for *_, says in AWKWARD + CONDITIONS]
)
def test_awkward_rules_read_as_english_too(type: PatternType, rule: Rule, says: str) -> None:
    assert statement(type, rule) == says


def test_the_table_has_every_type() -> None:
    assert {type for type, *_ in SENTENCES} == set(PATTERN_TYPES)


@pytest.mark.parametrize(("type", "rule"), [case[:2] for case in SENTENCES + AWKWARD + CONDITIONS])
def test_a_sentence_begins_large_and_ends_without_a_stop(type: PatternType, rule: Rule) -> None:
    said = statement(type, rule)
    assert re.fullmatch(r"[A-Z0-9].*[^\s.]", said, flags=re.DOTALL)
    assert "  " not in said
    for code in ("None", "BYDAY", "FREQ", "{", "24:00", "['"):
        assert code not in said


def test_the_same_rule_is_always_the_same_sentence() -> None:
    """In whatever order the fields of a rule were written down."""
    for type, rule, says in SENTENCES:
        where = rule.get("where")
        turned = dict(list(rule.items())[::-1])
        if isinstance(where, dict):
            turned["where"] = dict(list(where.items())[::-1])
        assert statement(type, turned) == says


# --- recurrence -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rrule", "says"),
    [
        ("FREQ=DAILY", "daily"),
        (WEEKDAYS, "on weekdays"),
        ("FREQ=WEEKLY;BYDAY=SA,SU", "on weekends"),
        ("FREQ=WEEKLY;BYDAY=TU", "on Tuesdays"),
        ("FREQ=WEEKLY;BYDAY=TU,TH", "on Tuesdays and Thursdays"),
        ("FREQ=WEEKLY;BYDAY=MO,WE,FR", "on Mon, Wed and Fri"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,SA,SU", "daily except Fridays"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", "every other Thursday"),
        ("FREQ=WEEKLY;INTERVAL=3;BYDAY=TH", "every third Thursday"),
        ("FREQ=WEEKLY;INTERVAL=4;BYDAY=TH", "every fourth Thursday"),
        ("FREQ=MONTHLY;BYMONTHDAY=1", "on the 1st of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=2", "on the 2nd of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=3", "on the 3rd of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=11", "on the 11th of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=12", "on the 12th of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=13", "on the 13th of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=21", "on the 21st of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=22", "on the 22nd of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=31", "on the 31st of the month"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "on the last day of the month"),
        ("FREQ=MONTHLY;BYDAY=1MO", "on the first Monday of the month"),
        ("FREQ=MONTHLY;BYDAY=2SU", "on the second Sunday of the month"),
        ("FREQ=MONTHLY;BYDAY=4WE", "on the fourth Wednesday of the month"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "on the last Friday of the month"),
    ],
)
def test_recurrences_in_words(rrule: str, says: str) -> None:
    assert recurrence(rrule) == says


def test_every_rule_that_can_be_found_has_its_own_words() -> None:
    """Rules that begin somewhere differ by their first date, which the sentence leaves out."""
    words = [recurrence(rule.rrule()) for rule in RULES if not rule.needs_start]
    assert len(set(words)) == len(words)
    assert all(recurrence(rule.rrule()).startswith("every ") for rule in RULES if rule.needs_start)


def test_six_days_name_the_missing_one() -> None:
    for days in combinations(BYDAY, 6):
        missing = next(name for name, code in zip(WEEK, BYDAY, strict=True) if code not in days)
        assert recurrence("FREQ=WEEKLY;BYDAY=" + ",".join(days)) == f"daily except {missing.capitalize()}s"


# --- units ----------------------------------------------------------------------------------------------------


def dates(rrule: str, **more: object) -> tuple[PatternType, Rule]:
    return "temporal", {"where": {}, "rrule": rrule, **more}


@pytest.mark.parametrize(
    ("case", "unit"),
    [
        (dates("FREQ=DAILY"), ("day", "days")),
        (dates(WEEKDAYS), ("day", "days")),
        (dates("FREQ=WEEKLY;BYDAY=TU"), ("Tuesday", "Tuesdays")),
        (dates("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", dtstart="2026-03-03"), ("Tuesday", "Tuesdays")),
        (dates("FREQ=MONTHLY;BYMONTHDAY=1"), ("month", "months")),
        (dates("FREQ=MONTHLY;BYDAY=-1FR"), ("month", "months")),
        (dates("FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=1"), ("year", "years")),
        (("temporal", {"where": {}, "per": "week", "min": 3}), ("week", "weeks")),
        (avoidance("", EVENTS, ["friday"], "13:00", "24:00")[:2], ("Friday", "Fridays")),
        (avoidance("", EVENTS, WEEK[:5], "13:00", "24:00")[:2], ("day", "days")),
        (preference("", EVENTS, "location", value="Room 4")[:2], ("occasion", "occasions")),
        (workflow("", 5, EVENTS, GYM)[:2], ("occasion", "occasions")),
    ],
)
def test_what_one_opportunity_is_called(case: tuple[PatternType, Rule], unit: tuple[str, str]) -> None:
    assert rule_of(*case).unit == unit
