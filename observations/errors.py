"""The errors that habitus raises.

::

    HabitusError            anything that a user can fix; shown as one line
    ├── SourceError         a source cannot be read at all: missing, unreadable, not recognised
    ├── SettingError        a setting has an invalid value: an unknown zone, a bad date
    ├── SchemaError         a frame lacks columns that it needs
    └── StoreError          the store cannot be opened, read or written

A record that cannot be read is not an error: it is a `Note` (`observations.ingest.toolkit.note`), and the rest is read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HabitusError(Exception):
    """An error that the user can fix. The message says what, where and what to do, on one line."""


class SourceError(HabitusError):
    """A source cannot be read at all."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class SettingError(HabitusError):
    """A setting has an invalid value."""


class SchemaError(HabitusError):
    """A frame does not have the columns it needs."""


class StoreError(HabitusError):
    """The store cannot be opened, read or written. What was in it before still is."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest known word, to append to a message; empty if there is none.

    >>> did_you_mean("Europe/Berln", ["Europe/Berlin", "Europe/Paris"])
    '; did you mean Europe/Berlin?'
    """
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
