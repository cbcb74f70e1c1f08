"""The demo's files are made again to the byte, can be read by other programs, and hold what README.md says."""

from __future__ import annotations

import mailbox
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from email.utils import getaddresses, parsedate_to_datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import icalendar
import pytest

DEMO = Path(__file__).parents[1] / "fixtures" / "demo"
FILES = ("calendar.ics", "mail/inbox.mbox", "mail/sent.mbox", "zsh_history")
BERLIN = ZoneInfo("Europe/Berlin")
AWAY = [date(2026, 5, 14) + timedelta(days=n) for n in range(10)]
PUBLIC_HOLIDAYS = [date(2026, 4, 3), date(2026, 4, 6), date(2026, 5, 1), date(2026, 5, 25)]
DAYS = [day for n in range(177) if (day := date(2026, 1, 5) + timedelta(days=n)) not in AWAY]
WORKING_DAYS = [day for day in DAYS if day.weekday() < 5 and day not in PUBLIC_HOLIDAYS]


class Meeting(NamedTuple):
    """A single event that took place."""

    start: datetime
    minutes: float
    title: str
    category: str
    location: str
    guests: tuple[str, ...]


class Letter(NamedTuple):
    """A message's headers."""

    at: datetime
    sender: str
    cc: tuple[str, ...]
    subject: str
    labels: tuple[str, ...]


@cache
def components() -> list[icalendar.Component]:
    """All events of the calendar as icalendar reads them."""
    parsed = icalendar.Calendar.from_ical((DEMO / "calendar.ics").read_bytes())
    assert not any(event.errors for event in parsed.walk())
    return list(parsed.walk("VEVENT"))


@cache
def singles() -> list[icalendar.Component]:
    """The events that are no series and no instance of one."""
    return [event for event in components() if "RRULE" not in event and "RECURRENCE-ID" not in event]


@cache
def meetings() -> list[Meeting]:
    """The single events with a time, without the cancelled and the declined ones."""
    timed = [event for event in singles() if isinstance(begin(event), datetime)]
    return [_meeting(event) for event in timed if event["STATUS"] == "CONFIRMED" and not declined(event)]


def begin(event: Any) -> date:
    """The start of an event: a date for the whole day, else a datetime."""
    start: date = event["DTSTART"].dt
    return start


def declined(event: icalendar.Component) -> bool:
    """Whether somebody declined it."""
    return b"PARTSTAT=DECLINED" in event.to_ical()


def _meeting(event: Any) -> Meeting:
    start, end = event["DTSTART"].dt, event["DTEND"].dt
    guests = event.get("ATTENDEE", [])
    return Meeting(
        start.astimezone(BERLIN),
        (end - start) / timedelta(minutes=1),
        str(event["SUMMARY"]),
        ",".join(event["CATEGORIES"].cats) if "CATEGORIES" in event else "",
        str(event.get("LOCATION", "")),
        tuple(
            str(guest).removeprefix("mailto:") for guest in (guests if isinstance(guests, list) else [guests])
        ),
    )


@cache
def letters(name: str) -> list[Letter]:
    """The messages of one file as the standard library reads them."""
    box = mailbox.mbox(DEMO / "mail" / name)
    try:
        return [_letter(message) for message in box]
    finally:
        box.close()


def _letter(message: mailbox.mboxMessage) -> Letter:
    return Letter(
        parsedate_to_datetime(message["Date"]),
        getaddresses([message["From"]])[0][1],
        tuple(address for _, address in getaddresses(message.get_all("Cc", []))),
        message["Subject"],
        tuple(message["X-Gmail-Labels"].split(",")),
    )


@cache
def commands() -> list[tuple[datetime, str]]:
    """The entries of the history that are one line."""
    text = (DEMO / "zsh_history").read_text(errors="replace")
    found = re.findall(r"^: (\d+):\d+;(.+)$", text, flags=re.MULTILINE)
    return [(datetime.fromtimestamp(int(epoch), BERLIN), command) for epoch, command in found]


def of_kind(start: str, category: str = "") -> list[Meeting]:
    """The events whose title begins so, or of that category."""
    return [
        m for m in meetings() if (m.category == category if category else m.title.lower().startswith(start))
    ]


def share(kept: int, of: int, low: float, high: float) -> None:
    """Assert that `kept` of `of` lies within the bounds."""
    assert low <= kept / of <= high, f"{kept} of {of}"


def every_moment() -> Iterator[datetime]:
    """When anything in the files happened, series aside."""
    yield from (meeting.start for meeting in meetings())
    yield from (letter.at for name in ("inbox.mbox", "sent.mbox") for letter in letters(name))
    yield from (at for at, _ in commands())


def test_the_files_are_made_again_to_the_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-B", DEMO / "make.py", tmp_path], check=True)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes(), (
            f"{name}: run fixtures/demo/make.py"
        )


def test_the_files_are_small() -> None:
    assert sum((DEMO / name).stat().st_size for name in FILES) < 1_000_000


