"""A status change of a pattern, as the stream reports it."""

from __future__ import annotations

from dataclasses import dataclass

import orjson


@dataclass(frozen=True)
class Change:
    """One status change of one pattern.

    Attributes:
        user_id: the person.
        id: the pattern's id.
        type: the pattern's type.
        statement: the pattern's sentence.
        before: the last reported status; `None` if none was reported.
        after: the status now; `None` if the pattern no longer exists.
        at: when it changed, RFC 3339: the time of the observation, or the moment at which it became due or expired.
        reason: why.
        confidence: at the evaluation.
        provisional: true if derived from one new observation and the last evaluation; a full evaluation follows.

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
        """The change as one line of JSON, without the newline."""
        return orjson.dumps(self).decode()
