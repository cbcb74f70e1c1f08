"""Chains: steps taken one after the other; pairs that continue each other are joined into one chain.

::

    A → B, B → C      A ─▶ B ─▶ C      one walk for each A that went on to B; kept where C came too
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observations.civil_time import MICROSECONDS_PER_MINUTE
from patterns.eventlog.arrays import Ints
from patterns.eventlog.log import Log
from patterns.eventlog.subjects import Subjects

_CHAIN_SHARE = 0.8
"""Two chains are joined if the joined one keeps this share of the support of each."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Every time that all steps but the last were taken, in time order.

    Attributes:
        steps: subjects.
        event: (walks,) the events of the last step but one.
        last: (walks,) the events of the last step; -1 where it did not come.
    """

    steps: tuple[int, ...]
    event: Ints
    last: Ints

    @classmethod
    def along(cls, log: Log, subjects: Subjects, steps: tuple[int, ...], minutes: int) -> Walk:
        """The walk along these steps: each the first of its subject after the one before, within the minutes."""
        event = _timed_events(log, subjects, steps[0])
        for step in steps[1:-1]:
            event = _next(log, subjects, event, step, minutes)
            event = event[event >= 0]
        return cls(steps, event, _next(log, subjects, event, steps[-1], minutes))


@dataclass(frozen=True, eq=False)
class Chain:
    """Steps that follow each other.

    Attributes:
        minutes: within how many each step follows the one before.
        null_rate: chance that the last step comes anyway.
        begin: index in the walk at which its span begins.
        walk: its steps, and when they were taken.
    """

    minutes: int
    null_rate: float
    begin: int
    walk: Walk

    @property
    def steps(self) -> tuple[int, ...]:
        """The subjects."""
        return self.walk.steps

    @property
    def support(self) -> int:
        """How many last steps, each counted once, there are in the whole walk."""
        return len(set(self.walk.last[self.walk.last >= 0].tolist()))


def joined(log: Log, subjects: Subjects, chains: list[Chain]) -> list[Chain]:
    """The chains, those joined that continue each other: A→B and B→C are A→B→C if that keeps most of their support."""
    while True:
        found = _first_to_join(log, subjects, chains)
        if found is None:
            return chains
        one, other, both = found
        chains = [c for c in chains if c is not one and c is not other] + [both]


def _first_to_join(log: Log, subjects: Subjects, chains: list[Chain]) -> tuple[Chain, Chain, Chain] | None:
    """The first two chains that can be joined, and the joined one; None if there are none."""
    beginning: dict[int, list[Chain]] = {}
    for chain in chains:
        beginning.setdefault(chain.steps[0], []).append(chain)
    for one in chains:
        for other in beginning.get(one.steps[-1], ()):
            if one is other or set(one.steps) & set(other.steps[1:]):
                continue
            minutes = max(one.minutes, other.minutes)
            walk = Walk.along(log, subjects, one.steps + other.steps[1:], minutes)
            both = Chain(minutes=minutes, null_rate=max(one.null_rate, other.null_rate), begin=0, walk=walk)
            if both.support >= _CHAIN_SHARE * max(one.support, other.support):
                return one, other, both
    return None


def _next(log: Log, subjects: Subjects, event: Ints, step: int, minutes: int) -> Ints:
    """(n,) the first event of a subject after each event, or -1 where none comes within the minutes."""
    those = _timed_events(log, subjects, step)
    if not len(those):
        return np.full(len(event), -1)
    at = np.searchsorted(those, event, side="right")
    found = those[np.minimum(at, len(those) - 1)]
    near = (at < len(those)) & (log.at[found] - log.at[event] <= minutes * MICROSECONDS_PER_MINUTE)
    return np.where(near, found, -1)


def _timed_events(log: Log, subjects: Subjects, subject: int) -> Ints:
    """(n,) the events of a subject that have a time of day, in time order."""
    event = subjects.event[subjects.start[subject] : subjects.start[subject + 1]]
    return event[~np.isnan(log.minute[event])]