def test_the_counts_are_those_of_the_readme() -> None:
    said = (DEMO / "README.md").read_text()
    counts = {
        "events": len(components()),
        "received": len(letters("inbox.mbox")),
        "sent": len(letters("sent.mbox")),
        "commands": len(commands()) + 1,  # one has three lines
    }
    for what, number in counts.items():
        assert f"{number:,} {what}" in said


def test_series_have_exceptions_of_every_sort() -> None:
    series = [e for e in components() if "RRULE" in e]
    changed = [e for e in components() if "RECURRENCE-ID" in e]
    assert len(series) == 3
    assert all("EXDATE" in e for e in series)
    assert Counter(str(e["STATUS"]) for e in changed) == {"CONFIRMED": 2, "CANCELLED": 1}


def test_some_things_did_not_take_place() -> None:
    assert sum(declined(event) for event in singles()) == 2
    assert sum(event["STATUS"] == "CANCELLED" for event in singles()) == 1
    assert sum(not isinstance(begin(event), datetime) for event in singles()) == 4


def test_mail_has_answers_and_a_newsletter() -> None:
    assert sum(letter.subject.startswith("Re: ") for letter in letters("sent.mbox")) > 50
    assert sum(letter.subject.startswith("Sound Walks Weekly") for letter in letters("inbox.mbox")) == 23


def test_nothing_happens_while_she_is_away() -> None:
    active = {moment.astimezone(BERLIN).date() for moment in every_moment()}
    assert active.isdisjoint(AWAY)
    assert len(active) > 0.98 * len(DAYS)


@pytest.mark.parametrize(
    ("start", "days", "clock", "tolerance", "low", "high"),
    [
        ("gym", [d for d in DAYS if d.weekday() in (0, 2, 4)], "07:00", 8, 0.85, 0.96),
        ("standup", WORKING_DAYS, "09:30", 10, 0.87, 0.96),
        ("piano", [d for d in DAYS if d.weekday() == 1 and d <= date(2026, 4, 14)], "18:00", 0, 0.85, 1),
        ("invoices", [d for d in DAYS if d.day == 1], "12:00", 10, 1, 1),
        ("evening walk", DAYS, "19:05", 40, 0.75, 0.85),
        ("reading", [d for d in DAYS if d < date(2026, 4, 13)], "20:00", 8, 0.75, 0.95),
        ("reading", [d for d in DAYS if d >= date(2026, 4, 13)], "22:00", 8, 0.75, 0.95),
    ],
)
def test_habits_by_the_clock(
    start: str, days: list[date], clock: str, tolerance: int, low: float, high: float
) -> None:
    usual = datetime.strptime(clock, "%H:%M").replace(tzinfo=BERLIN)
    on_time = {
        m.start.date()
        for m in of_kind(start)
        if abs(m.start.replace(tzinfo=None) - usual.replace(*m.start.timetuple()[:3], tzinfo=None))
        <= timedelta(minutes=tolerance)
    }
    share(len(on_time.intersection(days)), len(days), low, high)


def test_preferences() -> None:
    design, interviews = of_kind("", "design"), of_kind("", "interview")
    share(sum(m.minutes == 30 for m in design), len(design), 0.85, 0.97)
    share(sum(m.location == "Room 2" for m in interviews), len(interviews), 0.85, 0.99)
    rest = [m for m in meetings() if m.guests and m.category != "interview" and m.location]
    share(sum(m.location == "Room 2" for m in rest), len(rest), 0.05, 0.25)


def test_workflows() -> None:
    focus = [m.start for m in of_kind("focus")]
    standups = [m.start for m in of_kind("standup")]
    followed = sum(any(timedelta() < f - s <= timedelta(hours=1) for f in focus) for s in standups)
    share(followed, len(standups), 0.8, 0.95)
    for first, second, minutes in (("git pull", "make test", 6), ("terraform plan", "terraform apply", 15)):
        begun = [at for at, command in commands() if command.startswith(first)]
        then = [at for at, command in commands() if command.startswith(second)]
        followed = sum(any(timedelta() < t - b <= timedelta(minutes=minutes) for t in then) for b in begun)
        share(followed, len(begun), 0.82, 0.97)


def test_relationships() -> None:
    legal = [m for m in letters("sent.mbox") if "legal" in m.labels]
    other = [m for m in letters("sent.mbox") if "legal" not in m.labels]
    share(sum("sarah@example.com" in m.cc for m in legal), len(legal), 0.85, 0.99)
    share(sum("sarah@example.com" in m.cc for m in other), len(other), 0, 0.06)
    budget = of_kind("", "budget")
    share(sum("omar@example.com" in m.guests for m in budget), len(budget), 0.88, 1)


def test_avoidances() -> None:
    afternoons = Counter(m.start.weekday() for m in meetings() if 13 <= m.start.hour < 18)
    assert afternoons[4] == 0
    assert min(afternoons[day] for day in range(4)) > 20
    assert all(letter.at.weekday() < 5 for letter in letters("sent.mbox"))


def test_every_message_is_in_order() -> None:
    for name in ("inbox.mbox", "sent.mbox"):
        assert all(a.at <= b.at for a, b in pairwise(letters(name)))
