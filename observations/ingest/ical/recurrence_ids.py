"""The clock that a series runs by: from its wall-clock times to the names of its occurrences, and back.

The *name* of an occurrence is the instant at which its series had it originally (RFC 5545, RECURRENCE-ID), in UTC; in an
all-day series it is the day. Everything about a series is compared by name, so it is the same whether an exception
is written as a local time, in UTC, or as a day.
"""

# ruff: noqa: DTZ901 — a wall clock has no zone
from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone, tzinfo

from observations.ingest.ical.date_times import LAST_YEAR, Moment
from observations.ingest.ical.event import Event
from observations.ingest.ical.rrule import Rule, RuleError
from observations.ingest.ical.values import DAY, ZERO, parse_digits


class SeriesClock:
    """The clock of one series.

    Args:
        master: the event that the series is made from.

    """

    def __init__(self, master: Event) -> None:
        self.start = master.start.wall
        self.all_day = master.start.is_date
        self._clock = master.clock
        self._own_zone = master.start.zone
        self._zone = master.start.zone or master.clock.zone

    def names(self, walls: list[datetime]) -> list[datetime]:
        """The names of the occurrences at these wall-clock times."""
        if self.all_day:
            return walls
        offset = self._zone.utcoffset
        return [wall - (offset(wall) or ZERO) for wall in walls]

    def wall(self, name: datetime, zone: tzinfo | None = None) -> datetime:
        """What the series' clock, or that of another zone, shows at an occurrence's original time."""
        if self.all_day:
            return name
        return name.replace(tzinfo=UTC).astimezone(zone or self._zone).replace(tzinfo=None)

    def name_meant_by(self, moment: Moment) -> datetime:
        """The name of the occurrence that an EXDATE, RDATE or RECURRENCE-ID means."""
        if self.all_day:
            return self._clock.day(moment)
        wall = moment.wall
        if self.means_day(moment):
            wall = datetime.combine(wall, self.start.time())
        elif moment.zone is not None and not self._shows_floating_start(moment):
            return self._clock.instant(moment)
        return self.names([wall])[0]

    def means_day(self, moment: Moment) -> bool:
        """True if the id means a whole day of a series of times: a date, or a midnight that no occurrence has.

        Exchange writes such midnights.
        """
        if self.all_day:
            return False
        own_clock = moment.zone is None or moment.zone is self._own_zone
        return moment.is_date or (own_clock and moment.wall.time() == time.min != self.start.time())

    def _shows_floating_start(self, moment: Moment) -> bool:
        """True if a time with a zone has the time of day of a floating series, so the zone is to be ignored."""
        return self._own_zone is None and moment.wall.time() == self.start.time()

    def shown(self, walls: list[datetime]) -> list[datetime]:
        """Those times that the clock ever showed (it jumps over some in spring); in an all-day series, the days."""
        if self.all_day:
            midnight = time.min
            return list(dict.fromkeys(datetime.combine(wall, midnight) for wall in walls))
        if isinstance(self._zone, timezone):
            return walls
        offset = self._zone.utcoffset
        return [
            wall
            for wall in walls
            if (before := offset(wall) or ZERO) >= (offset(wall + DAY) or ZERO)  # nearly all leave here
            or before >= (offset(wall.replace(fold=1)) or ZERO)
        ]

    def limit(self, rule: Rule) -> datetime:
        """The last wall-clock time that a rule's UNTIL lets through.

        Raises:
            RuleError: UNTIL is no date.

        """
        if not rule.until:
            return datetime.max
        try:
            wall, is_date, offset = parse_digits(rule.until)
        except ValueError as error:
            raise RuleError("bad_rule", f"UNTIL={rule.until[:20]} is not a date") from error
        if wall.year >= LAST_YEAR:
            return datetime.max
        if self.all_day:
            return self._clock.day(Moment(wall, offset, is_date))
        if is_date:
            return wall + DAY - timedelta(seconds=1)
        return self.wall(self._clock.instant(Moment(wall, offset, is_date))) if offset else wall
