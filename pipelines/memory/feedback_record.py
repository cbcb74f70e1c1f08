"""One thing that a person said about a pattern: the record that the store keeps and `pipelines.memory.feedback` applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

FeedbackKind = Literal["remembered", "confirmed", "dismissed", "pinned"]


@dataclass(frozen=True)
class FeedbackRecord:
    """What one person said about one pattern.

    Attributes:
        user: the person.
        pattern: id of the pattern at that time.
        kind: what they said.
        at: when they said it.
        about: the ``type`` and ``rule`` of the pattern; for ``confirmed`` also ``pattern``, the whole pattern as it was;
            for ``remembered`` also ``statement`` and ``until`` (RFC 3339 or null).

    """

    user: str
    pattern: str
    kind: FeedbackKind
    at: datetime
    about: Mapping[str, Any]
