"""The person's own word on patterns, as rows of the store, and back.

A word is kept with the rule that it is about: ids change when older observations arrive, what was meant does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson
from sqlalchemy import Connection, delete, select

from pipelines.store.insert import numbers_of_people
from pipelines.store.instants import as_moment, as_number
from pipelines.store.observation_queries import Person
from pipelines.store.schema import profile, words

Word = Literal["remembered", "confirmed", "dismissed", "pinned"]

_INSTEAD: Mapping[Word, tuple[Word, ...]] = {
    "confirmed": ("dismissed",),
    "dismissed": ("confirmed", "pinned"),
}
"""What a word takes back: nobody holds a thing to be right and wrong at once."""


@dataclass(frozen=True)
class Said:
    """One word of the person on one pattern.

    Attributes:
        user: whose word.
        pattern: id of the pattern when it was said.
        word: what was said of it.
        at: when.
        about: the ``type`` and ``rule`` of the pattern; of a confirmed one ``pattern``, the whole of it as it was then;
            of a remembered one also ``statement`` and ``until`` (RFC 3339 or null).

    """

    user: str
    pattern: str
    word: Word
    at: datetime
    about: Mapping[str, Any]


def read_words(connection: Connection, whose: Sequence[Person], until: datetime | None = None) -> list[Said]:
    """What these people said up to a moment (or ever), in order of time."""
    names = {person.number: person.name for person in whose}
    query = select(words).where(words.c.person.in_(list(names)))
    if until is not None:
        query = query.where(words.c.at <= as_number(until))
    rows = connection.execute(query.order_by(words.c.at, words.c.pattern, words.c.word))
    return [
        Said(names[row.person], row.pattern, row.word, as_moment(row.at), orjson.loads(row.said))
        for row in rows
    ]


def keep_word(connection: Connection, said: Said) -> None:
    """Keep a word, in place of the same said before and of what it takes back. Within a writing transaction."""
    person = numbers_of_people(connection, [said.user])[said.user]
    for word in (said.word, *_INSTEAD.get(said.word, ())):
        _drop(connection, person, said.pattern, word)
    connection.execute(
        words.insert().values(
            person=person,
            pattern=said.pattern,
            word=said.word,
            at=as_number(said.at),
            said=orjson.dumps(said.about).decode(),
        )
    )


def drop_word(connection: Connection, user: str, pattern: str, word: Word) -> bool:
    """Take a word back; whether it had been said. Within a writing transaction."""
    person = numbers_of_people(connection, [user])[user]
    return _drop(connection, person, pattern, word)


def _drop(connection: Connection, person: int, pattern: str, word: Word) -> bool:
    connection.execute(
        delete(profile).where(profile.c.person == person)
    )  # it is made anew when it is asked for
    which = (words.c.person == person) & (words.c.pattern == pattern) & (words.c.word == word)
    return bool(connection.execute(delete(words).where(which)).rowcount)
