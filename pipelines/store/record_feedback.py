"""Records feedback: what a person says about themselves and about patterns (`pipelines.memory.feedback` applies it)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from observations.errors import SettingError
from observations.privacy.redact import redact
from patterns.candidates import PatternType
from patterns.model import Pattern
from patterns.pattern_frame import PATTERNS
from patterns.registry import rule_of
from pipelines.memory.feedback import explicit_id
from pipelines.memory.feedback_record import FeedbackKind, FeedbackRecord
from pipelines.store.context import StoreContext
from pipelines.store.database.feedback_rows import delete_feedback, write_feedback
from pipelines.store.pattern_queries import PatternQueries
from pipelines.text.sanitize import plain, shortened

LONGEST = 200
"""Maximum length of a remembered sentence, in characters."""


class FeedbackRecorder:
    """Records and deletes feedback.

    Args:
        context: of the store.
        queries: find the pattern that feedback is about.

    """

    def __init__(self, context: StoreContext, queries: PatternQueries) -> None:
        self._database, self._clock, self._queries = context.database, context.clock, queries

    def remember(
        self,
        text: str,
        type: PatternType,
        user: str,
        rule: Mapping[str, object] | None,
        until: datetime | None,
    ) -> Pattern:
        """Store what a person says about themselves (`Store.remember`)."""
        statement, now = _sentence(text), self._clock()
        if until is not None and until <= now:
            message = f"`until` {until:%Y-%m-%d %H:%M} is in the past; choose a later time, or none"
            raise SettingError(message, argument="until", value=until)
        about = {
            "type": type,
            "statement": statement,
            "rule": rule_of(type, {"where": {}, "said": statement} if rule is None else rule).to_json(),
            "until": None if until is None else until.isoformat(timespec="seconds"),
        }
        record = FeedbackRecord(user, explicit_id(user, type, statement), "remembered", now, about)
        self._database.write(lambda connection: write_feedback(connection, record))
        return self._queries.find(record.pattern, user, now).pattern

    def undo_remember(self, text: str, type: PatternType, user: str) -> Pattern:
        """Delete what was remembered; the pattern as it was."""
        id = explicit_id(user, type, _sentence(text))
        pattern = self._queries.find(id, user, self._clock()).pattern
        self._database.write(lambda connection: delete_feedback(connection, user, id, "remembered"))
        return pattern

    def record(self, kind: FeedbackKind, id: str, user: str) -> Pattern:
        """Store feedback on a pattern; the pattern with it applied."""
        now = self._clock()
        row = self._queries.find(id, user, now).row
        record = FeedbackRecord(user, row["id"], kind, now, _about(row, kind))
        self._database.write(lambda connection: write_feedback(connection, record))
        return self._queries.find(row["id"], user, now).pattern

    def undo(self, kind: FeedbackKind, id: str, user: str) -> Pattern:
        """Delete feedback on a pattern; the pattern without it."""
        now = self._clock()
        found = self._queries.find(id, user, now)
        which = found.row["id"]
        if not self._database.write(lambda connection: delete_feedback(connection, user, which, kind)):
            raise SettingError(f"pattern {which} is not {kind}; there is nothing to undo")
        try:
            return self._queries.find(which, user, now).pattern
        except SettingError:  # only the feedback kept it: no longer significant
            return found.pattern


def _about(row: Mapping[str, Any], kind: FeedbackKind) -> dict[str, object]:
    about: dict[str, object] = {"type": row["type"], "rule": row["rule"]}
    if kind == "confirmed":
        about["pattern"] = {name: row[name] for name in PATTERNS}
    return about


def _sentence(text: str) -> str:
    """The text on one line, without secrets, starting with a capital letter."""
    sentence = redact(plain(text))
    if not sentence:
        raise SettingError("the text is empty; write a sentence, such as 'prefers tea'")
    if len(sentence) > LONGEST:
        raise SettingError(
            f"{shortened(sentence, 40)!r} has {len(sentence)} characters; at most {LONGEST} are allowed"
        )
    return sentence[0].upper() + sentence[1:]
