"""Subjects: what a pattern can be about.

A subject is the set of one person's events that match a `where`: a type, a type and action, and either of
them with one more thing that the events share: a category, a title, a kind of thing, a program, a folder, any
text feature of any log. Together they form a small lattice for each person:

::

    type ──► type, action ──► type, action, feature
      └────► type, feature ──────┘

Subjects that hold exactly the same events are one subject; the one that is simplest to say stays. A subject
needs as many events as a pattern needs occasions to be confirmed; below that nothing can be learned of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from observations.schema import split_column
from patterns.log import Ints, Log

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
"""Features that say who, which one, or how it went: never *what kind of thing* an event is."""

_SIMPLEST_FIRST = ("category", "title", "subject", "command", "subcommand", "program", "app", "label", "kind")


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

    """

    log: Log
    user: Ints
    start: Ints
    event: Ints
    level: Ints
    levels: tuple[tuple[str, ...], ...]

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

    @cached_property
    def broad(self) -> Ints:
        """(subjects,) whether the subject is a whole type, or all of one action of a type (no feature)."""
        return np.array([len(columns) <= 2 and columns[-1] in ("type", "action") for columns in self.levels])[
            self.level
        ].astype(np.int64)

    def where(self, subjects: Ints) -> list[Where]:
        """What the events of each of these subjects have in common, as a rule says it."""
        answer: list[Where] = [{} for _ in subjects]
        levels = self.level[subjects]
        for number, columns in enumerate(self.levels):
            chosen = np.flatnonzero(levels == number)
            if not len(chosen):
                continue
            rows = self.log.frame[self.event[self.start[subjects[chosen]]]].select(columns)
            names = [_field(c) for c in columns]
            for place, values in zip(chosen, rows.iter_rows(), strict=True):
                answer[place] = dict(zip(names, values, strict=True))
        return answer


def find_subjects(log: Log, least: int) -> Subjects:
    """Every subject that has at least `least` events."""
    levels = _levels(log)
    keys = {c: _codes(log, c) for columns in levels for c in columns}
    owners, events, level_of, users = [], [], [], []
    count = 0
    for number, columns in enumerate(levels):
        members, group = _groups(log, [keys[c] for c in columns], least)
        if not len(members):
            continue
        groups = int(group[-1]) + 1
        owners.append(group + count)
        events.append(members)
        level_of.append(np.full(groups, number))
        users.append(log.user[members[np.searchsorted(group, np.arange(groups))]])
        count += groups
    if not count:
        nothing = np.empty(0, dtype=np.int64)
        return Subjects(log, nothing, np.zeros(1, dtype=np.int64), nothing, nothing, tuple(levels))
    owner, event = np.concatenate(owners), np.concatenate(events)
    return _distinct(log, owner, event, np.concatenate(users), np.concatenate(level_of), tuple(levels))


def _levels(log: Log) -> list[tuple[str, ...]]:
    """The column sets of the lattice, simplest to say first."""
    texts = [c for c in log.features if c.endswith(":text") and _field(c) not in NOT_A_SUBJECT]
    rank = {name: place for place, name in enumerate(_SIMPLEST_FIRST)}
    texts.sort(key=lambda c: (rank.get(_field(c), len(rank) - 1.5), c))
    return [
        ("type",),
        ("type", "action"),
        *(("type", c) for c in texts),
        *(("type", "action", c) for c in texts),
    ]


def _field(column: str) -> str:
    return split_column(column)[0] if ":" in column else column


def _codes(log: Log, column: str) -> Ints:
    """(events,) a small number for each value of a column; -1 for null."""
    ranks = log.frame.get_column(column).rank("dense")
    return ranks.cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64) - 1


def _groups(log: Log, codes: list[Ints], least: int) -> tuple[Ints, Ints]:
    """Events grouped by person and codes: (members, group), groups with fewer than `least` events left out."""
    key, present = log.user.copy(), np.ones(len(log), dtype=np.bool_)
    for code in codes:
        present &= code >= 0
        key = key * (int(code.max(initial=-1)) + 2) + code + 1
        # Keep the key dense so that no product of many columns can overflow.
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    members = np.flatnonzero(present)
    members = members[np.argsort(key[members], kind="stable")]
    if not len(members):
        return members, members
    _, group, size = np.unique(key[members], return_inverse=True, return_counts=True)
    kept = size[group] >= least
    members, group = members[kept], group[kept]
    return members, (np.unique(group, return_inverse=True)[1] if len(group) else group).astype(np.int64)


def _distinct(
    log: Log, owner: Ints, event: Ints, user: Ints, level: Ints, levels: tuple[tuple[str, ...], ...]
) -> Subjects:
    """Of subjects with the same events, the first (simplest to say) only."""
    start = np.searchsorted(owner, np.arange(len(user) + 1))
    # A set's fingerprint: the sum of its members' 64-bit hashes; equal sets have equal sums, and two different
    # ones of the same size practically never do (chance about 2**-64).
    marks = _mixed(np.arange(len(log), dtype=np.uint64))
    sums = np.add.reduceat(marks[event], start[:-1])
    size = np.diff(start)
    keys = np.stack([user.astype(np.uint64), size.astype(np.uint64), sums], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    kept = np.sort(first)
    renumber = np.full(len(user), -1, dtype=np.int64)
    renumber[kept] = np.arange(len(kept))
    stays = renumber[owner] >= 0
    return Subjects(
        log, user[kept], np.concatenate([[0], np.cumsum(size[kept])]), event[stays], level[kept], levels
    )


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """splitmix64: spreads consecutive numbers over all 64 bits (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        z = numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
