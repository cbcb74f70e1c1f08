"""The tables of the store, as the newest version has them.

::

    people ─┬─ shapes        per person: the distinct combinations of fields that records have, without the values
            ├─ observations  one row per record; everything below is derived from these
            ├─ patterns      the patterns as of the last evaluation, with what would change their status
            ├─ journal       the status changes of each pattern
            ├─ told          (`notified`) the status of each pattern that was last sent to the stream
            ├─ profile       the cached profile
            └─ words         (`feedback`) what people said about patterns
    sources                  how far each source has been read
    archives                 files beside the store with observations moved out of the database
    forgotten                log of erasures: when and how much, without the content
    unwanted                 (`suppression_list`) what is not stored again, as keyed digests
    store                    facts about the store itself

Some tables and columns carry an older name in the database than in this code (given above in parentheses, or as the
``key`` of a column): renaming them would rewrite every existing store and change no behavior.

All rows of a person start with the person's number and are stored together. A change here is a new version: it needs
a migration in ``migrations/versions``, and a test compares the two.
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
    Column("observations", BigInteger, nullable=False),  # number of rows
    Column("newest", BigInteger),  # instant of the newest, µs since 1970 UTC
    Column("changed", BigInteger, nullable=False),  # increases with each change of the person's observations
    Column("evaluated", BigInteger, nullable=False),  # `changed` at the last evaluation; smaller: needs one
    Column("evaluated_rows", BigInteger, nullable=False),  # `observations` at the last evaluation
    Column("evaluated_at", BigInteger),  # its evaluation time, µs since 1970 UTC
    Column(
        "stale_at", BigInteger
    ),  # next instant at which a status may change without new data, µs since 1970 UTC
)
"""The people in the store."""

shapes = Table(
    "shapes",
    metadata,
    _person(),
    Column("number", Integer, primary_key=True, autoincrement=False, nullable=False),
    Column("said", Text, key="json", nullable=False),  # JSON: pipelines.store.database.codec
    UniqueConstraint("person", "json", name="shapes_are_distinct"),
    sqlite_with_rowid=False,
)
"""Type, action, zone, offset, actor and feature names that records share."""

observations = Table(
    "observations",
    metadata,
    _person(),
    # Keyed by time: appends write to one place, and a span of time is one contiguous range.
    Column("at", BigInteger, primary_key=True, autoincrement=False, nullable=False),  # µs since 1970 UTC
    Column("id", Text, primary_key=True, nullable=False),
    Column(
        "version", BigInteger, primary_key=True, autoincrement=False, nullable=False
    ),  # digest of shape and content
    Column("shape", Integer, nullable=False),
    Column("content", Text, nullable=False),  # JSON array: the values of the features
    sqlite_with_rowid=False,
)
"""Every record as it arrived. Differing records with one id are all kept: `as_of` decides which one counts."""

patterns = Table(
    "patterns",
    metadata,
    _person(),
    Column("id", Text, primary_key=True, nullable=False),
    Column("place", Integer, nullable=False),  # position in the result
    Column("status", Text, nullable=False),
    Column("said", Text, key="json", nullable=False),  # JSON: contract, section 2
    Column("next_due", BigInteger),  # wall clock by which it is next due, µs; null if never
    Column("if_kept", Text),  # the status after one more support by then
    Column("if_missed", Text),  # the status after one more miss
    Column("expires", BigInteger),  # wall clock at which it expires unless seen, µs; null if never
    sqlite_with_rowid=False,
)
"""The patterns of each person as of their last evaluation."""

journal = Table(
    "journal",
    metadata,
    _person(),
    Column("pattern", Text, primary_key=True, nullable=False),
    Column("number", Integer, primary_key=True, autoincrement=False, nullable=False),  # 0 the first
    Column("said", Text, key="json", nullable=False),  # JSON: at, before, after, reason and figures
    sqlite_with_rowid=False,
)
"""The status changes of the patterns, as of the last evaluation."""

notified = Table(
    "told",
    metadata,
    _person(),
    Column("pattern", Text, primary_key=True, nullable=False),
    Column("status", Text),
    Column("provisional", Boolean, nullable=False),
    sqlite_with_rowid=False,
)
"""The status of each pattern that was last sent to the stream."""

profile = Table(
    "profile",
    metadata,
    _person(),
    Column("said", Text, key="text", nullable=False),  # evaluation time, a space, Profile.to_text()
    Column("changed", BigInteger, nullable=False),  # the `people.changed` it was built from
    Column("valid_until", BigInteger),  # when it may change without new data, µs since 1970 UTC
    sqlite_with_rowid=False,
)
"""The profile of each person, read with one query."""

feedback = Table(
    "words",
    metadata,
    _person(),
    Column("pattern", Text, primary_key=True, nullable=False),
    Column(
        "word", Text, key="kind", primary_key=True, nullable=False
    ),  # remembered, confirmed, dismissed, pinned
    Column("at", BigInteger, nullable=False),  # when, µs since 1970 UTC
    Column("said", Text, key="json", nullable=False),  # JSON: FeedbackRecord.about
    sqlite_with_rowid=False,
)
"""Feedback: what people said about patterns."""

sources = Table(
    "sources",
    metadata,
    Column("label", Text, primary_key=True, nullable=False),
    Column("offset", BigInteger, nullable=False),  # bytes read
    Column("lines", BigInteger, nullable=False),  # lines read
    Column("said", Text, key="json", nullable=False),  # JSON: identifies the file behind the label
    Column("at", BigInteger, nullable=False),  # when, µs since 1970 UTC
    sqlite_with_rowid=False,
)
"""How far each source has been read."""

forgotten = Table(
    "forgotten",
    metadata,
    Column("number", _Number, primary_key=True),
    Column("at", BigInteger, nullable=False),  # µs since 1970 UTC
    Column("kind", Text, nullable=False),  # user, person, span, pattern
    Column("said", Text, key="json", nullable=False),  # JSON: counts, never content
)
"""Log of erasures."""

suppression_list = Table(
    "unwanted",
    metadata,
    Column("kind", Text, primary_key=True, nullable=False),  # observation, address, name, text, span
    Column("digest", Text, primary_key=True, nullable=False),  # keyed: pipelines.store.forget.suppression
    Column(
        "owner", Text, primary_key=True, nullable=False
    ),  # keyed, of the user it applies to; "": all users
    Column("words", Integer),  # of an address or name: how many words it has
    Column("since", BigInteger),  # of a span: wall clock of its start, µs; null: unbounded
    Column("until", BigInteger),  # of its end, exclusive; null: unbounded
    Column("latest", BigInteger),  # last instant it applies to, µs since 1970 UTC
    sqlite_with_rowid=False,
)
"""What was forgotten and must not be stored again when the same export is read again."""

archives = Table(
    "archives",
    metadata,
    Column(
        "place", Text, primary_key=True, nullable=False
    ),  # path, relative to the archive folder or absolute
    Column("month", Text, nullable=False),  # 2026-03, in UTC
    Column("first", BigInteger, nullable=False),  # instant of the earliest in it, µs since 1970 UTC
    Column("last", BigInteger, nullable=False),  # of the latest
    Column("observations", BigInteger, nullable=False),  # rows
    sqlite_with_rowid=False,
)
"""Archive files. A file not listed here is not part of the store."""

store = Table(
    "store",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("said", Text, key="json", nullable=False),
    sqlite_with_rowid=False,
)
"""Facts about the store itself."""
