"""Applies feedback to patterns (`apply_feedback`).

::

    remembered   adds a pattern: explicit, confidence 1, confirmed; expired after its `until`
    confirmed    the pattern is confirmed whatever its count, until it expires
    dismissed    the pattern is hidden, until observations after the dismissal confirm it on their own
    pinned       the pattern comes first in the profile

Feedback is about a behavior, not an id (`patterns.rules.rule.Rule.is_same`). Without feedback the patterns of a person are
returned unchanged; with feedback each pattern has ``words`` and ``doubts`` in addition to the fields of the contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import orjson
import polars as pl

from observations.civil_time import rfc_3339
from patterns.count_rules import count_rules
from patterns.evaluate import evaluate
from patterns.inference.significance import rate_interval
from patterns.pattern_frame import PATTERNS
from patterns.registry import rule_of
from patterns.rules.rule import Rule
from patterns.settings import Settings
from pipelines.memory.conflicts import doubts_of
from pipelines.memory.feedback_record import FeedbackRecord

ADDED: Mapping[str, pl.DataType] = {"words": pl.List(pl.String()), "doubts": pl.List(pl.String())}
"""The columns added to `patterns.pattern_frame.PATTERNS`: kinds of feedback, and why it may not hold."""

_RANK = {"confirmed": 0, "tracking": 1, "expired": 2}

Row = dict[str, Any]


def apply_feedback(
    patterns: pl.DataFrame,
    feedback: Sequence[FeedbackRecord],
    observations: pl.DataFrame,
    as_of: datetime,
    settings: Settings,
    *,
    with_dismissed: bool = False,
) -> pl.DataFrame:
    """The patterns with feedback applied: `PATTERNS`, plus the columns `ADDED` if there is any feedback.

    Args:
        patterns: of any number of people, in the order of `patterns.evaluate.evaluate`.
        feedback: of these people, up to `as_of`.
        observations: of these people, up to `as_of`.
        as_of: the evaluation time.
        settings: thresholds and weights.
        with_dismissed: mark dismissed patterns instead of leaving them out.
    """
    if not feedback:
        return patterns
    rows: list[Row] = [
        {**row, "rule": orjson.loads(row["rule"]), "words": [], "doubts": []}
        for row in patterns.iter_rows(named=True)
    ]
    for user in sorted({record.user for record in feedback}):
        theirs = [record for record in feedback if record.user == user]
        own = observations.filter(pl.col("user_id") == user)
        mine = [row for row in rows if row["user_id"] == user]
        rows = [row for row in rows if row["user_id"] != user]
        rows += _apply_to_one(mine, theirs, own, as_of, settings, with_dismissed=with_dismissed)
    rows.sort(key=lambda row: (row["user_id"], _RANK[row["status"]], -round(row["confidence"], 9), row["id"]))
    written = [{**row, "rule": orjson.dumps(row["rule"]).decode()} for row in rows]
    return pl.DataFrame(written, schema={**PATTERNS, **ADDED})


def explicit_id(user: str, type: str, statement: str) -> str:
    """The id of a remembered pattern, derived from its normalized text."""
    key = orjson.dumps(["explicit", user, type, " ".join(statement.casefold().split())])
    return hashlib.blake2b(key, digest_size=8).hexdigest()


def is_about(record: FeedbackRecord, row: Mapping[str, Any]) -> bool:
    """True if the feedback is about this pattern (a row with a parsed ``rule``)."""
    if record.pattern == row["id"]:
        return True
    observed = row["source"] != "explicit" and "statement" not in record.about
    return (
        observed
        and record.about["type"] == row["type"]
        and rule_of(row["type"], record.about["rule"]).is_same(rule_of(row["type"], row["rule"]))
    )


def stamp(moment: datetime, observations: pl.DataFrame) -> str:
    """An instant as RFC 3339, with the UTC offset of the newest observation; UTC if there are none."""
    offset = timedelta()
    if observations.height:
        at, local = observations.sort("at").select("at", "local").row(-1)
        offset = local - at.replace(tzinfo=None)
    return rfc_3339(moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta()) + offset, offset)


def _apply_to_one(
    rows: list[Row],
    feedback: Sequence[FeedbackRecord],
    observations: pl.DataFrame,
    as_of: datetime,
    settings: Settings,
    *,
    with_dismissed: bool,
) -> list[Row]:
    """The patterns of one person with their feedback applied."""
    remembered = [record for record in feedback if record.kind == "remembered"]
    counts = _counted(remembered, observations, as_of, settings)
    explicit = [
        _explicit(record, observations, as_of, counts.get(record.pattern, (0, 0))) for record in remembered
    ]
    confirmed = [record for record in feedback if record.kind == "confirmed"]
    rows = [*rows, *_kept(rows, confirmed), *explicit]
    for row in rows:
        for record in feedback:
            if record.kind != "remembered" and is_about(record, row):
                _mark(row, record, observations)
    reconfirmed = _Reconfirmed(observations, as_of, settings)
    gone = {
        row["id"]
        for row in rows
        for record in feedback
        if _dismisses(record, row) and not reconfirmed(record, row)
    }
    for row in rows:
        if row["id"] not in gone:
            row["words"] = [word for word in row["words"] if word != "dismissed"]
    left = [row for row in rows if row["id"] not in gone]
    for row in explicit:
        row["doubts"] = doubts_of(row, left, observations, as_of, settings)
    return rows if with_dismissed else left


def _explicit(
    record: FeedbackRecord, observations: pl.DataFrame, as_of: datetime, counted: tuple[int, int]
) -> Row:
    """A remembered pattern; `counted` is how often its rule was kept, of how many opportunities."""
    about, at = record.about, stamp(record.at, observations)
    until = about["until"]
    is_over = until is not None and datetime.fromisoformat(until) <= as_of
    support, opportunities = counted
    low, high = rate_interval(np.array([float(support)]), np.array([float(opportunities)]))
    return {
        "id": record.pattern,
        "user_id": record.user,
        "type": about["type"],
        "statement": about["statement"],
        "rule": about["rule"],
        "status": "expired" if is_over else "confirmed",
        "confidence": 0.0 if is_over else 1.0,
        "components": {"count": 1.0, "recency": 1.0, "consistency": 1.0, "span": 1.0},
        "support": support,
        "opportunities": opportunities,
        "contradictions": 0,
        "p_value": 1.0,
        "rate_interval": [float(low[0]), float(high[0])],
        "lacks": [],
        "first_seen": at,
        "last_seen": at,
        "confirmed_at": at,
        "expired_at": until if is_over else None,
        "evidence": [],
        "superseded_by": None,
        "source": "explicit",
        "words": [],
        "doubts": [],
    }


def _counted(
    remembered: Sequence[FeedbackRecord], observations: pl.DataFrame, as_of: datetime, settings: Settings
) -> dict[str, tuple[int, int]]:
    """By pattern id, how often each remembered rule was kept, of how many opportunities; sentences have no rule."""
    countable = [record for record in remembered if "said" not in record.about["rule"]]
    if observations.is_empty() or not countable:
        return {}
    asked = pl.DataFrame(
        {
            "id": [record.pattern for record in countable],
            "user_id": [record.user for record in countable],
            "type": [record.about["type"] for record in countable],
            "rule": [orjson.dumps(record.about["rule"]).decode() for record in countable],
        }
    )
    since = observations.get_column("at").min()
    assert isinstance(since, datetime), "there are observations"
    counts = count_rules(observations, asked, since - timedelta(days=1), as_of, settings)
    return {id: (kept, of) for id, kept, of in counts.select("id", "support", "opportunities").iter_rows()}


def _kept(rows: Sequence[Row], confirmed: Iterable[FeedbackRecord]) -> list[Row]:
    """Patterns the person confirmed that are no longer significant, as they were when confirmed."""
    missing = [record for record in confirmed if not any(is_about(record, row) for row in rows)]
    return [
        {**record.about["pattern"], "superseded_by": None, "words": [], "doubts": []} for record in missing
    ]


def _mark(row: Row, record: FeedbackRecord, observations: pl.DataFrame) -> None:
    row["words"] = sorted({*row["words"], record.kind})
    if record.kind != "confirmed" or row["source"] == "explicit":
        return
    # Confirming a habit does not keep it from expiring later.
    if row["status"] == "expired" and datetime.fromisoformat(row["expired_at"]) > record.at:
        return
    row.update(status="confirmed", lacks=[], expired_at=None)
    row["confirmed_at"] = row["confirmed_at"] or stamp(record.at, observations)


def _dismisses(record: FeedbackRecord, row: Row) -> bool:
    return record.kind == "dismissed" and is_about(record, row)


class _Reconfirmed:
    """Tells whether observations after a dismissal confirm the pattern on their own."""

    def __init__(self, observations: pl.DataFrame, as_of: datetime, settings: Settings) -> None:
        self._observations, self._as_of, self._settings = observations, as_of, settings
        self._found: dict[datetime, list[tuple[str, Rule]]] = {}

    def __call__(self, record: FeedbackRecord, row: Row) -> bool:
        if row["source"] == "explicit" or datetime.fromisoformat(row["last_seen"]) <= record.at:
            return False
        return any(
            type == row["type"] and rule.is_same(rule_of(type, row["rule"]))
            for type, rule in self._confirmed(record.at)
        )

    def _confirmed(self, since: datetime) -> list[tuple[str, Rule]]:
        if since not in self._found:
            after = self._observations.filter(pl.col("at") > since)
            found = evaluate(after, self._as_of, self._settings).filter(pl.col("status") == "confirmed")
            self._found[since] = [
                (type, rule_of(type, rule)) for type, rule in found.select("type", "rule").rows()
            ]
        return self._found[since]
