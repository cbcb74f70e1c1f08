"""Each rule is one sentence that a person would say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations

import pytest

from patterns.candidates import PATTERN_TYPES, PatternType
from patterns.rules.phrases_of_time import dates_in_words
from patterns.rules.recurrence import BYDAY, RULES
from patterns.rules.statement import statement, unit_of

WEEK = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
GYM = {"type": "calendar", "title": "Gym"}
EVENTS = {"type": "calendar"}
PLANNING = {"type": "calendar", "category": "planning"}
SENT = {"type": "email", "action": "sent"}
LEGAL = {"type": "email", "action": "sent", "category": "legal"}

Rule = Mapping[str, object]
Case = tuple[PatternType, Rule, str]


def recurrence(rrule: str) -> str:
    return dates_in_words([rrule])


def temporal(
    says: str, where: dict[str, str] = GYM, rrule: str = WEEKDAYS, time: str = "07:00", tolerance: int = 10
) -> Case:
    return "temporal", {"where": where, "rrule": rrule, "time": time, "tolerance_minutes": tolerance}, says


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
    temporal("Has Gym at 07:00 on weekdays"),
    temporal("Has events at 07:00 on weekdays", EVENTS),
    temporal("Has events at 07:00 on weekdays", {**EVENTS, "action": "created"}),
    temporal("Cancels Gym at 07:00 on weekdays", {**GYM, "action": "cancelled"}),
    temporal("Has workout at 07:00 on weekdays", {"type": "calendar", "category": "workout"}),
    temporal("Has 1:1 ana at 07:00 on weekdays", {"type": "calendar", "kind": "1:1 ana"}),
    temporal("Sends mail at 07:00 on weekdays", SENT),
    temporal("Sends legal mail at 07:00 on weekdays", LEGAL),
    temporal(
        "Gets invoice mail at 07:00 on weekdays", {"type": "email", "action": "received", "kind": "invoice"}
    ),
    temporal("Runs commands at 07:00 on weekdays", {"type": "command"}),
    temporal(
        "Runs git pull at 07:00 on weekdays", {"type": "command", "action": "ran", "subcommand": "git pull"}
    ),
    temporal(
        "Commits between 17:00 and 19:00 on weekdays",
        {"type": "commit", "action": "committed"},
        time="18:00",
        tolerance=60,
    ),
    temporal('Has Say "hi" & <b> at 07:00 on weekdays', {"type": "calendar", "title": 'Say "hi" & <b>'}),
    temporal("Has Frühstück 🥐 at 07:00 on weekdays", {"type": "calendar", "title": "Frühstück 🥐"}),
    # temporal: when
    temporal("Has Gym between 06:15 and 07:45 on weekdays", tolerance=45),
    temporal("Has Gym at 07:00 on weekdays", tolerance=44),
    temporal("Has Gym between 22:00 and 01:00 on weekdays", time="23:30", tolerance=90),
    temporal("Has Gym between 22:30 and 02:30 on weekdays", time="00:30", tolerance=120),
    temporal("Has Gym at 07:00 every day", rrule="FREQ=DAILY"),
    temporal("Has Gym at 07:00 every other Thursday", rrule="FREQ=WEEKLY;INTERVAL=2;BYDAY=TH"),
    temporal("Has Gym at 07:00 on the last Friday of the month", rrule="FREQ=MONTHLY;BYDAY=-1FR"),
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
    relationship("Has planning events that ana@example.org organizes", PLANNING, "organizer"),
    relationship("Has ana@example.org in planning events", PLANNING, "participants"),
    # workflow
    workflow(
        "After getting invoice mail, has Pay bills within 30 minutes",
        30,
        {"type": "email", "action": "received", "category": "invoice"},
        {"type": "calendar", "title": "Pay bills"},
    ),
    workflow(
        "After Standup, has Focus within an hour",
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
    avoidance("Never has events on Fridays between 13:00 and 20:00", EVENTS, ["friday"], "13:00", "20:00"),
    avoidance("Never has events on Fridays after 13:00", EVENTS, ["friday"], "13:00", "24:00"),
    avoidance("Never has events before 09:00", EVENTS, WEEK, "00:00", "09:00"),
    avoidance("Never has events between 13:00 and 17:00", EVENTS, WEEK, "13:00", "17:00"),
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
    temporal("Is active at 07:00 on weekdays", {}),
    avoidance("Is never active on Sundays", {}, ["sunday"], "00:00", "24:00"),
    preference("Prefers Home", {}, "location", value="Home"),
    temporal("Has door opened at 07:00 on weekdays", {"type": "door", "action": "opened"}),
    # Whether a word has a plural (orders, but not musics) no rule says: what is not known is an event.
    temporal("Has purchase order events at 07:00 on weekdays", {"type": "purchase_order"}),
    temporal("Has music events at 07:00 on weekdays", {"type": "music"}),
    temporal("Has Team sync at 07:00 on weekdays", {"type": "calendar", "title": "Team\nsync"}),
    temporal(
        "Runs git in /src/polars at 07:00 on weekdays",
        {"type": "command", "program": "git", "cwd": "/src/polars"},
    ),
    temporal("Has Gym in Room 4 at 07:00 on weekdays", {**GYM, "location": "Room 4"}),
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
    avoidance("Never has planning events on Mondays", PLANNING, ["monday"], "00:00", "24:00"),
    avoidance(
        "Never has events between 13:00 and 17:00 except on Fridays",
        EVENTS,
        [*WEEK[:4], *WEEK[5:]],
        "13:00",
        "17:00",
    ),
]
"""Rules of shapes and of logs that the usual words do not fit."""

CONDITIONS = [
    # names, classes and places
    temporal("Sends legal mail at 07:00 on weekdays", {**SENT, "labels": "legal"}),
    temporal("Sends legal mail at 07:00 on weekdays", {**SENT, "categories": "legal"}),
    temporal("Sends mail about Lunch at 07:00 on weekdays", {**SENT, "subject": "Lunch"}),
    temporal("Has events in Room 4 at 07:00 on weekdays", {**EVENTS, "location": "Room 4"}),
    temporal("Has events at 12 High Street at 07:00 on weekdays", {**EVENTS, "location": "12 High Street"}),
    temporal("Has Gym with priority high at 07:00 on weekdays", {**GYM, "priority": "high"}),
    temporal("Commits in polars at 07:00 on weekdays", {"type": "commit", "repo": "polars"}),
    avoidance("Never has Gym on Mondays", GYM, ["monday"], "00:00", "24:00"),
    avoidance("Never has events except on Fridays", EVENTS, [*WEEK[:4], *WEEK[5:]], "00:00", "24:00"),
    preference("Prefers /src for git", {"type": "command", "program": "git"}, "cwd", value="/src"),
    # which of several conditions names the thing, none is left out
    temporal("Has Gym with category sport at 07:00 on weekdays", {**GYM, "category": "sport"}),
    temporal('Sends mail about "" at 07:00 on weekdays', {**SENT, "subject": " "}),
    # what was done
    workflow(
        "After cancelling an event, sends mail within an hour", 60, {**EVENTS, "action": "cancelled"}, SENT
    ),
    workflow(
        "After an update event, runs a command within an hour", 60, {"type": "update"}, {"type": "command"}
    ),
    workflow("After a user event, has an event within an hour", 60, {"type": "user"}, EVENTS),
    preference(
        "Prefers 20-minute cancelled events", {**EVENTS, "action": "cancelled"}, "duration_minutes", value=20
    ),
    temporal("Uses Firefox at 07:00 on weekdays", {"type": "application", "app": "Firefox"}),
    temporal("Has Gym at 07:00 on weekdays", {"type": "event", "action": "happened", "title": "Gym"}),
    workflow(
        "After Register, has Check ticket within an hour",
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
    assert re.fullmatch(r"[A-Z].*[^\s.]", said, flags=re.DOTALL)
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
        ("FREQ=DAILY", "every day"),
        (WEEKDAYS, "on weekdays"),
        ("FREQ=WEEKLY;BYDAY=SA,SU", "on weekends"),
        ("FREQ=WEEKLY;BYDAY=TU", "on Tuesdays"),
        ("FREQ=WEEKLY;BYDAY=TU,TH", "on Tuesdays and Thursdays"),
        ("FREQ=WEEKLY;BYDAY=MO,WE,FR", "on Mondays, Wednesdays and Fridays"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,SA,SU", "every day except Friday"),
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
        assert recurrence("FREQ=WEEKLY;BYDAY=" + ",".join(days)) == f"every day except {missing.capitalize()}"


# --- units ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "rule", "unit"),
    [
        ("temporal", {"rrule": "FREQ=DAILY"}, ("day", "days")),
        ("temporal", {"rrule": WEEKDAYS}, ("day", "days")),
        ("temporal", {"rrule": "FREQ=WEEKLY;BYDAY=TU"}, ("Tuesday", "Tuesdays")),
        ("temporal", {"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"}, ("Tuesday", "Tuesdays")),
        ("temporal", {"rrule": "FREQ=MONTHLY;BYMONTHDAY=1"}, ("month", "months")),
        ("temporal", {"rrule": "FREQ=MONTHLY;BYDAY=-1FR"}, ("month", "months")),
        ("avoidance", {"days": ["friday"]}, ("Friday", "Fridays")),
        ("avoidance", {"days": WEEK[:5]}, ("day", "days")),
        ("preference", {}, ("occasion", "occasions")),
        ("workflow", {}, ("occasion", "occasions")),
    ],
)
def test_what_one_opportunity_is_called(type: PatternType, rule: Rule, unit: tuple[str, str]) -> None:
    assert unit_of(type, rule) == unit
