"""Explain: everything behind each pattern, opportunity by opportunity.

``evaluate`` returns the patterns; ``explain`` returns what they rest on, their history, and what would change them. The same
candidates are folded once more, and what the fold saw on its way is kept::

    candidates ─► fold ─► patterns          what is believed
                   │ ├──► opportunities     what was counted, kept or not
                   │ └──► journal           every change of status
                   └────► outlook           what one more outcome, or silence, would change
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from observations.civil_time import MICROSECONDS_PER_HOUR
from patterns.candidates import Candidates
from patterns.evaluate import Found, find, ordered
from patterns.eventlog.arrays import Ints
from patterns.eventlog.log import Log
from patterns.inference.confidence import NEVER
from patterns.inference.lifecycle import Course, Prospect, Standing, fold_fully
from patterns.inference.lifecycle_state import Status
from patterns.inference.significance import allowed
from patterns.pattern_frame import moments
from patterns.settings import Settings

OPPORTUNITIES: Mapping[str, pl.DataType] = {
    "pattern_id": pl.String(),
    "user_id": pl.String(),
    "local": pl.Datetime("us"),  # the person's wall clock at which the outcome was known
    "kept": pl.Boolean(),
    "observation": pl.String(),  # the observation that shows it; null if there is none
    "episode": pl.Int64(),  # 0 the first
    "confidence": pl.Float64(),  # right after it
}
"""The frame of opportunities: one row for each that counted, sorted by pattern and time."""

JOURNAL: Mapping[str, pl.DataType] = {
    "pattern_id": pl.String(),
    "user_id": pl.String(),
    "at": pl.String(),  # RFC 3339
    "local": pl.Datetime("us"),
    "before": pl.String(),  # null at the beginning of an episode
    "after": pl.String(),
    "reason": pl.String(),
    "confidence": pl.Float64(),
    "support": pl.Int64(),
    "opportunities": pl.Int64(),
    "observation": pl.String(),  # null if only time passed
}
"""The frame of transitions: one row a change of status, sorted by pattern and time."""

OUTLOOK: Mapping[str, pl.DataType] = {
    "pattern_id": pl.String(),
    "user_id": pl.String(),
    "next_due": pl.Datetime("us"),  # wall clock; null if the pattern is expired
    "if_kept": pl.String(),  # status after one more support at that time
    "if_missed": pl.String(),  # status after one more miss
    "expires": pl.Datetime(
        "us"
    ),  # wall clock at which it expires unless seen; null if it is expired or never expires
    "null_rate": pl.Float64(),  # how often one trial would be kept by chance
    "allowed": pl.Float64(),  # the p-value that it must not exceed, after correction
}
"""The frame of outlooks: one row a pattern."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is believed, and everything behind it.

    Attributes:
        patterns: as `patterns.evaluate.evaluate` returns them (`patterns.pattern_frame.PATTERNS`).
        opportunities: what was counted for each (`OPPORTUNITIES`).
        journal: how each came to be what it is (`JOURNAL`).
        outlook: what would change it (`OUTLOOK`).
    """

    patterns: pl.DataFrame
    opportunities: pl.DataFrame
    journal: pl.DataFrame
    outlook: pl.DataFrame


def explain(
    observations: pl.DataFrame,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    only: Collection[str] | None = None,
) -> Explanation:
    """The patterns of all people at `as_of`, with everything behind them.

    Args:
        observations, as_of, settings: as for `patterns.evaluate.evaluate`.
        only: ids of the patterns that are asked for; all of them if None.

    Raises:
        SchemaError: `observations` is no observation frame.
    """
    settings = settings or Settings()
    log = Log.of_observations(observations, as_of, settings)
    found = find(log, settings)
    patterns = ordered([one.patterns for one in found])
    if only is not None:
        patterns = patterns.filter(pl.col("id").is_in(list(only)))
    asked = [_asked(one, set(patterns.get_column("id").to_list())) for one in found]
    behind = [_Behind.of(log, one) for one in asked if len(one.candidates)]
    return Explanation(
        patterns,
        _joined([b.opportunities for b in behind], OPPORTUNITIES),
        _joined([b.journal for b in behind], JOURNAL),
        _joined([b.outlook for b in behind], OUTLOOK),
    )


@dataclass(frozen=True, eq=False)
class _Behind:
    """The frames of one detector's patterns."""

    opportunities: pl.DataFrame
    journal: pl.DataFrame
    outlook: pl.DataFrame

    @classmethod
    def of(cls, log: Log, found: Found) -> _Behind:
        names = found.patterns.select(pattern_id="id", user_id="user_id")
        candidates = found.candidates
        standing, course, prospect = fold_fully(candidates, log.as_of_local[candidates.user], found.settings)
        return cls(
            _opportunities(log, candidates, course, names),
            _journal(log, candidates, standing, names),
            _outlook(log, candidates, standing, prospect, names, found.settings),
        )


