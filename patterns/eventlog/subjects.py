"""Subjects: what a pattern can be about.

A subject is the set of one person's events that match a `where`: a type, a type and action, and either of
them with one more thing that the events share: a category, a title, a kind of thing, a program, a folder, any
text feature of any log. Together they form a small lattice for each person:

::

    type ──► type, action ──► type, action, feature
      └────► type, feature ──────┘

Subjects with exactly the same events are one subject: the most specific one is kept, a name before a type. A subject
needs as many events as a pattern needs occasions to be confirmed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from observations.schema import split_column
from patterns.eventlog.activity_profile import Background, OwnTimes, Rhythm
from patterns.eventlog.arrays import Flags, Ints, count_table, ranges
from patterns.eventlog.category_codes import coded, pair_codes
from patterns.eventlog.log import Log

Where = dict[str, str]
"""Field → value over `type`, `action` and text features; what an event must have to belong."""

WHO = ("participants", "to", "cc", "from", "organizer")
"""Features that hold people. Patterns about them are relationships."""

NOT_A_SUBJECT = frozenset(
    {
        *WHO,
        "from_name",
        "series",
        "thread",
        "in_reply_to",
        "message_id",
        "list_id",
        "response",
        "status",
        "tz",
        "url",
    }
)
"""Features that say who, which one, or how it went; not *what kind of thing* an event is."""

_MOST_TELLING_FIRST = (
    "category",
    "title",
    "subject",
    "command",
    "subcommand",
    "program",
    "app",
    "label",
    "kind",
)


@dataclass(frozen=True, eq=False)
class Subjects:
    """All subjects of all people, and which events belong to them.

    Attributes:
        user: (subjects,) whose.
        size: (subjects,) how many events.
        start: (subjects + 1,) where each subject's events begin in `event`.
        event: (memberships,) indices of events in the log, ascending within a subject.
        level: (subjects,) index into `levels`.
        levels: the columns whose values make the `where`, for each level.
        word: (subjects,) the word that the list in the last column contains; None if the column is no list.

    """

    log: Log
    user: Ints
    start: Ints
    event: Ints
    level: Ints
    levels: tuple[tuple[str, ...], ...]
    word: pl.Series

    def __len__(self) -> int:
        return len(self.user)

    @cached_property
    def size(self) -> Ints:
        """(subjects,) how many events each has."""
        return np.diff(self.start)

    @cached_property
    def owner(self) -> Ints:
        """(memberships,) the subject of each entry of `event`."""
        return np.repeat(np.arange(len(self)), self.size)

    def events_of(self, wanted: Ints) -> tuple[Ints, Ints]:
        """All events of the wanted subjects, one subject after the other: (index into `wanted`, event)."""
        length = self.size[wanted]
        return np.repeat(np.arange(len(wanted)), length), self.event[ranges(self.start[wanted], length)]

    @cached_property
    def kind(self) -> Ints:
        """(subjects,) the `Log.kind` of each one's events."""
        return self.log.kind[self.event[self.start[:-1]]]

    @cached_property
    def background(self) -> Background:
        """What else people do, seen from each subject."""
        minute = self.log.minute[self.event]
        timed = ~np.isnan(minute)
        own = OwnTimes.of(self.owner[timed], minute[timed], len(self))
        return Background(rhythm=Rhythm.of(self.log), own=own, user=self.user, kind=self.kind)

    @cached_property
    def by_weekday(self) -> Ints:
        """(subjects, 7) events with a time of day, by weekday."""
        timed = ~np.isnan(self.log.minute[self.event])
        return count_table(self.owner[timed], self.log.weekday[self.event[timed]], (len(self), 7))

    @cached_property
    def is_broad(self) -> Flags:
        """(subjects,) True for a whole type, or all of one action of a type."""
        return np.array([level[-1] in ("type", "action") for level in self.levels], dtype=np.bool_)[
            self.level
        ]

    @cached_property
    def is_most(self) -> Flags:
        """(subjects,) True if it is most of what the person does, so that little else shows their hours."""
        timed = np.bincount(self.log.user[~np.isnan(self.log.minute)], minlength=len(self.log.users))
        own = self.background.own.total
        most: Flags = own > timed[self.user] - own
        return most

    @property
    def sets_the_rhythm(self) -> Flags:
        """(subjects,) True if its hours are the person's own: most of what the person does, or a whole type."""
        return self.is_most | self.is_broad

    def where(self, subjects: Ints) -> list[Where]:
        """The `where` of each of these subjects: what its events have in common."""
        answer: list[Where] = [{} for _ in subjects]
        levels = self.level[subjects]
        for number, columns in enumerate(self.levels):
            chosen = np.flatnonzero(levels == number)
            if not len(chosen):
                continue
            rows = self.log.frame[self.event[self.start[subjects[chosen]]]].select(columns)
            if columns[-1].endswith(":list"):
                rows = rows.with_columns(self.word.gather(subjects[chosen]).alias(columns[-1]))
            names = [_field(c) for c in columns]
            for place, values in zip(chosen, rows.iter_rows(), strict=True):
                answer[place] = dict(zip(names, values, strict=True))
        return answer


def recorded_until(log: Log, subjects: Subjects, wanted: Ints) -> Ints:
    """(n,) the last day on which each wanted subject can be missed.

    An export that stops in March says nothing about April: after the last event of its type, a subject is not missed.
    A subject that is all of its type has no such day, for the end of the export then looks like its own end.
    """
    kind = subjects.kind[wanted]
    alone = subjects.size[wanted] >= np.bincount(log.kind)[kind]
    return np.where(alone, np.iinfo(np.int64).max, log.recorded[1][kind])


