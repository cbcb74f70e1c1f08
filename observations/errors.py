"""The exceptions of habitus.

::

    HabitusError            base class: the caller can fix it; the message is one line
    ├── SourceError         a source cannot be read at all       .source  .problem
    ├── SettingError        an argument has an invalid value     .argument  .value
    ├── SchemaError         a frame or record does not fit the schema
    └── StoreError          the store cannot be opened, read or written   .place  .problem

Messages name arguments in backticks (`as_of`); the command line replaces them by its options (``--as-of``).

A single record that cannot be read raises nothing: it becomes a `Note` (`observations.ingest.toolkit.note`), and the
rest is read.
"""

from __future__ import annotations

from collections.abc import Iterable


class HabitusError(Exception):
    """Base class of all errors that the caller can fix. The message is one line: what, where, what to do."""


class SourceError(HabitusError):
    """A source cannot be read at all.

    Attributes:
        source: its name.
        problem: what is wrong with it.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, str]]:
        return type(self), (self.source, self.problem)


class SettingError(HabitusError):
    """An argument or setting has an invalid value.

    Attributes:
        argument: its name, such as ``as_of``; None where the message is about no single one.
        value: what was given.
    """

    def __init__(self, message: str, *, argument: str | None = None, value: object = None) -> None:
        super().__init__(message)
        self.argument = argument
        self.value = value


class SchemaError(HabitusError):
    """A frame lacks columns, or a record lacks fields, that the schema requires."""


class StoreError(HabitusError):
    """The store cannot be opened, read or written. Its contents are unchanged.

    Attributes:
        place: the store.
        problem: what is wrong with it.
    """

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str]]:
        return type(self), (self.place, self.problem)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the most similar known word, to end a message with; empty if none is similar.

    >>> did_you_mean("Europe/Berln", ["Europe/Berlin", "Europe/Paris"])
    '; did you mean Europe/Berlin?'
    """
    import difflib  # only where something is wrong

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
