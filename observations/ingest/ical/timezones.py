"""Resolves a TZID: the zone that an iCalendar file names in any spelling, or defines itself.

In this order:

1. an IANA name as it stands, even if there is a VTIMEZONE of that name (those are often cut down to a year);
2. the name of a Windows zone, from CLDR's table as tzlocal carries it (142 names; icalendar's has 139);
3. an IANA name in a longer or altered spelling (``/freeassociation.sourceforge.net/Europe/Berlin``,
   ``Europe_Berlin``, ``europe/berlin``), an Outlook display name (``(UTC-05:00) Eastern Time (US & Canada)``), or
   a printed offset (``GMT+0100``): unless the file's own VTIMEZONE contradicts it;
4. the zone named by the VTIMEZONE (X-LIC-LOCATION), else its rules.

A display name's printed offset is not its offset: it is that of the winter, and daylight saving applies.
"""

# ruff: noqa: DTZ001 — a wall clock has no zone
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache, cached_property
from zoneinfo import ZoneInfo

from tzlocal.windows_tz import win_tz

from observations.ingest.ical.outlook_timezones import area_names, display_zone, windows_zone
from observations.ingest.ical.parser import Component
from observations.ingest.ical.rrule import RuleError, parse_rule
from observations.ingest.ical.rrule_expand import expand
from observations.ingest.ical.values import ZERO, parse_digits, parse_offset

EARLIEST, LATEST = datetime(1970, 1, 1), datetime(2100, 1, 1)
"""A VTIMEZONE is worked out for these years; before and after, its nearest offset holds."""

COMPARED_IN = 2024
"""The year in which a name is compared with rules that have no end."""


class Zones:
    """The zones of one VCALENDAR: finds what a TZID means there.

    Args:
        definitions: the VTIMEZONEs that may be meant, by TZID.

    """

    def __init__(self, definitions: Mapping[str, ZoneRules]) -> None:
        self._definitions = definitions
        self._found: dict[str, tzinfo | None] = {}

    def find(self, tzid: str) -> tzinfo | None:
        """The zone, or None if the name is unknown."""
        if tzid not in self._found:
            self._found[tzid] = self._resolve(tzid)
        return self._found[tzid]

    def _resolve(self, tzid: str) -> tzinfo | None:
        if known := exact_zone(tzid):
            return known
        rules = self._definitions.get(tzid)
        own = rules.zone if rules else None
        named = [similar_zone(tzid), exact_zone(rules.location) if rules else None]
        for candidate in named:
            if candidate and (rules is None or own is None or rules.agree_with(candidate)):
                return candidate
        return own


@dataclass(frozen=True)
class Observance:
    """A STANDARD or DAYLIGHT part: from when on, and when again, the clocks go from one offset to another."""

    before: timedelta
    after: timedelta
    start: datetime
    rules: tuple[str, ...] = ()
    dates: tuple[datetime, ...] = ()

    def onsets(self) -> Iterable[datetime]:
        """The instants of the change, in UTC and naive."""
        yield self.start - self.before
        for date in self.dates:
            yield date - self.before
        for text in self.rules:
            for wall in self._recurrences(text):
                yield wall - self.before

    def _recurrences(self, text: str) -> list[datetime]:
        rule = parse_rule(text)
        last = LATEST
        if rule.until:
            until = parse_digits(rule.until)
            last = min(last, until.wall + (self.before if until.offset else ZERO))
        times = expand(rule, self.start, EARLIEST, last)
        return times[: rule.count]


@dataclass(frozen=True)
class ZoneRules:
    """A VTIMEZONE: the zone that it names (X-LIC-LOCATION), and its rules."""

    tzid: str
    location: str
    observances: tuple[Observance, ...]

    @cached_property
    def zone(self) -> RuleZone | None:
        """The zone that the rules make, or None if none of them can be followed."""
        changes = {}
        for observance in self.observances:
            try:
                for onset in observance.onsets():
                    changes[onset] = (observance.before, observance.after)
            except (RuleError, ValueError, OverflowError):
                continue
        return RuleZone(self.tzid, changes) if changes else None

    def agree_with(self, candidate: tzinfo) -> bool:
        """True if the zone has the offsets of these rules, in winter and in summer."""
        own = self.zone
        endless = any(observance.rules for observance in self.observances)
        year = COMPARED_IN if endless else max(o.start.year for o in self.observances)
        days = [datetime(year, month, 15) for month in (1, 7)]
        return own is None or all(own.utcoffset(day) == candidate.utcoffset(day) for day in days)


