"""Erases what a request names from every place in the store, in one transaction.

::

    observations, archives ─► deleted and altered records ─► people affected
                                                                 │
    feedback, read positions ◄── patterns before and after ◄─────┘
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import polars as pl
from sqlalchemy import Connection, Table, bindparam, delete, func, select, update

from observations.schema import concat_observations, unique_observations
from patterns.evaluate import evaluate
from patterns.model import write_patterns
from patterns.registry import rule_of
from patterns.settings import Settings
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.database.codec import encode
from pipelines.store.database.insert import insert_observations
from pipelines.store.database.instants import as_number
from pipelines.store.database.observation_queries import Person, parts, read_observations, read_stored
from pipelines.store.database.parquet_archive import drop_file, read_archives, read_file, write_file
from pipelines.store.database.schema import (
    feedback,
    journal,
    metadata,
    observations,
    patterns,
    people,
    profile,
    shapes,
    sources,
)
from pipelines.store.forget.observation_filter import Filtered, filter_observations
from pipelines.store.forget.request import ForgetRequest, ResolvedRequest
from pipelines.store.forget.suppression import DigestKey, Mentions

Pattern = Mapping[str, Any]
"""A pattern, or `FeedbackRecord.about`, as parsed JSON."""

_OF_A_PERSON = [table for table in metadata.sorted_tables if "person" in table.c]


@dataclass(frozen=True)
class Count:
    """How much was erased in one place.

    Attributes:
        place: where.
        gone: rows deleted.
        altered: rows changed.

    """

    place: str
    gone: int = 0
    altered: int = 0


class Eraser:
    """Erases what a request resolves to, or only counts it.

    Args:
        connection: in a writing transaction with the observations locked; any transaction for a dry run.
        resolved: the people, rules and pattern.
        request: the request.
        key: the key of the suppression list.
        now: the evaluation time.
        settings: thresholds and weights.
        dry_run: change nothing.

    """

    def __init__(
        self,
        connection: Connection,
        resolved: ResolvedRequest,
        request: ForgetRequest,
        key: DigestKey,
        now: datetime,
        settings: Settings,
        *,
        dry_run: bool = False,
    ) -> None:
        self._connection = connection
        self._resolved = resolved
        self._request = request
        self._key = key
        self._now = now
        self._settings = settings
        self._dry_run = dry_run
        self._gone: Counter[str] = Counter()
        self._altered: Counter[str] = Counter()
        self._named = Mentions(resolved.rules, key)
        self._ids: dict[str, set[str]] = {}  # ids of deleted observations, by user
        self._names: set[str] = set()  # users with deleted or altered observations
        self.touched: set[int] = set()  # numbers of the people of whom something was erased

    def run(self) -> tuple[Count, ...]:
        """Erase, and return the counts by place."""
        for part in parts(self._resolved.whose, PEOPLE_AT_ONCE):
            self._erase_observations(part)
        self._erase_archived()
        self._erase_positions()
        looked_at = self._names | self._people_with_feedback()
        for part in parts([p for p in self._resolved.whose if p.name in looked_at], PEOPLE_AT_ONCE):
            self._erase_patterns(part)
        places = ("observations", "archives", "patterns", "journal", "profile", "feedback", "read positions")
        return tuple(Count(place, self._gone[place], self._altered[place]) for place in places)

    def _erase_observations(self, part: list[Person]) -> None:
        filtered = self._filtered(read_stored(self._connection, part))
        self._count("observations", filtered)
        if not self._dry_run and not filtered.is_untouched:
            self._delete(part, pl.concat([filtered.gone, filtered.before]))
            insert_observations(self._connection, filtered.after)

    def _erase_archived(self) -> None:
        whose = [person.name for person in self._resolved.whose]
        for archive in read_archives(self._connection):
            frame = read_file(archive)
            theirs = pl.col("user_id").is_in(whose)
            filtered = self._filtered(frame.filter(theirs))
            self._count("archives", filtered)
            if not filtered.is_untouched and not self._dry_run:
                drop_file(self._connection, archive)
                left = concat_observations([frame.filter(~theirs), filtered.kept])
                if left.height:
                    write_file(self._connection, archive.folder, archive.month, left)

    def _filtered(self, frame: pl.DataFrame) -> Filtered:
        filtered = filter_observations(frame, self._resolved.rules, self._key)
        for user, id in filtered.gone.select("user_id", "id").iter_rows():
            self._ids.setdefault(user, set()).add(id)
        self._names |= _names(filtered)
        return filtered

    def _count(self, place: str, filtered: Filtered) -> None:
        self._gone[place] += filtered.gone.height
        self._altered[place] += filtered.before.height

    def _delete(self, part: list[Person], frame: pl.DataFrame) -> None:
        numbers = {person.name: person.number for person in part}
        table = observations.c
        which = (
            (table.person == bindparam("whose"))
            & (table.at == bindparam("when"))
            & (table.id == bindparam("which"))
            & (table.version == bindparam("exactly"))
        )
        rows = [
            {"whose": numbers[row.user], "when": row.at, "which": row.id, "exactly": row.version}
            for row in encode(frame)
        ]
        self._connection.execute(delete(observations).where(which), rows)

    def _erase_positions(self) -> None:
        """Delete the read position of sources whose name names the user or person; they are read again."""
        rules = list(self._resolved.rules)
        if self._request.kind == "user":
            rules += self._key.person(self._request.user or "")
        named = Mentions(rules, self._key)
        labels = [
            label for label in self._connection.execute(select(sources.c.label)).scalars() if named(label)
        ]
        self._gone["read positions"] += len(labels)
        if labels and not self._dry_run:
            self._connection.execute(delete(sources).where(sources.c.label.in_(labels)))

    def _people_with_feedback(self) -> set[str]:
        """Names of the people whose feedback is checked even if no observation of theirs changed."""
        if self._request.kind in ("user", "pattern"):
            return {person.name for person in self._resolved.whose}
        rows = self._connection.execute(select(feedback.c.person, feedback.c.json))
        found = {number for number, json in rows if any(map(self._named, _texts(orjson.loads(json))))}
        return {person.name for person in self._resolved.whose if person.number in found}

    def _erase_patterns(self, part: list[Person]) -> None:
        """Erase patterns and feedback of these people."""
        left = read_observations(self._connection, part)
        if self._dry_run:
            left = filter_observations(left, self._resolved.rules, self._key).kept
        current = unique_observations(concat_observations([left.filter(pl.col("at") <= self._now)]))
        after: dict[str, dict[str, Any]] = {}
        for text in write_patterns(evaluate(current, self._now, self._settings)):
            pattern = orjson.loads(text)
            after.setdefault(pattern["user_id"], {})[pattern["id"]] = pattern
        rows = left.group_by("user_id").agg(pl.len(), pl.col("at").max())
        sizes = {user: (count, as_number(newest)) for user, count, newest in rows.iter_rows()}
        for person in part:
            self._erase_patterns_of_one(
                person, after.get(person.name, {}), *sizes.get(person.name, (0, None))
            )

    def _erase_patterns_of_one(
        self, person: Person, after: Mapping[str, Any], rows: int, newest: int | None
    ) -> None:
        own = patterns.c.person == person.number
        query = select(patterns.c.id, patterns.c.json).where(own)
        before = {id: orjson.loads(json) for id, json in self._connection.execute(query)}
        vanished = before.keys() - after.keys()
        dropped = self._erase_feedback(person, [before[id] for id in vanished], list(after.values()))
        if person.name not in self._names and not dropped and self._request.kind != "user":
            return
        self.touched.add(person.number)
        self._gone["patterns"] += len(vanished)
        self._altered["patterns"] += sum(before[id] != after[id] for id in before.keys() & after.keys())
        lines = select(journal.c.pattern).where(journal.c.person == person.number)
        self._gone["journal"] += sum(id in vanished for id in self._connection.execute(lines).scalars())
        self._gone["profile"] += self._number_of_rows(profile, person)
        if not self._dry_run:
            self._delete_derived(person, rows, newest)

    def _erase_feedback(
        self, person: Person, vanished: Sequence[Pattern], remaining: Sequence[Pattern]
    ) -> bool:
        """Erase feedback of one person; true if any changed."""
        mine = feedback.c.person == person.number
        touched = False
        for row in self._connection.execute(select(feedback).where(mine)).all():
            about = orjson.loads(row.json)
            left = self._remaining_feedback(row.pattern, row.kind, about, person, vanished, remaining)
            if left == about:
                continue
            touched = True
            (self._gone if left is None else self._altered)["feedback"] += 1
            if not self._dry_run:
                which = mine & (feedback.c.pattern == row.pattern) & (feedback.c.kind == row.kind)
                json = orjson.dumps(left).decode()
                self._connection.execute(
                    delete(feedback).where(which)
                    if left is None
                    else update(feedback).where(which).values(json=json)
                )
        return touched

    def _remaining_feedback(
        self,
        id: str,
        kind: str,
        about: Pattern,
        person: Person,
        vanished: Sequence[Pattern],
        remaining: Sequence[Pattern],
    ) -> Pattern | None:
        """What remains of one row of feedback; `None` to delete it."""
        if self._request.kind == "user" or any(map(self._named, _texts(about))):
            return None
        if self._resolved.pattern is not None and (
            id.startswith(self._request.pattern or "") or _is_same(about, self._resolved.pattern)
        ):
            return None
        if kind == "remembered":
            return about
        if any(_is_same(about, one) for one in vanished) and not any(
            _is_same(about, one) for one in remaining
        ):
            return None
        ids = self._ids.get(person.name, set())
        evidence = about.get("pattern", {}).get("evidence", [])
        if ids.isdisjoint(evidence):
            return about
        left = [one for one in evidence if one not in ids]
        return {**about, "pattern": {**about["pattern"], "evidence": left}} if left else None

    def _number_of_rows(self, table: Table, person: Person) -> int:
        query = select(func.count()).select_from(table).where(table.c.person == person.number)
        return int(self._connection.execute(query).scalar() or 0)

    def _delete_derived(self, person: Person, rows: int, newest: int | None) -> None:
        """Delete the derived rows of a person; and the person, if nothing of theirs remains."""
        if not rows and not self._number_of_rows(feedback, person):
            for table in _OF_A_PERSON:
                self._connection.execute(delete(table).where(table.c.person == person.number))
            self._connection.execute(delete(people).where(people.c.number == person.number))
            return
        for table in (patterns, journal, profile):
            self._connection.execute(delete(table).where(table.c.person == person.number))
        used = select(observations.c.shape).where(observations.c.person == person.number).distinct()
        left = set(self._connection.execute(used).scalars())
        unused = (shapes.c.person == person.number) & shapes.c.number.not_in(left)
        self._connection.execute(delete(shapes).where(unused))
        entry = update(people).where(people.c.number == person.number)
        self._connection.execute(entry.values(observations=rows, newest=newest, changed=people.c.changed + 1))


def _names(filtered: Filtered) -> set[str]:
    return {user for part in (filtered.gone, filtered.before) for user in part.get_column("user_id").unique()}


def _is_same(one: Pattern, other: Pattern) -> bool:
    return bool(
        one["type"] == other["type"]
        and one["rule"]
        and rule_of(one["type"], one["rule"]).is_same(rule_of(other["type"], other["rule"]))
    )


def _texts(value: object) -> Iterator[str]:
    """All texts in a JSON value, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
