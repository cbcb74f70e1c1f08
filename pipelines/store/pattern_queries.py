"""Answers of the store that are computed when they are asked for: patterns, and everything behind one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl
from sqlalchemy import Connection, or_, select

from observations.errors import SettingError, did_you_mean
from observations.schema import concat_observations, unique_observations
from patterns.evaluate import evaluate
from patterns.explain import JOURNAL
from patterns.model import Pattern, read_patterns
from patterns.pattern_frame import PATTERNS
from patterns.settings import Settings
from pipelines.detection import Basis, Detection
from pipelines.memory.feedback import ADDED, is_about, stamp, with_words
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.pattern_detail import Explained
from pipelines.store.feedback_rows import Said, read_words
from pipelines.store.observation_queries import Person, parts, read_observations, read_people
from pipelines.store.schema import patterns as believed
from pipelines.store.schema import people
from pipelines.store.schema import words as spoken
from pipelines.text.sanitize import shortened
from pipelines.wall_clock import wall_clock

if TYPE_CHECKING:
    from pipelines.store.store import Store

_NAMED = 5
"""So many patterns are named where an id could be several."""

_SENTENCE = 60
"""Characters of a sentence in a message."""


@dataclass(frozen=True, eq=False)
class Shown:
    """One pattern and everything behind it.

    Attributes:
        pattern: with the person's word.
        behind: what was counted, how it came to be and what would change it; null where the person said so and
            nothing was observed, or where the figures alone would not show it any more.
        until: the person's wall clock at the evaluation.
        settings: by which it was judged.

    """

    pattern: Pattern
    behind: Explained | None
    until: datetime
    settings: Settings


def detected(
    store: Store, whose: Sequence[Person] | None, as_of: datetime, *, with_dismissed: bool = False
) -> Detection:
    """The patterns of these people (of everybody if null) at `as_of`, with the person's word."""
    frames, rows, count = [pl.DataFrame(schema=dict(PATTERNS))], 0, 0
    with store.database.reading() as connection:
        asked = read_people(connection) if whose is None else whose
        for part in parts(asked, PEOPLE_AT_ONCE):
            frame = unique_observations(read_observations(connection, part, as_of))
            words = read_words(connection, part, as_of)
            found = evaluate(frame, as_of, store.settings)
            frames.append(
                with_words(found, words, frame, as_of, store.settings, with_dismissed=with_dismissed)
            )
            rows += frame.height
            count += frame.get_column("user_id").n_unique()

    def read() -> pl.DataFrame:
        asked = [None] if whose is None else [person.name for person in whose]
        return concat_observations([store.observations(name, as_of=as_of) for name in asked])

    basis = Basis(read, as_of, store.settings)
    return Detection(_joined(frames), rows, count, basis=basis)


def show(store: Store, id: str, user: str | None, as_of: datetime) -> Shown:
    """One pattern and everything behind it (`Store.show`)."""
    found, row = find(store, id, user, as_of)
    return _shown(found, row, store.settings, as_of)


def history(store: Store, id: str, user: str | None, as_of: datetime) -> pl.DataFrame:
    """How one pattern came to be what it is (`Store.history`)."""
    found, row = find(store, id, user, as_of)
    observed = found.observed.filter(pl.col("user_id") == row["user_id"])
    with store.database.reading() as connection:
        theirs = read_people(connection, people.c.name == row["user_id"])
        words = [word for word in read_words(connection, theirs, as_of) if is_about(word, row)]
    behind = _shown(found, row, store.settings, as_of).behind
    journal = pl.DataFrame(schema=dict(JOURNAL)) if behind is None else behind.journal
    entries = [_entry(word, row, observed) for word in words]
    return pl.concat([journal, pl.DataFrame(entries, schema=dict(JOURNAL))]).sort(
        "local", maintain_order=True
    )