class RuleZone(tzinfo):
    """A zone made of changes: instants (UTC, naive) with the offsets before and after them."""

    def __init__(self, name: str, changes: Mapping[datetime, tuple[timedelta, timedelta]]) -> None:
        ordered = sorted(changes)
        self._name = name
        self._instants = ordered
        self._offsets = [changes[ordered[0]][0], *(changes[instant][1] for instant in ordered)]
        # On the wall clock a change comes when both offsets agree that it has come; with fold=1, when one does.
        pairs = list(zip(ordered, self._offsets, self._offsets[1:], strict=False))
        self._late = [instant + max(before, after) for instant, before, after in pairs]
        self._early = [instant + min(before, after) for instant, before, after in pairs]

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        """The offset that holds at a wall-clock time."""
        if when is None:
            return None
        changes = self._early if when.fold else self._late
        return self._offsets[bisect_right(changes, when.replace(tzinfo=None) if when.tzinfo else when)]

    def fromutc(self, when: datetime) -> datetime:
        """The wall-clock time of an instant."""
        instant = when.replace(tzinfo=None)
        offset = self._offsets[bisect_right(self._instants, instant)]
        wall = (instant + offset).replace(tzinfo=self)
        return wall if wall.utcoffset() == offset else wall.replace(fold=1)

    def dst(self, when: datetime | None) -> timedelta | None:  # noqa: ARG002 — the protocol of tzinfo
        """Unknown: a VTIMEZONE gives offsets, not what they consist of."""
        return None

    def __repr__(self) -> str:
        return self._name

    def tzname(self, when: datetime | None) -> str:  # noqa: ARG002
        """The TZID."""
        return self._name


def parse_zone_rules(component: Component) -> tuple[ZoneRules, list[str]]:
    """What a VTIMEZONE defines, and what is wrong with it; a part that is wrong is left out."""
    observances, wrong = [], []
    for part in component.inside:
        if part.name not in ("STANDARD", "DAYLIGHT"):
            continue
        try:
            observances.append(_observance(part))
        except ValueError as error:
            wrong.append(str(error))
    if not observances and not wrong:
        wrong.append("it has no rules")
    tzid = component.text("TZID").strip('"')
    if not tzid:
        wrong.append("it has no TZID")
    return ZoneRules(tzid, component.text("X-LIC-LOCATION"), tuple(observances)), wrong


def _observance(part: Component) -> Observance:
    dates = [
        parse_digits(text.partition("/")[0]).wall for p in part.all("RDATE") for text in p.value.split(",")
    ]
    rules = tuple(p.value for p in part.all("RRULE"))
    for rule in rules:
        parse_rule(rule)
    return Observance(
        parse_offset(part.text("TZOFFSETFROM")),
        parse_offset(part.text("TZOFFSETTO")),
        parse_digits(part.text("DTSTART")).wall,
        rules,
        tuple(dates),
    )


def exact_zone(name: str) -> ZoneInfo | None:
    """The zone of that IANA or Windows name, or None.

    >>> exact_zone("W. Europe Standard Time")
    zoneinfo.ZoneInfo(key='Europe/Berlin')
    """
    key = win_tz.get(name, name)
    if not key or key in _NO_ZONES:
        return None
    try:
        return ZoneInfo(key)
    except (KeyError, ValueError, OSError):
        return None


_NO_ZONES = frozenset({"localtime", "posixrules", "Factory"})
"""Files of the zone database that are no zones, or another one on every machine."""


def similar_zone(name: str) -> tzinfo | None:
    """The zone that a name means which is not spelled as IANA or Windows spell it, or None.

    >>> similar_zone("/freeassociation.sourceforge.net/Tzfile/Europe/Berlin")
    zoneinfo.ZoneInfo(key='Europe/Berlin')
    """
    text = re.sub(r"\s+", " ", name.strip().strip("\"'")).strip()
    return (
        _printed_offset(text)
        or _path_zone(text)
        or windows_zone(text)
        or display_zone(text)
        or _odd_zone(text)
    )


def _printed_offset(text: str) -> timezone | None:
    found = re.fullmatch(r"(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?(\d\d))?", text, re.IGNORECASE | re.ASCII)
    if not found or int(found[2]) > 14 or int(found[3] or 0) > 59:
        return None
    size = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-size if found[1] == "-" else size)


def _path_zone(text: str) -> ZoneInfo | None:
    """The zone at the end of a path: libical, Mozilla and Evolution put their own names before it."""
    parts = text.split("/")
    for size in (3, 2):
        if len(parts) > size and (found := exact_zone("/".join(parts[-size:]))):
            return found
    return ZoneInfo("UTC") if parts[-1].upper() in ("UTC", "GMT", "Z") else None


def _odd_zone(text: str) -> ZoneInfo | None:
    """The zone of an IANA name in another letter case, or with other marks between its parts."""
    key = _plain_names().get(_plain(text))
    return ZoneInfo(key) if key else None


def _plain(name: str) -> str:
    return re.sub(r"[\s_/-]", "", name.lower())


@cache
def _plain_names() -> dict[str, str]:
    return {_plain(key): key for key in (*area_names(), "UTC")}
