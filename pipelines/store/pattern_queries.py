"""Queries that evaluate observations on request: patterns, everything behind one pattern, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
import polars as pl

from observations.errors import SettingError, did_you_mean
from observations.schema import unique_observations
from patterns.evaluate import evaluate
from patterns.explain import JOURNAL
from patterns.model import Pattern, read_patterns
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from pipelines.detection import Basis, Detection
from pipelines.memory.backtest import backtest
from pipelines.memory.feedback import ADDED, apply_feedback, is_about, stamp
from pipelines.memory.feedback_record import FeedbackRecord
from pipelines.memory.predict import Prediction, predictions
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.pattern_detail import Explained
from pipelines.store.context import StoreContext
from pipelines.store.database.feedback_rows import read_feedback
from pipelines.store.database.observation_queries import Person, parts, read_observations
from pipelines.store.stored_observations import StoredObservations, people_of
from pipelines.store.users import Users
from pipelines.text.sanitize import shortened
from pipelines.wall_clock import wall_clock

_LISTED = 5
"""Patterns listed in a message about an ambiguous id."""

_SENTENCE = 60
"""Characters of a sentence in a message."""


@dataclass(frozen=True, eq=False)
class Shown:
    """One pattern and everything behind it.

    Attributes:
        pattern: with feedback applied.
        behind: its opportunities, status changes and outlook; `None` for a remembered pattern, and for a confirmed one
            that is no longer significant.
        until: the person's wall clock at the evaluation.
        settings: thresholds and weights it was judged by.

    """

    pattern: Pattern
    behind: Explained | None
    until: datetime
    settings: Settings


@dataclass(frozen=True, eq=False)
class Found:
    """One pattern, and the patterns it was found among.

    Attributes:
        detection: all patterns of the person.
        row: the pattern, with a parsed ``rule``.

    """

    detection: Detection
    row: Mapping[str, Any]

    @property
    def pattern(self) -> Pattern:
        """The pattern."""
        return next(read_patterns(self.detection.frame.filter(pl.col("id") == self.row["id"])))


class PatternQueries:
    """Answers queries about patterns by evaluating the observations.

    Args:
        context: of the store.
        observations: of the store.

    """

    def __init__(self, context: StoreContext, observations: StoredObservations) -> None:
        self._context, self._observations = context, observations

    def patterns(self, user: Users, as_of: datetime, status: str | None = None) -> Detection:
        """The patterns of a user at `as_of`, with feedback applied; those with this status, or all."""
        with self._context.database.reading() as connection:
            whose = people_of(connection, user)
        found = self._detect(whose, as_of)
        return (
            found if status is None else replace(found, frame=found.frame.filter(pl.col("status") == status))
        )

    def show(self, id: str, user: str, as_of: datetime) -> Shown:
        """One pattern and everything behind it."""
        return self._shown(self.find(id, user, as_of), as_of)

    def history(self, id: str, user: str, as_of: datetime) -> pl.DataFrame:
        """The status changes of one pattern and the feedback on it (`patterns.explain.JOURNAL`), in order of time."""
        found = self.find(id, user, as_of)
        with self._context.database.reading() as connection:
            feedback = read_feedback(connection, people_of(connection, user), as_of)
        behind = self._shown(found, as_of).behind
        journal = pl.DataFrame(schema=dict(JOURNAL)) if behind is None else behind.journal
        entries = [
            _entry(record, found.row, found.detection.observed)
            for record in feedback
            if is_about(record, found.row)
        ]
        both = pl.concat([journal, pl.DataFrame(entries, schema=dict(JOURNAL))])
        return both.sort("local", maintain_order=True)

    def predict(self, user: Users, days: int, as_of: datetime) -> list[Prediction]:
        """What a user will probably do in the `days` after `as_of`."""
        found = self.patterns(user, as_of)
        return predictions(found.frame, found.observed, as_of, days, self._context.settings)

    def backtest(self, user: Users, days: int, as_of: datetime) -> pl.DataFrame:
        """How often the predictions of the `days` before `as_of` came true (`pipelines.memory.backtest.BACKTEST`)."""
        return backtest(self._observations.read(user, as_of), as_of, days, self._context.settings)

    def find(self, prefix: str, user: str, as_of: datetime) -> Found:
        """The pattern of a user whose id begins with `prefix`, dismissed or not.

        Raises:
            SettingError: the user has no such pattern, or several.
        """
        with self._context.database.reading() as connection:
            whose = people_of(connection, user)
        found = self._detect(whose, as_of, with_dismissed=True)
        rows = _with_prefix(found, prefix)
        if len(rows) == 1:
            return Found(found, rows[0])
        if rows:
            raise SettingError(_ambiguous(prefix, rows))
        ids = found.frame.get_column("id").to_list()
        near = did_you_mean(prefix, ids) or did_you_mean(prefix, [id[: len(prefix)] for id in ids])
        raise SettingError(
            f"user {user!r} has no pattern with an id that begins with {prefix!r}"
            + (near or ("; see the list of all patterns" if ids else "; name another user with `user`"))
        )

    def _detect(self, whose: Sequence[Person], as_of: datetime, *, with_dismissed: bool = False) -> Detection:
        """The patterns of these people at `as_of`, with feedback applied."""
        settings, frames, rows, count = self._context.settings, [pl.DataFrame(schema=dict(PATTERNS))], 0, 0
        with self._context.database.reading() as connection:
            for part in parts(whose, PEOPLE_AT_ONCE):
                frame = unique_observations(read_observations(connection, part, as_of))
                found = evaluate(frame, as_of, settings)
                feedback = read_feedback(connection, part, as_of)
                frames.append(
                    apply_feedback(found, feedback, frame, as_of, settings, with_dismissed=with_dismissed)
                )
                rows += frame.height
                count += frame.get_column("user_id").n_unique()
        basis = Basis(lambda: self._observations.read_people(whose, as_of), as_of, settings)
        return Detection(_joined(frames), rows, count, basis=basis)

    def _shown(self, found: Found, as_of: datetime) -> Shown:
        pattern, own = found.pattern, found.detection.observed
        until = wall_clock(own, as_of) if own.height else as_of.replace(tzinfo=None)
        try:
            behind = None if pattern.source == "explicit" else found.detection.explain(pattern)
        except SettingError:  # confirmed by the person, but no longer significant
            behind = None
        return Shown(pattern, behind, until, self._context.settings)


def _with_prefix(found: Detection, prefix: str) -> list[dict[str, Any]]:
    """The patterns whose id begins with `prefix`, or the one that has it as its id."""
    rows = found.frame.filter(pl.col("id").str.starts_with(prefix))
    exact = rows.filter(pl.col("id") == prefix)
    chosen = exact if exact.height else rows
    return [{**row, "rule": orjson.loads(row["rule"])} for row in chosen.iter_rows(named=True)]


def _ambiguous(prefix: str, rows: Sequence[Mapping[str, Any]]) -> str:
    listed = "; ".join(f"{row['id']} ({shortened(row['statement'], _SENTENCE)})" for row in rows[:_LISTED])
    more = f"; and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f"{len(rows)} patterns have an id that begins with {prefix!r}: {listed}{more}"


def _entry(record: FeedbackRecord, row: Mapping[str, Any], observed: pl.DataFrame) -> dict[str, object]:
    """Feedback as a row of the journal."""
    at = stamp(record.at, observed)
    return {
        "pattern_id": row["id"],
        "user_id": row["user_id"],
        "at": at,
        "local": datetime.fromisoformat(at).replace(tzinfo=None),
        "before": None,
        "after": record.kind,
        "reason": "feedback of the user",
        "confidence": row["confidence"],
        "support": row["support"],
        "opportunities": row["opportunities"],
        "observation": None,
    }


def _joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    found = pl.concat(frames, how="diagonal")
    nothing = pl.lit([], dtype=pl.List(pl.String))
    return found.with_columns(pl.col(name).fill_null(nothing) for name in ADDED if name in found.columns)
