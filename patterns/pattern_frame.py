"""The frame of patterns: what the detectors found, as the contract writes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import orjson
import polars as pl

from patterns.candidates import Candidates, Trials
from patterns.eventlog.arrays import Flags, Ints, pack, ranges, unpack
from patterns.eventlog.category_codes import coded_with_nulls
from patterns.eventlog.log import Log
from patterns.inference.confidence import NEVER
from patterns.inference.lifecycle import Standing
from patterns.inference.lifecycle_state import Status
from patterns.inference.significance import binomial_tail, rate_interval
from patterns.inference.unmet_criteria import lacking
from patterns.rules.rule import Rule
from patterns.settings import Settings

PATTERNS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "user_id": pl.String(),
    "type": pl.String(),
    "statement": pl.String(),
    "rule": pl.String(),  # JSON
    "status": pl.String(),
    "confidence": pl.Float64(),
    "components": pl.Struct({n: pl.Float64() for n in ("count", "recency", "consistency", "span")}),
    "support": pl.Int64(),
    "opportunities": pl.Int64(),
    "contradictions": pl.Int64(),
    "p_value": pl.Float64(),
    "rate_interval": pl.List(pl.Float64()),
    "lacks": pl.List(pl.String()),
    "first_seen": pl.String(),  # RFC 3339
    "last_seen": pl.String(),
    "confirmed_at": pl.String(),
    "expired_at": pl.String(),
    "evidence": pl.List(pl.String()),  # ids, newest first
    "superseded_by": pl.String(),
    "source": pl.String(),
}
"""The frame of patterns: contract, section 2, one row a pattern."""

EVIDENCE = 20
"""How many supporting observations a pattern names."""
DECLARED_SHARE = 0.9
"""From this share of support in one recurring series on, a pattern only restates the calendar."""


_SEEN_TWICE = 2
"""What happened once is nothing yet."""
_PROMISING = 0.01
"""A tracked candidate is worth showing if its support would be at most this likely by chance (uncorrected)."""


def to_frame(
    log: Log, candidates: Candidates, standing: Standing, chosen: Ints, settings: Settings
) -> pl.DataFrame:
    """The chosen candidates of one detector as patterns (`PATTERNS`)."""
    if not len(chosen):
        return pl.DataFrame(schema=dict(PATTERNS))
    trials = candidates.trials
    start = np.searchsorted(trials.candidate, chosen, side="left")
    end = np.searchsorted(trials.candidate, chosen, side="right")
    support = _Support.of(trials, standing.episode[chosen], end)
    ids = log.frame.get_column("id")
    origins = (
        candidates.origin[chosen] if candidates.origin is not None else _Support.of(trials, start, end).first
    )
    rules = [candidates.rules[c] for c in chosen.tolist()]
    users = [log.users[u] for u in candidates.user[chosen].tolist()]
    low, high = rate_interval(standing.vote_support[chosen], standing.vote_opportunities[chosen])
    parts = standing.components
    status = np.array([s.name for s in Status])
    return pl.DataFrame(
        {
            "id": pattern_ids(users, candidates.type, rules, ids.gather(origins).to_list()),
            "user_id": users,
            "type": [candidates.type] * len(chosen),
            "statement": [rule.sentence() for rule in rules],
            "rule": [orjson.dumps(rule.to_json()).decode() for rule in rules],
            "status": status[standing.status[chosen]],
            "confidence": standing.confidence[chosen],
            "components": pl.DataFrame(
                {name: getattr(parts, name)[chosen] for name in ("count", "recency", "consistency", "span")}
            ).to_struct(),
            "support": standing.support[chosen],
            "opportunities": standing.opportunities[chosen],
            "contradictions": standing.contradictions[chosen],
            "p_value": binomial_tail(
                standing.all_support[chosen],
                standing.all_opportunities[chosen],
                candidates.null_rate[chosen],
            ),
            "rate_interval": pl.Series(np.stack([low, high], axis=1)).arr.to_list(),
            "lacks": lacking(candidates, standing, chosen, settings),
            "first_seen": _timestamps(log, support.first),
            "last_seen": _timestamps(log, support.last),
            "confirmed_at": moments(log, standing.confirmed[chosen], standing.confirmed_event[chosen]),
            "expired_at": moments(log, standing.expired[chosen], support.last),
            "evidence": support.latest(ids),
            "superseded_by": [None] * len(chosen),
            "source": _sources(log, support),
        },
        schema=dict(PATTERNS),
    )


@dataclass(frozen=True, eq=False)
class _Support:
    """The supporting events of patterns, each pattern's in order of time.

    Attributes:
        pattern, event: (supports,) which pattern's, by its place, and which event of the log.
        start: (patterns + 1,) where each pattern's begin; every pattern has some.
    """

    pattern: Ints
    event: Ints
    start: Ints

    @classmethod
    def of(cls, trials: Trials, begin: Ints, end: Ints) -> _Support:
        """The hits among the trials begin … end - 1 of each pattern."""
        row, pattern = ranges(begin, end - begin), np.repeat(np.arange(len(begin)), end - begin)
        hit = trials.hit[row]
        pattern = pattern[hit]
        return cls(pattern, trials.event[row[hit]], np.searchsorted(pattern, np.arange(len(begin) + 1)))

    @property
    def first(self) -> Ints:
        """(patterns,) the first supporting event of each."""
        return self.event[self.start[:-1]]

    @property
    def last(self) -> Ints:
        """(patterns,) the last supporting event of each."""
        return self.event[self.start[1:] - 1]

    def latest(self, ids: pl.Series) -> pl.Series:
        """The ids of each pattern's latest supporting events, newest first, at most `EVIDENCE`."""
        length = np.minimum(np.diff(self.start), EVIDENCE)
        # Counted back from the end of each.
        row = np.repeat(self.start[1:], length) - 1 - (ranges(np.zeros_like(length), length))
        pairs = pl.DataFrame({"pattern": self.pattern[row], "id": ids.gather(self.event[row])})
        return pairs.group_by("pattern", maintain_order=True).agg("id").get_column("id")


