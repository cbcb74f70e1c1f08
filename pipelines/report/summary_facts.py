"""Facts for the report: weekly timetable, recent changes, nearly confirmed patterns, data coverage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise

import polars as pl

from observations.civil_time import WEEKDAYS, format_clock, parse_clock
from patterns.explain import Explanation
from patterns.model import Pattern
from patterns.registry import rule_of
from patterns.rules.avoidance_rule import AvoidanceRule
from patterns.rules.phrases import subject, things
from patterns.rules.phrases_of_time import WIDE_MINUTES
from patterns.rules.temporal_rule import TemporalRule

LATELY = timedelta(days=28)
"""Changes within this period count as recent."""

GAP_DAYS = 4
"""Minimum length of a gap in the data, in days; it must also be long for this person."""

_LONG_GAP = 4
"""A gap is long for a person from this multiple of the mean distance between tsuccessor active days."""

# --- the week -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Entry:
    """One entry in the timetable of a day; `never` marks an avoided slot."""

    minute: int
    when: str
    what: str
    note: str = ""
    never: bool = False


@dataclass(frozen=True)
class Timetable:
    """The usual week: entries for each weekday (Monday first), and sentences for habits without a weekday."""

    days: tuple[tuple[str, tuple[Entry, ...]], ...]
    beyond: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.beyond) or any(entries for _, entries in self.days)


def timetable(patterns: Sequence[Pattern]) -> Timetable:
    """The confirmed habits that have a time, on the days on which they are due, with avoided slots."""
    days: dict[str, list[Entry]] = {name: [] for name in WEEKDAYS}
    beyond = []
    for pattern in patterns:
        if pattern.status != "confirmed":
            continue
        rule = rule_of(pattern.type, pattern.rule)
        if isinstance(rule, TemporalRule):
            for name in rule.weekdays:
                days[name] += _timed(rule)
            if not rule.weekdays:
                beyond.append(pattern.statement)
        elif isinstance(rule, AvoidanceRule) and len(rule.days) < len(WEEKDAYS) and rule.where:
            for name in rule.days:
                days[name].append(_never(rule))
        elif pattern.type in ("temporal", "avoidance"):
            beyond.append(pattern.statement)
    return Timetable(
        tuple((name.capitalize(), tuple(sorted(set(entries)))) for name, entries in days.items()),
        tuple(beyond),
    )


def _timed(rule: TemporalRule) -> list[Entry]:
    """One entry for each time of the rule."""
    what, tolerance = _capital(subject(rule.where)), rule.tolerance_minutes or 0
    note = "not every week" if "INTERVAL=" in str(rule.rrule) else ""
    if not rule.clocks:
        return [Entry(0, "any time", what, note)]
    wide = tolerance >= WIDE_MINUTES
    return [
        Entry(
            minute - tolerance * wide,
            f"{format_clock(minute - tolerance)}–{format_clock(minute + tolerance)}"
            if wide
            else format_clock(minute),
            what,
            note,
        )
        for minute in rule.clocks
    ]


def _never(rule: AvoidanceRule) -> Entry:
    when = "all day" if rule.is_whole_day else f"{rule.begin}–{rule.end}"
    return Entry(parse_clock(rule.begin), when, f"No {things(rule.where)}", never=True)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- recent changes -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A recent change: the sentence of the pattern, and what happened to it."""

    id: str
    statement: str
    text: str


@dataclass(frozen=True)
class Changes:
    """Recent changes: newly confirmed, moved to another time or form, fading."""

    new: tuple[Change, ...]
    moved: tuple[Change, ...]
    fading: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.moved or self.fading)


def changes(explanation: Explanation, patterns: Sequence[Pattern], now: datetime) -> Changes:
    """The changes of one person within `LATELY` before the wall clock `now`.

    Args:
        explanation: the journal and outlook of these patterns.
        patterns: the patterns of the person.
        now: the person's wall clock at the evaluation.

    """
    lately = explanation.journal.filter(pl.col("local") >= now - LATELY)
    happened = {
        (id, after): (local, reason, before)
        for id, after, local, reason, before in lately.select(
            "pattern_id", "after", "local", "reason", "before"
        ).iter_rows()
    }
    by_id = {pattern.id: pattern for pattern in patterns}
    moved = list(_moved(by_id, happened))
    listed = {change.id for change in moved} | {by_id[change.id].superseded_by for change in moved}
    new = [
        Change(pattern.id, pattern.statement, f"confirmed on {_day(happened[pattern.id, 'confirmed'][0])}")
        for pattern in patterns
        if pattern.status == "confirmed"
        and (pattern.id, "confirmed") in happened
        and pattern.id not in listed
    ]
    outlooks = {row["pattern_id"]: row for row in explanation.outlook.iter_rows(named=True)}
    fading = [
        Change(pattern.id, pattern.statement, words)
        for pattern in patterns
        if pattern.id not in listed and (words := _fading(pattern, happened, outlooks.get(pattern.id), now))
    ]
    return Changes(tuple(new), tuple(moved), tuple(fading))


