"""Sanitizing: text from the data (titles, subjects) made safe for a terminal or a prompt."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    r"""The text on one line, without control and invisible characters.

    >>> plain("Gym\n\x1b[31m now\u202e")
    'Gym [31m now'
    """
    # Line breaks are control characters too (Cc), or separators (Zl, Zp): they become spaces first.
    spaced = "".join(" " if char.isspace() else char for char in text)
    return " ".join("".join(char for char in spaced if unicodedata.category(char)[0] != "C").split())


def shortened(text: str, length: int) -> str:
    """The text in at most `length` characters, its end replaced by "…" if it is longer.

    >>> shortened("Quarterly planning", 10)
    'Quarterly…'
    """
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
