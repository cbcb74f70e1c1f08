"""The person's word beside what was observed (`with_words`).

::

    remembered   a pattern of its own: explicit, confidence 1, confirmed; expired once its `until` is past
    confirmed    the pattern is confirmed whatever the count, until it expires after that
    dismissed    the pattern is not shown, until what was observed after that would confirm it alone
    pinned       it comes first in the profile

A word is about a behaviour and not about an id (`patterns.rules.sameness`). Where a person said nothing, their patterns are
what they were, to the byte; where somebody did, each pattern has ``words`` and ``doubts`` beside the contract's fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
import polars as pl

from observations.civil_time import rfc_3339
from patterns.evaluate import evaluate
from patterns.pattern_frame import PATTERNS
from patterns.rules.sameness import is_same
from patterns.settings import Settings
from pipelines.memory.conflicts import doubts_of
from pipelines.store.feedback_rows import Said

ADDED: Mapping[str, pl.DataType] = {"words": pl.List(pl.String()), "doubts": pl.List(pl.String())}
"""The columns beside those of `patterns.pattern_frame.PATTERNS`."""

_RANK = {"confirmed": 0, "tracking": 1, "expired": 2}

Row = dict[str, Any]


def with_words(
    patterns: pl.DataFrame,
    words: Sequence[Said],
    observations: pl.DataFrame,
    as_of: datetime,
    settings: Settings,
    *,
    with_dismissed: bool = False,
) -> pl.DataFrame:
    """The patterns as they are with the person's word: `PATTERNS`, and the columns `ADDED` if there is any word.

    Args:
        patterns: of any number of people, in the order of `patterns.evaluate.evaluate`.
        words: theirs, up to `as_of`.
        observations: theirs, up to `as_of`.
        as_of: the evaluation time.
        settings: by which patterns are judged.
        with_dismissed: dismissed patterns are marked and not left out.
    """
    if not words:
        return patterns
    rows: list[Row] = [
        {**row, "rule": orjson.loads(row["rule"]), "words": [], "doubts": []}
        for row in patterns.iter_rows(named=True)
    ]
    for user in sorted({word.user for word in words}):
        theirs = [word for word in words if word.user == user]
        own = observations.filter(pl.col("user_id") == user)
        mine = [row for row in rows if row["user_id"] == user]
        rows = [row for row in rows if row["user_id"] != user]
        rows += _spoken_of(mine, theirs, own, as_of, settings, with_dismissed=with_dismissed)
    rows.sort(key=lambda row: (row["user_id"], _RANK[row["status"]], -round(row["confidence"], 9), row["id"]))
    written = [{**row, "rule": orjson.dumps(row["rule"]).decode()} for row in rows]
    return pl.DataFrame(written, schema={**PATTERNS, **ADDED})


def explicit_id(user: str, type: str, statement: str) -> str:
    """The id of what a person said: the same words, the same id."""
    key = orjson.dumps(["explicit", user, type, " ".join(statement.casefold().split())])
    return hashlib.blake2b(key, digest_size=8).hexdigest()


def is_about(said: Said, row: Mapping[str, Any]) -> bool:
    """Whether a word is about this pattern (a row whose ``rule`` is read)."""
    if said.pattern == row["id"]:
        return True
    observed = row["source"] != "explicit" and "statement" not in said.about
    return (
        observed
        and said.about["type"] == row["type"]
        and is_same(row["type"], said.about["rule"], row["rule"])
    )


def stamp(moment: datetime, observations: pl.DataFrame) -> str:
    """A moment as RFC 3339, with the offset that the clock of these observations showed last; UTC if there are none."""
    offset = timedelta()
    if observations.height:
        at, local = observations.sort("at").select("at", "local").row(-1)
        offset = local - at.replace(tzinfo=None)
    return rfc_3339(moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta()) + offset, offset)


def _spoken_of(
    rows: list[Row],
    words: Sequence[Said],
    observations: pl.DataFrame,
    as_of: datetime,
    settings: Settings,
    *,
    with_dismissed: bool,
) -> list[Row]:
    """One person's patterns with their words."""
    explicit = [_explicit(word, observations, as_of) for word in words if word.word == "remembered"]
    confirmed = [word for word in words if word.word == "confirmed"]
    rows = [*rows, *_kept(rows, confirmed), *explicit]
    for row in rows:
        for word in words:
            if word.word != "remembered" and is_about(word, row):
                _mark(row, word, observations)
    again = _Again(observations, as_of, settings)
    gone = {row["id"] for row in rows for word in words if _dismisses(word, row) and not again(word, row)}
    for row in rows:
        if row["id"] not in gone:
            row["words"] = [word for word in row["words"] if word != "dismissed"]
    left = [row for row in rows if row["id"] not in gone]
    for row in explicit:
        row["doubts"] = doubts_of(row, left, observations, as_of, settings)
    return rows if with_dismissed else left


def _explicit(said: Said, observations: pl.DataFrame, as_of: datetime) -> Row:
    about, at = said.about, stamp(said.at, observations)
    until = about["until"]
    is_over = until is not None and datetime.fromisoformat(until) <= as_of
    return {
        "id": said.pattern,
        "user_id": said.user,
        "type": about["type"],
        "statement": about["statement"],
        "rule": about["rule"],
        "status": "expired" if is_over else "confirmed",
        "confidence": 0.0 if is_over else 1.0,
        "components": {"count": 1.0, "recency": 1.0, "consistency": 1.0, "span": 1.0},
        "support": 0,
        "opportunities": 0,
        "contradictions": 0,
        "p_value": 1.0,
        "rate_interval": [0.0, 1.0],
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


def _kept(rows: Sequence[Row], confirmed: Iterable[Said]) -> list[Row]:
    """What the person confirmed and the figures alone would no longer show: as it was then."""
    missing = [word for word in confirmed if not any(is_about(word, row) for row in rows)]
    return [{**word.about["pattern"], "superseded_by": None, "words": [], "doubts": []} for word in missing]


def _mark(row: Row, said: Said, observations: pl.DataFrame) -> None:
    row["words"] = sorted({*row["words"], said.word})
    if said.word != "confirmed" or row["source"] == "explicit":
        return
    # Who confirmed a habit did not say that it would never end.
    if row["status"] == "expired" and datetime.fromisoformat(row["expired_at"]) > said.at:
        return
    row.update(status="confirmed", lacks=[], expired_at=None)
    row["confirmed_at"] = row["confirmed_at"] or stamp(said.at, observations)


def _dismisses(said: Said, row: Row) -> bool:
    return said.word == "dismissed" and is_about(said, row)


class _Again:
    """Whether what was observed after a dismissal would confirm the pattern alone."""

    def __init__(self, observations: pl.DataFrame, as_of: datetime, settings: Settings) -> None:
        self._observations, self._as_of, self._settings = observations, as_of, settings
        self._found: dict[datetime, list[tuple[str, dict[str, Any]]]] = {}

    def __call__(self, said: Said, row: Row) -> bool:
        if row["source"] == "explicit" or datetime.fromisoformat(row["last_seen"]) <= said.at:
            return False
        return any(
            type == row["type"] and is_same(type, rule, row["rule"])
            for type, rule in self._confirmed(said.at)
        )

    def _confirmed(self, since: datetime) -> list[tuple[str, dict[str, Any]]]:
        if since not in self._found:
            after = self._observations.filter(pl.col("at") > since)
            found = evaluate(after, self._as_of, self._settings).filter(pl.col("status") == "confirmed")
            self._found[since] = [
                (type, orjson.loads(rule)) for type, rule in found.select("type", "rule").rows()
            ]
        return self._found[since]