_Happened = Mapping[tuple[str, str], tuple[datetime, str, str | None]]


def _moved(by_id: Mapping[str, Pattern], happened: _Happened) -> Iterator[Change]:
    for pattern in by_id.values():
        successor = by_id.get(pattern.superseded_by or "")
        if successor is None or successor.status != "confirmed":
            continue
        recent = any(
            (id, state) in happened for id, state in ((successor.id, "confirmed"), (pattern.id, "expired"))
        )
        if recent:
            yield Change(pattern.id, successor.statement, f"before: {_small(pattern.statement)}")


def _fading(
    pattern: Pattern, happened: _Happened, outlook: Mapping[str, object] | None, now: datetime
) -> str:
    """Why the pattern is fading or has just expired; empty if neither."""
    for status in ("expired", "tracking"):
        if pattern.status == status and (pattern.id, status) in happened:
            when, reason, before = happened[pattern.id, status]
            if before == "confirmed" or (status == "expired" and pattern.confirmed_at is not None):
                no_more = "expired" if status == "expired" else "no longer confirmed"
                return f"{no_more} since {_day(when)}: {reason}"
    if pattern.status != "confirmed" or outlook is None:
        return ""
    due = outlook["next_due"]
    if isinstance(due, datetime) and due < now - timedelta(days=1):
        return f"was due by {_day(due)}, last seen on {_day(pattern.last_seen)}"
    if outlook["if_missed"] != "confirmed":
        return "missed once more, it would no longer be confirmed"
    return ""


def nearly_confirmed(explanation: Explanation, patterns: Sequence[Pattern]) -> list[Pattern]:
    """The tracked patterns, those nearest to confirmation first.

    First those that one more hit confirms; then those that lack a number of hits, fewest first; then those that are
    kept too seldom; last those that chance explains as well, which more hits of the same kind do not confirm.
    """
    one_more = set(
        explanation.outlook.filter(pl.col("if_kept") == "confirmed").get_column("pattern_id").to_list()
    )
    tracked = [pattern for pattern in patterns if pattern.status == "tracking"]
    return sorted(tracked, key=lambda p: (p.id not in one_more, _missing(p), -p.confidence, p.id))


def _missing(pattern: Pattern) -> tuple[bool, bool, int]:
    """The distance from confirmation, by what the pattern lacks: (explained by chance, kept too seldom, hits missing)."""
    times = [int(found[1]) for lack in pattern.lacks if (found := _MORE.match(lack))]
    by_chance = any(lack.startswith(("too close", "cannot")) for lack in pattern.lacks)
    return by_chance, any(lack.startswith("kept") for lack in pattern.lacks), max(times, default=0)


_MORE = re.compile(r"(?:about )?(\d+) more ")


# --- what the data cover --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """Consecutive days without observations, both ends included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1


@dataclass(frozen=True)
class Coverage:
    """What one person's observations cover.

    Attributes:
        first, last: the first and the last day with observations.
        active: the number of days with observations.
        observations: the number of observations.
        kinds: kinds of activity with counts, such as ("sent mail", 391), most frequent first.
        gaps: gaps that are long for this person, in order of time.
    """

    first: date
    last: date
    active: int
    observations: int
    kinds: tuple[tuple[str, int], ...]
    gaps: tuple[Gap, ...]

    @property
    def days(self) -> int:
        """The number of days from the first to the last."""
        return (self.last - self.first).days + 1


def coverage(observations: pl.DataFrame) -> Coverage:
    """The coverage of one person's observations, of which there must be at least one."""
    days = observations.get_column("local").dt.date().unique().sort()
    listed = days.to_list()
    long = max(GAP_DAYS, _LONG_GAP * (listed[-1] - listed[0]).days / len(listed))
    gaps = [
        Gap(before + timedelta(days=1), after - timedelta(days=1))
        for before, after in pairwise(listed)
        if (after - before).days > long
    ]
    counted = (
        observations.group_by("type", "action")
        .len()
        .sort("len", "type", "action", descending=[True, False, False])
    )
    kinds = [(_kind(type, action), count) for type, action, count in counted.iter_rows()]
    return Coverage(listed[0], listed[-1], len(listed), observations.height, tuple(kinds), tuple(gaps))


def _kind(type: str, action: str | None) -> str:
    return things({"type": type, "action": action} if action else {"type": type})


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B}"


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
