"""What is forgotten, out of every place in which the store has it, within one transaction.

::

    observations, archives ─► what goes, what is altered ─► people who are touched
                                                               │
       words, read positions ◄── patterns they had and have ◄──┘ evaluated without it
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
from patterns.rules.sameness import is_same
from patterns.settings import Settings
from pipelines.parallel import PEOPLE_AT_ONCE
from pipelines.store.codec import encode
from pipelines.store.forget.observation_filter import Sifted, sift
from pipelines.store.forget.request import Meant, Wish
from pipelines.store.forget.suppression import Mentions, Seal
from pipelines.store.insert import insert_observations
from pipelines.store.instants import as_number
from pipelines.store.observation_queries import Person, parts, read_observations, read_stored
from pipelines.store.parquet_archive import drop_file, read_archives, read_file, write_file
from pipelines.store.schema import (
    journal,
    metadata,
    observations,
    patterns,
    people,
    profile,
    shapes,
    sources,
    words,
)

Pattern = Mapping[str, Any]
"""A pattern, or what a word is about, as JSON has it."""

_OF_A_PERSON = [table for table in metadata.sorted_tables if "person" in table.c]


@dataclass(frozen=True)
class Count:
    """How much was forgotten in one place.

    Attributes:
        place: where.
        gone: things that are gone.
        altered: things that are left and say less, or something else.

    """

    place: str
    gone: int = 0
    altered: int = 0


class TakingOut:
    """Takes out what is meant, or only looks what that would be.

    Args:
        connection: in a writing transaction with the observations locked; in any, to look.
        meant: what.
        wish: how it was said.
        seal: the store's.
        now: the evaluation time.
        settings: the numbers that patterns are judged by.
        only_look: change nothing.

    """

    def __init__(
        self,
        connection: Connection,
        meant: Meant,
        wish: Wish,
        seal: Seal,
        now: datetime,
        settings: Settings,
        *,
        only_look: bool = False,
    ) -> None:
        self._connection = connection
        self._meant = meant
        self._wish = wish
        self._seal = seal
        self._now = now
        self._settings = settings
        self._only_look = only_look
        self._gone: Counter[str] = Counter()
        self._altered: Counter[str] = Counter()
        self._named = Mentions(meant.rules, seal)
        self._ids: dict[str, set[str]] = {}  # of observations that are gone, by user
        self._names: set[str] = set()  # of the users of whom observations are gone or altered
        self.touched: set[int] = set()  # numbers of the people of whom something is forgotten

    def run(self) -> tuple[Count, ...]:
        """Do it; how much it was in each place."""
        for part in parts(self._meant.whose, PEOPLE_AT_ONCE):
            self._out_of_database(part)
        self._out_of_archives()
        self._out_of_positions()
        looked_at = self._names | self._people_with_words()
        for part in parts([p for p in self._meant.whose if p.name in looked_at], PEOPLE_AT_ONCE):
            self._out_of_beliefs(part)
        places = ("observations", "archives", "patterns", "journal", "profile", "words", "read positions")
        return tuple(Count(place, self._gone[place], self._altered[place]) for place in places)

    def _out_of_database(self, part: list[Person]) -> None:
        sifted = self._sifted(read_stored(self._connection, part))
        self._count("observations", sifted)
        if not self._only_look and not sifted.is_untouched:
            self._delete(part, pl.concat([sifted.gone, sifted.before]))
            insert_observations(self._connection, sifted.after)

    def _out_of_archives(self) -> None:
        whose = [person.name for person in self._meant.whose]
        for archive in read_archives(self._connection):
            frame = read_file(archive)
            theirs = pl.col("user_id").is_in(whose)
            sifted = self._sifted(frame.filter(theirs))
            self._count("archives", sifted)
            if not sifted.is_untouched and not self._only_look:
                drop_file(self._connection, archive)
                left = concat_observations([frame.filter(~theirs), sifted.kept])
                if left.height:
                    write_file(self._connection, archive.folder, archive.month, left)

    def _sifted(self, frame: pl.DataFrame) -> Sifted:
        sifted = sift(frame, self._meant.rules, self._seal)
        for user, id in sifted.gone.select("user_id", "id").iter_rows():
            self._ids.setdefault(user, set()).add(id)
        self._names |= _names(sifted)
        return sifted

    def _count(self, place: str, sifted: Sifted) -> None:
        self._gone[place] += sifted.gone.height
        self._altered[place] += sifted.before.height

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

    def _out_of_positions(self) -> None:
        """How far a source has been read is forgotten if its name says too much; it is only read once more."""
        rules = list(self._meant.rules)
        if self._wish.kind == "user":
            rules += self._seal.person(self._wish.user or "")
        named = Mentions(rules, self._seal)
        labels = [
            label for label in self._connection.execute(select(sources.c.label)).scalars() if named(label)
        ]
        self._gone["read positions"] += len(labels)
        if labels and not self._only_look:
            self._connection.execute(delete(sources).where(sources.c.label.in_(labels)))

    def _people_with_words(self) -> set[str]:
        """Names of the people whose words are looked at, whatever their observations."""
        if self._wish.kind in ("user", "pattern"):
            return {person.name for person in self._meant.whose}
        rows = self._connection.execute(select(words.c.person, words.c.said))
        spoken = {number for number, said in rows if any(map(self._named, _texts(orjson.loads(said))))}
        return {person.name for person in self._meant.whose if person.number in spoken}

    def _out_of_beliefs(self, part: list[Person]) -> None:
        """What was believed of these people, and what they said of it."""
        left = read_observations(self._connection, part)
        if self._only_look:
            left = sift(left, self._meant.rules, self._seal).kept
        current = unique_observations(concat_observations([left.filter(pl.col("at") <= self._now)]))
        after: dict[str, dict[str, Any]] = {}
        for text in write_patterns(evaluate(current, self._now, self._settings)):
            pattern = orjson.loads(text)
            after.setdefault(pattern["user_id"], {})[pattern["id"]] = pattern
        rows = left.group_by("user_id").agg(pl.len(), pl.col("at").max())
        sizes = {user: (count, as_number(newest)) for user, count, newest in rows.iter_rows()}
        for person in part:
            self._out_of_one(person, after.get(person.name, {}), *sizes.get(person.name, (0, None)))

    def _out_of_one(self, person: Person, after: Mapping[str, Any], rows: int, newest: int | None) -> None:
        own = patterns.c.person == person.number
        query = select(patterns.c.id, patterns.c.said).where(own)
        before = {id: orjson.loads(said) for id, said in self._connection.execute(query)}
        vanished = before.keys() - after.keys()
        dropped = self._out_of_words(person, [before[id] for id in vanished], list(after.values()))
        if person.name not in self._names and not dropped and self._wish.kind != "user":
            return
        self.touched.add(person.number)
        self._gone["patterns"] += len(vanished)
        self._altered["patterns"] += sum(before[id] != after[id] for id in before.keys() & after.keys())
        lines = select(journal.c.pattern).where(journal.c.person == person.number)
        self._gone["journal"] += sum(id in vanished for id in self._connection.execute(lines).scalars())
        self._gone["profile"] += self._number_of_rows(profile, person)
        if not self._only_look:
            self._tidy(person, rows, newest)

    def _out_of_words(self, person: Person, vanished: Sequence[Pattern], believed: Sequence[Pattern]) -> bool:
        """Whether the person had said something of it."""
        mine = words.c.person == person.number
        touched = False
        for row in self._connection.execute(select(words).where(mine)).all():
            about = orjson.loads(row.said)
            left = self._left_of_word(row.pattern, row.word, about, person, vanished, believed)
            if left == about:
                continue
            touched = True
            (self._gone if left is None else self._altered)["words"] += 1
            if not self._only_look:
                which = mine & (words.c.pattern == row.pattern) & (words.c.word == row.word)
                said = orjson.dumps(left).decode()
                self._connection.execute(
                    delete(words).where(which)
                    if left is None
                    else update(words).where(which).values(said=said)
                )
        return touched

    def _left_of_word(
        self,
        id: str,
        word: str,
        about: Pattern,
        person: Person,
        vanished: Sequence[Pattern],
        believed: Sequence[Pattern],
    ) -> Pattern | None:
        """What is left of a word; null for nothing."""
        if self._wish.kind == "user" or any(map(self._named, _texts(about))):
            return None
        if self._meant.pattern is not None and (
            id.startswith(self._wish.pattern or "") or _is_same(about, self._meant.pattern)
        ):
            return None
        if word == "remembered":
            return about
        if any(_is_same(about, one) for one in vanished) and not any(
            _is_same(about, one) for one in believed
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

    def _tidy(self, person: Person, rows: int, newest: int | None) -> None:
        """Throw away what was believed of a person; and the person, if nothing is left of them."""
        if not rows and not self._number_of_rows(words, person):
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


def _names(sifted: Sifted) -> set[str]:
    return {user for part in (sifted.gone, sifted.before) for user in part.get_column("user_id").unique()}


def _is_same(one: Pattern, other: Pattern) -> bool:
    return bool(
        one["type"] == other["type"] and one["rule"] and is_same(one["type"], one["rule"], other["rule"])
    )


def _texts(said: object) -> Iterator[str]:
    """All texts in a value as JSON has it, names of fields among them."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, list):
        for one in said:
            yield from _texts(one)
    elif isinstance(said, dict):
        for name, value in said.items():
            yield name
            yield from _texts(value)