def worth_showing(candidates: Candidates, standing: Standing) -> Ints:
    """Indices of the candidates that are patterns: confirmed, expired after they were, or promising.

    A candidate that chance explains as well, or that faded before it was ever confirmed, is neither a habit nor on
    the way to become one.
    """
    tail = binomial_tail(standing.all_support, standing.all_opportunities, candidates.null_rate)
    promising = (
        (standing.status == Status.tracking) & (tail <= _PROMISING) & (standing.support >= _SEEN_TWICE)
    )
    confirmed = standing.status == Status.confirmed
    gone = (standing.status == Status.expired) & was_confirmed(standing)
    return np.flatnonzero(standing.began & (confirmed | promising | gone))


def was_confirmed(standing: Standing) -> Flags:
    """(candidates,) True if the candidate was confirmed at any time."""
    answer = np.zeros(len(standing.status), dtype=np.bool_)
    answer[[t.candidate for t in standing.transitions if t.after is Status.confirmed]] = True
    return answer


def pattern_ids(users: Sequence[str], type: str, rules: Sequence[Rule], origins: Sequence[str]) -> list[str]:
    """The ids of patterns; where two would be the same (two slots avoided on the same days), the second gets another one.

    The one whose hours come first keeps the plain id.
    """
    answer = [pattern_id(*of) for of in zip(users, [type] * len(users), rules, origins, strict=True)]
    seen: dict[str, int] = {}
    for place in sorted(
        range(len(answer)), key=lambda i: orjson.dumps(rules[i].to_json(), option=orjson.OPT_SORT_KEYS)
    ):
        plain = answer[place]
        seen[plain] = seen.get(plain, 0) + 1
        if seen[plain] > 1:
            answer[place] = _hashed([plain, seen[plain]])
    return answer


def pattern_id(user: str, type: str, rule: Rule, origin: str) -> str:
    """The id of a pattern: what its rule is about, and where that may drift, the observation it began with.

    A time of day and its tolerance sharpen as evidence comes in, and so do the hours of an avoided slot; they are no
    part of the id (`Rule.identity`).
    """
    identity = rule.identity()
    key: list[object] = [user, type, identity]
    if rule.id_depends_on_origin and len(identity) < len(rule.to_json()):
        key.append(origin)
    return _hashed(key)


def _hashed(key: list[object]) -> str:
    return hashlib.blake2b(orjson.dumps(key, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


def _timestamps(log: Log, event: Ints) -> pl.Series:
    """(n,) RFC 3339 of events, with the offset the person's clock had."""
    local = log.frame.get_column("local").gather(event).dt.epoch("us")
    return _rfc3339_series(local, pl.Series(log.offset[event]))


def _rfc3339_series(local: pl.Series, offset: pl.Series) -> pl.Series:
    minutes = offset // 60_000_000
    frame = pl.DataFrame({"local": local.cast(pl.Datetime("us")), "minutes": minutes})
    size = pl.col("minutes").abs()
    return frame.select(
        pl.concat_str(
            pl.col("local").dt.strftime("%Y-%m-%dT%H:%M:%S"),
            pl.when(pl.col("minutes") < 0).then(pl.lit("-")).otherwise(pl.lit("+")),
            (size // 60).cast(pl.String).str.zfill(2),
            pl.lit(":"),
            (size % 60).cast(pl.String).str.zfill(2),
        )
    ).to_series()


def moments(log: Log, local: Ints, event: Ints) -> list[str | None]:
    """RFC 3339 of the log's wall clocks, null for `NEVER`, with the offset the clock had at those events."""
    began = timedelta(hours=log.day_starts_at)
    return [
        None
        if when == NEVER
        else (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=when) + began)
        .replace(tzinfo=None, microsecond=0)
        .isoformat()
        + _offset(shift)
        for when, shift in zip(local.tolist(), log.offset[np.maximum(event, 0)].tolist(), strict=True)
    ]


def _offset(microseconds: int) -> str:
    minutes = microseconds // 60_000_000
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _sources(log: Log, support: _Support) -> list[str]:
    """``declared`` where nearly all support is one recurring event of a calendar, else ``observed``."""
    patterns = len(support.start) - 1
    if "series:text" not in log.frame.columns:
        return ["observed"] * patterns
    series = coded_with_nulls(log.frame.get_column("series:text"))[support.event]
    pairs, count = np.unique(pack(support.pattern, series)[series > 0], return_counts=True)
    most = np.zeros(patterns)
    pattern, _ = unpack(pairs)
    np.maximum.at(most, pattern, count)
    declared = most >= DECLARED_SHARE * np.diff(support.start)
    return [("observed", "declared")[one] for one in declared.tolist()]
