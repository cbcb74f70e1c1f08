"""The tables of the store, as the newest version has them.

::

    people ─┬─ shapes        what kinds of record a person has: everything but the values
            ├─ observations  one row a record as it came; all that is believed follows from these
            ├─ patterns      what was believed at the last evaluation, with what would change it
            ├─ journal       how each pattern came to be
            ├─ told          the status of each pattern that was last printed in the stream
            ├─ profile       the ready answer for assistants
            └─ words         what the person said themselves
    sources                  how far each source has been read
    archives                 files beside the store with observations that were moved out of it
    forgotten                what was forgotten and when, without its content
    unwanted                 what is not let in again, without its content
    store                    facts about the store itself

Everything of a person carries the person's number and lies together in the file. A change here is a new version:
it needs a migration in ``migrations/versions``, and a test compares the two.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# A key that is the row's own place in the file must be INTEGER in SQLite, and may be larger elsewhere.
_Number = BigInteger().with_variant(Integer, "sqlite")


def _person() -> Column[int]:
    return Column(
        "person", _Number, ForeignKey("people.number"), primary_key=True, autoincrement=False, nullable=False
    )


people = Table(
    "people",
    metadata,
    Column("number", _Number, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("observations", BigInteger, nullable=False),  # rows that the person has
    Column("newest", BigInteger),  # instant of the newest, µs since 1970 UTC
    Column("changed", BigInteger, nullable=False),  # goes up whenever the person's observations change
    Column("evaluated", BigInteger, nullable=False),  # `changed` at the last evaluation; behind it: dirty
    Column("evaluated_rows", BigInteger, nullable=False),  # `observations` then
    Column("evaluated_at", BigInteger),  # the moment it was for, µs since 1970 UTC
    Column("stale_at", BigInteger),  # when time alone may change something next, µs since 1970 UTC
)
"""The people in the store."""

shapes = Table(
    "shapes",
    metadata,
    _person(),
    Column("number", Integer, primary_key=True, autoincrement=False, nullable=False),
    Column("said", Text, nullable=False),  # JSON: pipelines.store.codec
    UniqueConstraint("person", "said", name="shapes_are_distinct"),
    sqlite_with_rowid=False,
)
"""What records have in common: type, action, zone, offset, actor and the names of their features."""

observations = Table(
    "observations",
    metadata,
    _person(),
    # By time, so that what comes in order is written in one place, and a span of time is one stretch of the file.
    Column("at", BigInteger, primary_key=True, autoincrement=False, nullable=False),  # µs since 1970 UTC
    Column("id", Text, primary_key=True, nullable=False),
    Column(
        "version", BigInteger, primary_key=True, autoincrement=False, nullable=False
    ),  # digest of the rest
    Column("shape", Integer, nullable=False),
    Column("content", Text, nullable=False),  # JSON array: the values of the features
    sqlite_with_rowid=False,
)
"""Every record as it came. Differing records of one id are all kept: which of them counts depends on `as_of`."""

patterns = Table(
    "patterns",
    metadata,
    _person(),
    Column("id", Text, primary_key=True, nullable=False),
    Column("place", Integer, nullable=False),  # in the order of the answer
    Column("status", Text, nullable=False),
    Column("said", Text, nullable=False),  # JSON: contract, section 2
    Column("next_due", BigInteger),  # wall clock by which it is next due, µs; null if nothing is
    Column("if_kept", Text),  # the status after one more support by then
    Column("if_missed", Text),  # the status after one more miss
    Column("expires", BigInteger),  # wall clock at which it expires unless seen, µs; null if it does not
    sqlite_with_rowid=False,
)
"""What was believed about a person at their last evaluation."""

journal = Table(
    "journal",
    metadata,
    _person(),
    Column("pattern", Text, primary_key=True, nullable=False),
    Column("number", Integer, primary_key=True, autoincrement=False, nullable=False),  # 0 the first
    Column("said", Text, nullable=False),  # JSON: at, before, after, reason and figures
    sqlite_with_rowid=False,
)
"""The transitions of the patterns, as of the last evaluation."""

told = Table(
    "told",
    metadata,
    _person(),
    Column("pattern", Text, primary_key=True, nullable=False),
    Column("status", Text),
    Column("provisional", Boolean, nullable=False),
    sqlite_with_rowid=False,
)
"""The status of each pattern that the stream printed last."""

profile = Table(
    "profile",
    metadata,
    _person(),
    Column("said", Text, nullable=False),  # the ready answer
    Column("changed", BigInteger, nullable=False),  # `people.changed` that it rests on
    Column("valid_until", BigInteger),  # when time alone changes it, µs since 1970 UTC
    sqlite_with_rowid=False,
)
"""What an assistant is given, ready to be read with one look-up."""

words = Table(
    "words",
    metadata,
    _person(),
    Column("pattern", Text, primary_key=True, nullable=False),
    Column("word", Text, primary_key=True, nullable=False),  # remembered, confirmed, dismissed, pinned
    Column("at", BigInteger, nullable=False),  # when it was said, µs since 1970 UTC
    Column("said", Text, nullable=False),  # JSON: what belongs to that word
    sqlite_with_rowid=False,
)
"""The person's own word on patterns."""

sources = Table(
    "sources",
    metadata,
    Column("label", Text, primary_key=True, nullable=False),
    Column("offset", BigInteger, nullable=False),  # bytes that are dealt with
    Column("lines", BigInteger, nullable=False),  # lines among them
    Column("said", Text, nullable=False),  # JSON: what tells the file from another under its name
    Column("at", BigInteger, nullable=False),  # when it was read last, µs since 1970 UTC
    sqlite_with_rowid=False,
)
"""How far each source has been read."""

forgotten = Table(
    "forgotten",
    metadata,
    Column("number", _Number, primary_key=True),
    Column("at", BigInteger, nullable=False),  # µs since 1970 UTC
    Column("kind", Text, nullable=False),  # what was asked to be forgotten: user, person, span, pattern
    Column("said", Text, nullable=False),  # JSON: how much, never what
)
"""That something was forgotten."""

unwanted = Table(
    "unwanted",
    metadata,
    Column("kind", Text, primary_key=True, nullable=False),  # observation, address, name, text, span
    Column(
        "digest", Text, primary_key=True, nullable=False
    ),  # keyed, of what it is: pipelines.store.forget.suppression
    Column(
        "owner", Text, primary_key=True, nullable=False
    ),  # keyed, of whose records it is about; "": anybody's
    Column("words", Integer),  # of a person: how many the address or name has
    Column("since", BigInteger),  # of a span: wall clock from which, µs; null: from the beginning
    Column("until", BigInteger),  # wall clock before which; null: to the end
    Column("latest", BigInteger),  # and no later than this instant, µs since 1970 UTC
    sqlite_with_rowid=False,
)
"""What was forgotten and shall not come back when the same export is read again."""

archives = Table(
    "archives",
    metadata,
    Column("place", Text, primary_key=True, nullable=False),  # a file, by its path from the store's folder
    Column("month", Text, nullable=False),  # 2026-03, in UTC
    Column("first", BigInteger, nullable=False),  # instant of the earliest in it, µs since 1970 UTC
    Column("last", BigInteger, nullable=False),  # of the latest
    Column("observations", BigInteger, nullable=False),  # rows
    sqlite_with_rowid=False,
)
"""Files with observations that were moved out. A file that is not listed here does not count, wherever it lies."""

store = Table(
    "store",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("said", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""Facts about the store itself."""
