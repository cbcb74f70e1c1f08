"""Predictions: what will probably happen next, from what is confirmed.

Two types of pattern say when something happens: a temporal one on the dates of its recurrence, and a workflow while its
last step is still to come. The probability is the posterior mean of the rate at which the pattern is kept (Jeffreys'
prior, as in `patterns.inference.significance`), less what has decayed of it since it was due::

    (support + ½) / (opportunities + 1) × 0.95^(days past due)

It is that of a day on which the person leaves any trace: nobody's holidays are known ahead. How often such numbers came
true is measured by playing the past again (`pipelines.memory.backtest`). Decay belongs to it: over three weeks of twelve simulated
people, a third of whom stopped two of their habits, the log loss of 331 predictions is 0.228 with it and 0.240 without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from datetime import timezone as fixed
from typing import Any

import numpy as np
import polars as pl

from observations.civil_time import to_instant, zone
from observations.errors import SettingError
from observations.features import with_features
from patterns.model import Pattern, read_patterns
from patterns.rules.matching import Event, events_of, reach, waiting_since
from patterns.rules.phrases import does
from patterns.rules.recurrence import named
from patterns.rules.sameness import minute_of
from patterns.settings import Settings
from pipelines.text.sanitize import plain

DEFAULT_DAYS = 7
MOST_DAYS = 366
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock


@dataclass(frozen=True)
class Prediction:
    """Something that will probably happen.

    Attributes:
        user_id: to whom.
        pattern_id: by which pattern.
        type: the pattern's type.
        what: the thing itself, in few words.
        statement: the pattern's sentence.
        at: when, with the person's zone; of a running workflow, from when on.
        until: the end of the time in which it counts as having come true.
        probability: that it does, 0–1.
        minutes: how long such things last; null if that is not known.

    """

    user_id: str
    pattern_id: str
    type: str
    what: str
    statement: str
    at: datetime
    until: datetime
    probability: float
    minutes: float | None = None


def predictions(
    patterns: pl.DataFrame, observations: pl.DataFrame, as_of: datetime, days: int, settings: Settings
) -> list[Prediction]:
    """What will probably happen in the days after `as_of`, in order of time.

    Args:
        patterns: as of `as_of` (`patterns.pattern_frame.PATTERNS`); those that are confirmed and were observed count.
        observations: of the same people, up to then.
        as_of: aware.
        days: how many.
        settings: by which the patterns were judged.

    Raises:
        SettingError: `days` is not between 1 and 366.
    """
    if not 1 <= days <= MOST_DAYS:
        raise SettingError(f"predictions reach from 1 to {MOST_DAYS} days ahead, not {days}")
    confirmed = patterns.filter(
        (pl.col("status") == "confirmed")
        & pl.col("type").is_in(["temporal", "workflow"])
        & (pl.col("source") != "explicit")
    )
    found: list[Prediction] = []
    for pattern in read_patterns(confirmed):
        own = observations.filter(pl.col("user_id") == pattern.user_id)
        if own.height:
            ahead = _Ahead(pattern, own, as_of, settings)
            found += ahead.due(days) if pattern.type == "temporal" else ahead.running()
    return sorted(found, key=lambda p: (p.at, p.user_id, -p.probability, p.pattern_id))


def probability(pattern: Pattern, settings: Settings) -> float:
    """The probability that a pattern is kept at its next opportunity (the module says how it is computed)."""
    parts = pattern.components
    whole = (
        settings.weight_count * parts.count
        + settings.weight_recency * parts.recency
        + settings.weight_consistency * parts.consistency
        + settings.weight_span * parts.span
    )
    decay = min(pattern.confidence / whole, 1.0) if whole else 1.0
    return (pattern.support + 0.5) / (pattern.opportunities + 1) * decay


class _Ahead:
    """One pattern of one person, looking ahead."""

    def __init__(
        self, pattern: Pattern, observations: pl.DataFrame, as_of: datetime, settings: Settings
    ) -> None:
        self._pattern, self._observations = pattern, observations
        self._rule: Mapping[str, Any] = pattern.rule
        self._zone = zone_of(observations)
        self._now = as_of.astimezone(self._zone).replace(tzinfo=None)
        self._probability = round(probability(pattern, settings), 4)

    def due(self, days: int) -> Iterator[Prediction]:
        """The dates of a recurrence, but for one that was kept already."""
        minute, begins = minute_of(self._rule["time"]), minute_of(self._rule.get("day_starts_at", "00:00"))
        night = timedelta(days=1) if minute < begins else timedelta()
        today = datetime.combine(self._now.date(), time()) - timedelta(days=1)
        tolerance = timedelta(minutes=float(self._rule["tolerance_minutes"]))
        kept = self._pattern.last_seen.replace(tzinfo=None)
        minutes = self._usual_minutes()
        for day in (today + timedelta(days=n) for n in range(days + 3)):
            at = day + night + timedelta(minutes=minute)
            is_ahead = self._now < at <= self._now + timedelta(days=days)
            if is_ahead and self._is_due(day) and abs(kept - at) > tolerance:
                what = does(self._rule["where"]).removeprefix("has ")
                yield self._prediction(at, at + tolerance, what, minutes)

    def running(self) -> Iterator[Prediction]:
        """The last step of a workflow whose other steps were seen."""
        since = self._now - reach("workflow", self._rule)
        lately = with_features(
            self._observations.filter(pl.col("local") >= since, pl.col("actor") == "user").sort("at", "id")
        )
        events: list[Event] = list(events_of(lately)) if lately.height else []
        begun = waiting_since(self._rule, events, self._now)
        if begun is not None:
            end = begun + timedelta(minutes=float(self._rule["within_minutes"]))
            what = does(self._rule["steps"][-1], once=True).removeprefix("has ")
            yield self._prediction(self._now, end, what, None)

    def _is_due(self, day: datetime) -> bool:
        number = np.array([(day - _EPOCH).days], dtype=np.int64)
        rules = named(self._rule["rrule"], self._rule.get("dtstart"))
        return any(bool(rule.due(number)[0]) for rule in rules)

    def _usual_minutes(self) -> float | None:
        """The median length of the events that show it."""
        if "duration_minutes:number" not in self._observations.columns:
            return None
        shown = self._observations.filter(pl.col("id").is_in(self._pattern.evidence))
        median = shown.get_column("duration_minutes:number").median()
        return float(median) if isinstance(median, (int, float)) else None

    def _prediction(self, at: datetime, until: datetime, what: str, minutes: float | None) -> Prediction:
        said = plain(what)
        return Prediction(
            self._pattern.user_id,
            self._pattern.id,
            self._pattern.type,
            said[:1].upper() + said[1:],
            plain(self._pattern.statement),
            _placed(at, self._zone),
            _placed(until, self._zone),
            self._probability,
            minutes,
        )


def zone_of(observations: pl.DataFrame) -> tzinfo:
    """The zone in which a person is now: that of their newest observation, or its bare offset from UTC."""
    at, local, name = observations.sort("at").select("at", "local", "tz").row(-1)
    if name is not None:
        try:
            return zone(name)
        except SettingError:
            pass
    offset: timedelta = local - at.replace(tzinfo=None)
    return UTC if not offset else fixed(offset)


def _placed(local: datetime, where: tzinfo) -> datetime:
    """A wall clock in its zone; gaps and folds as `observations.civil_time` has them."""
    name = getattr(where, "key", None)
    if name is None:
        return local.replace(tzinfo=where)
    return to_instant(local, name).astimezone(where)


def rows_of(found: Sequence[Prediction]) -> list[dict[str, object]]:
    """The predictions as JSON objects."""
    return [
        {
            "at": p.at.isoformat(timespec="minutes"),
            "until": p.until.isoformat(timespec="minutes"),
            "what": p.what,
            "probability": p.probability,
            "user_id": p.user_id,
            "pattern_id": p.pattern_id,
            "type": p.type,
            "statement": p.statement,
        }
        for p in found
    ]
