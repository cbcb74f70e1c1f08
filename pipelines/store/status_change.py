"""A change of what is believed, as the stream says it."""

from __future__ import annotations

from dataclasses import dataclass

import orjson


@dataclass(frozen=True)
class Change:
    """One status change of one pattern.

    Attributes:
        user_id: whose pattern.
        id: the pattern's id.
        type: its type.
        statement: its sentence.
        before: the status that was said last; null if none was.
        after: the status now; null if it is no pattern any more.
        at: when it came to be so, RFC 3339: the time of the observation, or the moment at which time alone did it.
        reason: why.
        confidence: at the evaluation.
        provisional: whether it was told from one observation and what was stored, before the whole was evaluated.

    """

    user_id: str
    id: str
    type: str
    statement: str
    before: str | None
    after: str | None
    at: str
    reason: str
    confidence: float
    provisional: bool = False

    def to_json(self) -> str:
        """The change as one line of JSON, without the line's end."""
        return orjson.dumps(self).decode()
