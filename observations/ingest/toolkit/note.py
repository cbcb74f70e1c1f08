"""A note on the reading of a source: what a report lists beside the observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from observations.privacy.redact import redact


@dataclass(frozen=True)
class Note:
    """A message about the reading of a source. Secrets in what it quotes from a record are redacted.

    Attributes:
        level: ``reject``: a record that could not be read. ``left_out``: a record that was read but is, by rule, not an
            observation (a task list in a calendar, a mail in Spam). ``warning``: read, with an assumption.
        reason: a short code that can be counted: ``bad_line``, ``tz_unknown``, ``no_timestamp``, …
        message: one sentence: what was found, and what was done about it.
        line: where, counted from 1; None where lines mean nothing.
        item: which record, where it has a name (a UID, a Message-ID).
        count: how many records this note stands for.

    """

    level: Literal["reject", "left_out", "warning"]
    source: str
    reason: str
    message: str
    line: int | None = None
    item: str | None = None
    count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact(self.message))
        if self.item:
            object.__setattr__(self, "item", redact(self.item))

    def __str__(self) -> str:
        where = self.source + (f":{self.line}" if self.line is not None else "")
        return f"{where}: {self.message}" + (f" ({self.item})" if self.item else "")
