"""Forgetting: a user, a person in the records of others, a span of time, or a pattern and what it rests on.

One transaction takes it out of observations, archives, words and read positions, keeps the rules by which it stays out
(`pipelines.store.forget.suppression`), and throws away what was believed of the people it touches. Then these are evaluated
anew, files that do not count any more are removed, and the database is written anew, so that no byte is left. What a
crash keeps from being finished, `finish` does: at the latest when something is forgotten or archived the next time.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

import orjson
from sqlalchemy import Connection, delete, select, tuple_

from patterns.settings import Settings
from pipelines.store.archive import lock_observations, tidying
from pipelines.store.connection import Database
from pipelines.store.evaluation import evaluate_people, note_told
from pipelines.store.forget.erase import Count, TakingOut
from pipelines.store.forget.request import Wish, understand
from pipelines.store.forget.suppression import KEY, Rule, Seal
from pipelines.store.instants import as_number
from pipelines.store.metadata import fact, keep_fact
from pipelines.store.observation_queries import read_people
from pipelines.store.parquet_archive import sweep
from pipelines.store.schema import forgotten, patterns, people, sources, told, unwanted

_UNFINISHED = "whose forgetting is unfinished"


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten, or would be.

    Attributes:
        kind: what was asked for: user, person, span or pattern.
        counts: how much of each kind of thing.
        only_shown: whether nothing was done yet.
        left: in words, where something of it may still be.

    """

    kind: str
    counts: tuple[Count, ...]
    only_shown: bool
    left: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there was anything."""
        return any(count.gone or count.altered for count in self.counts)


def forget(
    database: Database, wish: Wish, now: datetime, settings: Settings, *, dry_run: bool = False
) -> Forgotten:
    """Forget what is wished.

    Args:
        database: the store's.
        wish: what.
        now: the evaluation time.
        settings: the numbers that patterns are judged by.
        dry_run: only say what would be forgotten.

    Raises:
        SettingError: there is no such user or pattern.
        StoreError: the store or an archive cannot be read or written; nothing is forgotten then.
    """
    if dry_run:
        with database.reading() as connection:
            return Forgotten(wish.kind, _looked(connection, wish, now, settings), only_shown=True)
    with tidying(database):
        counts = database.write(lambda connection: _take_out(connection, wish, now, settings))
        return Forgotten(wish.kind, counts, only_shown=False, left=_finish(database, now, settings))


def finish(database: Database, now: datetime, settings: Settings) -> tuple[str, ...] | None:
    """Do what a crash kept a forgetting from; where something of it may still be. Null if there is nothing to finish."""
    with database.reading() as connection:
        if fact(connection, _UNFINISHED) is None:
            return None
    with tidying(database):
        return _finish(database, now, settings)


def allow_again(database: Database, user: str | None, names: Sequence[str]) -> int:
    """Let in again what was forgotten of a user, of a person, or all of it; how many rules there were.

    Sources are read from their beginning the next time.
    """

    def work(connection: Connection) -> int:
        lock_observations(connection)
        seal = _seal(connection)
        condition = unwanted.c.kind != ""
        if user is not None:
            condition &= unwanted.c.owner == seal.digest("user", user)
        if names:
            digests = [rule.digest for name in names for rule in seal.person(name)]
            condition &= unwanted.c.digest.in_(digests)
        count: int = connection.execute(delete(unwanted).where(condition)).rowcount
        if count:
            connection.execute(delete(sources))
        return count

    return database.write(work)


def _looked(connection: Connection, wish: Wish, now: datetime, settings: Settings) -> tuple[Count, ...]:
    """How much would be forgotten."""
    seal = _seal(connection)
    meant = understand(connection, wish, seal, now, settings)
    return TakingOut(connection, meant, wish, seal, now, settings, only_look=True).run()


def _take_out(connection: Connection, wish: Wish, now: datetime, settings: Settings) -> tuple[Count, ...]:
    """Everything that is one transaction."""
    lock_observations(connection)
    seal = _seal(connection)
    keep_fact(connection, KEY, seal.key.hex())
    meant = understand(connection, wish, seal, now, settings)
    taking_out = TakingOut(connection, meant, wish, seal, now, settings)
    counts = taking_out.run()
    _keep_rules(connection, meant.rules)
    said = orjson.dumps({count.place: [count.gone, count.altered] for count in counts}).decode()
    connection.execute(forgotten.insert().values(at=as_number(now), kind=wish.kind, said=said))
    waiting = set(fact(connection, _UNFINISHED) or []) | taking_out.touched
    keep_fact(connection, _UNFINISHED, waiting)
    return counts


def _finish(database: Database, now: datetime, settings: Settings) -> tuple[str, ...]:
    """Evaluate who was touched, remove what does not count, and leave no byte; where something may still be."""
    with database.reading() as connection:
        numbers = fact(connection, _UNFINISHED) or []
        whose = read_people(connection, people.c.number.in_(numbers))
    for changes in evaluate_people(database, whose, now, settings):
        database.write(partial(note_told, changes=changes))

    def settle(connection: Connection) -> None:
        believed = select(patterns.c.person, patterns.c.id)
        vanished = told.c.person.in_(numbers) & ~tuple_(told.c.person, told.c.pattern).in_(believed)
        connection.execute(delete(told).where(vanished))

    database.write(settle)
    scrubbed = (
        database.scrub()
    )  # first: it waits for those who may still read from files that do not count any more
    with database.reading() as connection:
        sweep(connection)
    if scrubbed.is_done:
        database.write(lambda connection: keep_fact(connection, _UNFINISHED, None))
    return scrubbed.left


def _keep_rules(connection: Connection, rules: Sequence[Rule]) -> None:
    known = {
        tuple(row) for row in connection.execute(select(unwanted.c.kind, unwanted.c.digest, unwanted.c.owner))
    }
    new = [asdict(rule) for rule in dict.fromkeys(rules) if (rule.kind, rule.digest, rule.owner) not in known]
    if new:
        connection.execute(unwanted.insert(), new)


def _seal(connection: Connection) -> Seal:
    """The seal of the store; one that is new, and not kept yet, if it has none."""
    key = fact(connection, KEY)
    return Seal(secrets.token_bytes(32) if key is None else bytes.fromhex(key))