def find(store: Store, prefix: str, user: str | None, as_of: datetime) -> tuple[Detection, dict[str, Any]]:
    """The pattern whose id begins so, dismissed or not: with the patterns it was found among, and as a row.

    Raises:
        SettingError: there is none, or there are several; there is nobody of that name.
    """
    with store.database.reading() as connection:
        whose = people_named(connection, user) if user is not None else _people_with(connection, prefix)
    found = detected(store, whose or None, as_of, with_dismissed=True)
    rows = _beginning(found, prefix)
    if not rows and whose and user is None:  # the id is of another time than now
        found = detected(store, None, as_of, with_dismissed=True)
        rows = _beginning(found, prefix)
    if len(rows) == 1:
        return found, rows[0]
    if rows:
        named = "; ".join(f"{row['id']} ({shortened(row['statement'], _SENTENCE)})" for row in rows[:_NAMED])
        more = f"; and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        raise SettingError(f"{len(rows)} patterns have an id that begins with {prefix!r}: {named}{more}")
    ids = found.frame.get_column("id").to_list()
    near = did_you_mean(prefix, ids) or did_you_mean(prefix, [id[: len(prefix)] for id in ids])
    raise SettingError(
        f"there is no pattern whose id begins with {prefix!r}"
        + (near or "; habitus patterns --status all lists them")
    )


def people_named(connection: Connection, name: str) -> list[Person]:
    """The person of that name.

    Raises:
        SettingError: there is none.
    """
    found = read_people(connection, people.c.name == name)
    if not found:
        names = [person.name for person in read_people(connection)]
        hint = did_you_mean(name, names) or (f"; there are {', '.join(names[:_NAMED])}" if names else "")
        more = (
            f" and {len(names) - _NAMED} more" if len(names) > _NAMED and hint.startswith("; there") else ""
        )
        raise SettingError(f"there is nobody called {name!r} in the store{hint}{more}")
    return found


def the_person(store: Store, user: str | None) -> str:
    """Who is meant where nobody is named: the only person in the store, else ``me``.

    Raises:
        SettingError: there is nobody of that name, or it takes a name to tell who is meant.
    """
    with store.database.reading() as connection:
        if user is not None:
            return people_named(connection, user)[0].name
        names = [person.name for person in read_people(connection)]
    if len(names) == 1 or "me" in names:
        return names[0] if len(names) == 1 else "me"
    if not names:
        raise SettingError("the store is empty; habitus observe and habitus sync fill it")
    shown = ", ".join(names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")
    raise SettingError(f"the store knows {len(names):,} people ({shown}); say whom you mean with --user")


def _people_with(connection: Connection, prefix: str) -> list[Person]:
    """The people of whom a pattern with such an id was believed or spoken of."""
    which = [
        people.c.number.in_(select(table.c.person).where(column.startswith(prefix, autoescape=True)))
        for table, column in ((believed, believed.c.id), (spoken, spoken.c.pattern))
    ]
    return read_people(connection, or_(*which))


def _beginning(found: Detection, prefix: str) -> list[dict[str, Any]]:
    rows = found.frame.filter(pl.col("id").str.starts_with(prefix))
    exact = rows.filter(pl.col("id") == prefix)
    chosen = exact if exact.height else rows
    return [{**row, "rule": orjson.loads(row["rule"])} for row in chosen.iter_rows(named=True)]


def _shown(found: Detection, row: Mapping[str, Any], settings: Settings, as_of: datetime) -> Shown:
    pattern = next(read_patterns(found.frame.filter(pl.col("id") == row["id"])))
    own = found.observed.filter(pl.col("user_id") == pattern.user_id)
    until = wall_clock(own, as_of) if own.height else as_of.replace(tzinfo=None)
    try:
        behind = None if pattern.source == "explicit" else found.explain(pattern)
    except SettingError:  # kept by the person's word alone
        behind = None
    return Shown(pattern, behind, until, settings)


def _entry(said: Said, row: Mapping[str, Any], observed: pl.DataFrame) -> dict[str, object]:
    """A word as an entry of the journal."""
    at = stamp(said.at, observed)
    return {
        "pattern_id": row["id"],
        "user_id": row["user_id"],
        "at": at,
        "local": datetime.fromisoformat(at).replace(tzinfo=None),
        "before": None,
        "after": said.word,
        "reason": "the person said so",
        "confidence": row["confidence"],
        "support": row["support"],
        "opportunities": row["opportunities"],
        "observation": None,
    }


def _joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    found = pl.concat(frames, how="diagonal")
    nothing = pl.lit([], dtype=pl.List(pl.String))
    return found.with_columns(pl.col(name).fill_null(nothing) for name in ADDED if name in found.columns)
