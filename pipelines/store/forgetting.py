"""Forgets a user, a person in the records of others, a span of time, or a pattern with the observations behind it.

One transaction erases it from observations, archives, feedback and read positions, adds it to the suppression list
(`pipelines.store.forget.suppression`), and deletes what was derived for the people affected. Then these people are
re-evaluated, unlisted archive files deleted and the database file rewritten, so that no byte remains. If the process
dies in between, `Forgetting.finish` completes the work; forgetting and archiving call it first.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

import orjson
from sqlalchemy import ColumnElement, Connection, delete, select, true, tuple_

from patterns.settings import Settings
from pipelines.store.archive import lock_observations, maintenance
from pipelines.store.context import StoreContext
from pipelines.store.database.connection import Database
from pipelines.store.database.instants import as_number
from pipelines.store.database.metadata import read_fact, write_fact
from pipelines.store.database.observation_queries import read_people
from pipelines.store.database.parquet_archive import sweep
from pipelines.store.database.schema import (
    forgotten,
    notified,
    patterns,
    people,
    sources,
    suppression_list,
)
from pipelines.store.evaluation import evaluate_people, mark_notified
from pipelines.store.forget.erase import Count, Eraser
from pipelines.store.forget.request import ForgetRequest, resolve
from pipelines.store.forget.suppression import KEY, DigestKey, Rule

_UNFINISHED = "whose forgetting is unfinished"


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten, or would be.

    Attributes:
        kind: user, person, span or pattern.
        counts: how much was erased, by place.
        only_shown: true for a dry run.
        left: where erased data may remain, in words.

    """

    kind: str
    counts: tuple[Count, ...]
    only_shown: bool
    left: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """True if anything was erased."""
        return any(count.gone or count.altered for count in self.counts)


class Forgetting:
    """Forgets, and keeps forgotten things out.

    Args:
        context: of the store.

    """

    def __init__(self, context: StoreContext) -> None:
        self._database, self._settings, self._clock = context.database, context.settings, context.clock

    def forget(self, request: ForgetRequest, *, dry_run: bool = False) -> Forgotten:
        """Forget what the request names; with `dry_run`, only count it.

        Raises:
            SettingError: there is no such pattern, or it is ambiguous.
            StoreError: the store or an archive cannot be read or written; nothing is forgotten then.
        """
        now, settings = self._clock(), self._settings
        if dry_run:
            with self._database.reading() as connection:
                return Forgotten(request.kind, _count(connection, request, now, settings), only_shown=True)
        self.finish()
        with maintenance(self._database):
            counts = self._database.write(lambda connection: _erase(connection, request, now, settings))
            left = _finish(self._database, now, settings)
        return Forgotten(request.kind, counts, only_shown=False, left=left)

    def finish(self) -> tuple[str, ...] | None:
        """Complete an interrupted forgetting: where erased data may remain, in words; `None` if there is none."""
        with self._database.reading() as connection:
            if read_fact(connection, _UNFINISHED) is None:
                return None
        with maintenance(self._database):
            return _finish(self._database, self._clock(), self._settings)

    def allow_again(self, user: str | None, names: Sequence[str]) -> int:
        """Delete entries of the suppression list: those of a user (of all users if `None`), or of a person in their records.

        Sources are read from the beginning next time. Returns the number of entries deleted.
        """

        def work(connection: Connection) -> int:
            lock_observations(connection)
            key = _key(connection)
            condition: ColumnElement[bool] = true()
            if user is not None:
                condition &= suppression_list.c.owner == key.digest("user", user)
            if names:
                digests = [rule.digest for name in names for rule in key.person(name)]
                condition &= suppression_list.c.digest.in_(digests)
            count: int = connection.execute(delete(suppression_list).where(condition)).rowcount
            if count:
                connection.execute(delete(sources))
            return count

        return self._database.write(work)


def _count(
    connection: Connection, request: ForgetRequest, now: datetime, settings: Settings
) -> tuple[Count, ...]:
    """How much would be erased, by place."""
    key = _key(connection)
    resolved = resolve(connection, request, key, now, settings)
    return Eraser(connection, resolved, request, key, now, settings, dry_run=True).run()


def _erase(
    connection: Connection, request: ForgetRequest, now: datetime, settings: Settings
) -> tuple[Count, ...]:
    """The part that is one transaction."""
    lock_observations(connection)
    key = _key(connection)
    write_fact(connection, KEY, key.key.hex())
    resolved = resolve(connection, request, key, now, settings)
    eraser = Eraser(connection, resolved, request, key, now, settings)
    counts = eraser.run()
    _suppress(connection, resolved.rules)
    json = orjson.dumps({count.place: [count.gone, count.altered] for count in counts}).decode()
    connection.execute(forgotten.insert().values(at=as_number(now), kind=request.kind, json=json))
    unfinished = set(read_fact(connection, _UNFINISHED) or []) | eraser.touched
    write_fact(connection, _UNFINISHED, unfinished)
    return counts


def _finish(database: Database, now: datetime, settings: Settings) -> tuple[str, ...]:
    """Re-evaluate the people affected, delete unlisted files, and rewrite the database."""
    with database.reading() as connection:
        numbers = read_fact(connection, _UNFINISHED) or []
        whose = read_people(connection, people.c.number.in_(numbers))
    for changes in evaluate_people(database, whose, now, settings):
        database.write(partial(mark_notified, changes=changes))

    def delete_notified(connection: Connection) -> None:
        existing = select(patterns.c.person, patterns.c.id)
        stale = notified.c.person.in_(numbers) & ~tuple_(notified.c.person, notified.c.pattern).in_(existing)
        connection.execute(delete(notified).where(stale))

    database.write(delete_notified)
    scrubbed = database.scrub()  # first: it waits for processes that may still read from unlisted files
    with database.reading() as connection:
        sweep(connection)
    if scrubbed.is_done:
        database.write(lambda connection: write_fact(connection, _UNFINISHED, None))
    return scrubbed.left


def _suppress(connection: Connection, rules: Sequence[Rule]) -> None:
    """Add rules to the suppression list."""
    table = suppression_list.c
    known = {tuple(row) for row in connection.execute(select(table.kind, table.digest, table.owner))}
    new = [asdict(rule) for rule in dict.fromkeys(rules) if (rule.kind, rule.digest, rule.owner) not in known]
    if new:
        connection.execute(suppression_list.insert(), new)


def _key(connection: Connection) -> DigestKey:
    """The key of the store; a new one, not stored yet, if it has none."""
    key = read_fact(connection, KEY)
    return DigestKey(secrets.token_bytes(32) if key is None else bytes.fromhex(key))