def find_subjects(log: Log, least: int) -> Subjects:
    """Every subject that has at least `least` events."""
    levels = _levels(log)
    groups = [_groups(base, own, least) for base, own in _columns_of(log, levels)]
    found = [(number, group) for number, group in enumerate(groups) if len(group.event)]
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return Subjects(
            log=log,
            user=nothing,
            start=np.zeros(1, dtype=np.int64),
            event=nothing,
            level=nothing,
            levels=tuple(levels),
            word=pl.Series([], dtype=pl.String),
        )
    sizes = np.array([len(group.word) for _, group in found])
    before = (np.cumsum(sizes) - sizes).tolist()
    return _distinct(
        log,
        _Groups(
            event=np.concatenate([group.event for _, group in found]),
            number=np.concatenate(
                [group.number + count for count, (_, group) in zip(before, found, strict=True)]
            ),
            word=pl.concat([group.word for _, group in found]),
        ),
        np.repeat(np.array([number for number, _ in found]), sizes),
        tuple(levels),
    )


def _columns_of(log: Log, levels: list[tuple[str, ...]]) -> Iterator[tuple[Ints, _Values]]:
    """For each level, the group of each event by all columns but the last, and the values of the last column."""
    columns = dict.fromkeys(c for level in levels for c in level[1:])
    values = {column: _Values.of(log, column) for column in columns}
    bases: dict[tuple[str, ...], Ints] = {("type",): log.kind}
    if "action" in values:
        bases["type", "action"] = pair_codes(log.kind, values["action"].code)
    for level in levels:
        if level in bases:
            yield bases[level], _Values.none(len(log))
        else:
            yield bases[level[:-1]], values[level[-1]]


def _levels(log: Log) -> list[tuple[str, ...]]:
    """The column sets of the lattice, the most specific first: of equal sets of events the first is kept."""
    kinds = ("text", "list")
    columns = [c for c in log.features if _field(c) not in NOT_A_SUBJECT and c.rpartition(":")[2] in kinds]
    rank = {name: place for place, name in enumerate(_MOST_TELLING_FIRST)}
    named = sorted((c for c in columns if _field(c) in rank), key=lambda c: (rank[_field(c)], c))
    others = sorted(c for c in columns if _field(c) not in rank)
    return [
        *(("type", c) for c in named),
        ("type", "action"),
        ("type",),
        *(("type", c) for c in others),
        *(("type", "action", c) for c in (*named, *others)),
    ]


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of a column as small numbers, each with its event; a list has one value for each word.

    Attributes:
        event: (pairs,) ascending.
        code: (pairs,) index into `meaning`.
        is_list: True if a code stands for a word of a list.
    """

    event: Ints
    code: Ints
    meaning: pl.Series
    is_list: bool

    @classmethod
    def of(cls, log: Log, column: str) -> _Values:
        """The values of this column."""
        pairs = pl.DataFrame({"event": np.arange(len(log)), "value": log.frame.get_column(column)})
        is_list = column.endswith(":list")
        if is_list:
            pairs = pairs.explode("value").unique(maintain_order=True)
        pairs = pairs.drop_nulls("value")
        return cls(pairs["event"].to_numpy(), *coded(pairs["value"]), is_list)

    @classmethod
    def none(cls, events: int) -> _Values:
        """One value that every event has."""
        return cls(np.arange(events), np.zeros(events, dtype=np.int64), pl.Series([""]), is_list=False)


def _field(column: str) -> str:
    return split_column(column)[0] if ":" in column else column


@dataclass(frozen=True, eq=False)
class _Groups:
    """Events in groups.

    Attributes:
        event: (pairs,) the events, group after group.
        number: (pairs,) the group of each.
        word: (groups,) as in `Subjects`.
    """

    event: Ints
    number: Ints
    word: pl.Series


def _groups(base: Ints, own: _Values, least: int) -> _Groups:
    """Events grouped by base and value; small groups are left out."""
    key = pair_codes(base[own.event], own.code) if len(own.event) else own.event
    size = np.bincount(key) if len(key) else key
    kept = np.flatnonzero(size[key] >= least)
    kept = kept[np.argsort(key[kept], kind="stable")]
    _, first, number = np.unique(key[kept], return_index=True, return_inverse=True)
    word = (
        own.meaning.gather(own.code[kept[first]])
        if own.is_list
        else pl.Series([None] * len(first), dtype=pl.String)
    )
    return _Groups(own.event[kept], number.astype(np.int64), word)


def _distinct(log: Log, groups: _Groups, level: Ints, levels: tuple[tuple[str, ...], ...]) -> Subjects:
    """Of groups with the same events, the first (most specific) only; `level` (groups,) is an index into `levels`."""
    start = np.searchsorted(groups.number, np.arange(len(level) + 1))
    user = log.user[groups.event[start[:-1]]]
    size = np.diff(start)
    # A set's fingerprint: the sum of its members' 64-bit hashes; equal sets have equal sums, and two different
    # ones of the same size practically never do (chance about 2**-64).
    marks = _mixed(np.arange(len(log), dtype=np.uint64))
    sums = np.add.reduceat(marks[groups.event], start[:-1])
    keys = np.stack([user.astype(np.uint64), size.astype(np.uint64), sums], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    kept = np.sort(first)
    is_kept = np.zeros(len(user), dtype=np.bool_)
    is_kept[kept] = True
    return Subjects(
        log=log,
        user=user[kept],
        start=np.concatenate([[0], np.cumsum(size[kept])]),
        event=groups.event[is_kept[groups.number]],
        level=level[kept],
        levels=levels,
        word=groups.word.gather(kept),
    )


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """splitmix64: spreads consecutive numbers over all 64 bits (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        z = numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