def _asked(found: Found, ids: set[str]) -> Found:
    rows = np.flatnonzero(found.patterns.get_column("id").is_in(list(ids)).to_numpy())
    return Found(found.candidates[rows], found.patterns[rows.tolist()], found.settings)


def _joined(parts: list[pl.DataFrame], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    by = [c for c in ("user_id", "pattern_id", "local") if c in schema]
    return pl.concat([pl.DataFrame(schema=dict(schema)), *parts]).sort(by, maintain_order=True)


def _opportunities(log: Log, candidates: Candidates, course: Course, names: pl.DataFrame) -> pl.DataFrame:
    trials = candidates.trials
    row = np.flatnonzero(course.episode >= 0)
    of = trials.candidate[row]
    number = np.concatenate([[0], np.cumsum(np.diff(course.episode[row]) != 0)])
    first = np.searchsorted(of, np.arange(len(candidates)))
    rows: pl.DataFrame = names[of.tolist()]
    return rows.with_columns(
        local=_clock(log, trials.local[row]),
        kept=trials.hit[row],
        observation=_ids(log, trials.event[row]),
        episode=number - number[first][of],
        confidence=course.confidence[row],
    )


def _journal(log: Log, candidates: Candidates, standing: Standing, names: pl.DataFrame) -> pl.DataFrame:
    changes = standing.transitions
    of = [t.candidate for t in changes]
    local = np.array([t.local for t in changes], dtype=np.int64)
    event = np.array([t.event for t in changes], dtype=np.int64)
    # Where time alone did it, the offset is that of the last event before.
    before = _last_event_before(log, candidates.user[of], local)
    return names[of].with_columns(
        at=pl.Series(moments(log, local, np.where(event >= 0, event, before)), dtype=pl.String),
        local=_clock(log, local),
        before=pl.Series([None if t.before is None else t.before.name for t in changes], dtype=pl.String),
        after=pl.Series([t.after.name for t in changes], dtype=pl.String),
        reason=pl.Series([t.reason for t in changes], dtype=pl.String),
        confidence=pl.Series([t.confidence for t in changes], dtype=pl.Float64),
        support=pl.Series([t.support for t in changes], dtype=pl.Int64),
        opportunities=pl.Series([t.opportunities for t in changes], dtype=pl.Int64),
        observation=_ids(log, event),
    )


def _outlook(
    log: Log,
    candidates: Candidates,
    standing: Standing,
    ahead: Prospect,
    names: pl.DataFrame,
    settings: Settings,
) -> pl.DataFrame:
    due = np.where(standing.status == Status.expired, NEVER, standing.due)
    status = np.array([s.name for s in Status])
    return names.with_columns(
        next_due=_clock(log, due),
        if_kept=pl.Series(status[ahead.if_kept]),
        if_missed=pl.Series(status[ahead.if_missed]),
        expires=_clock(log, ahead.expires),
        null_rate=pl.Series(candidates.null_rate, dtype=pl.Float64),
        allowed=pl.Series(allowed(candidates.hypotheses, settings), dtype=pl.Float64),
    )


def _clock(log: Log, local: Ints) -> pl.Series:
    """The wall clock of times counted from the beginning of the day; null for `NEVER`."""
    never = local == NEVER
    shown = np.where(never, 0, local) + log.day_starts_at * MICROSECONDS_PER_HOUR
    return pl.Series(shown).cast(pl.Datetime("us")).set(pl.Series(never), None)


def _ids(log: Log, event: Ints) -> pl.Series:
    """The ids of events; null for -1."""
    ids = log.frame.get_column("id")
    return ids.gather(np.maximum(event, 0)).set(pl.Series(event < 0), None)


def _last_event_before(log: Log, user: Ints, local: Ints) -> Ints:
    """(n,) each person's last event up to a wall clock, or their first."""
    start = np.searchsorted(log.user, np.arange(len(log.users) + 1))
    events = (
        log.frame.get_column("local").dt.epoch("us").to_numpy() - log.day_starts_at * MICROSECONDS_PER_HOUR
    )
    answer = np.empty(len(user), dtype=np.int64)
    for one in np.unique(user).tolist():
        mine = user == one
        clocks = np.maximum.accumulate(events[start[one] : start[one + 1]])
        answer[mine] = start[one] + np.maximum(np.searchsorted(clocks, local[mine], side="right") - 1, 0)
    return answer
