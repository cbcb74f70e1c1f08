"""Lifecycle state: what the fold of `patterns.inference.lifecycle` keeps of each candidate, and its transitions."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum

import numpy as np

from patterns.eventlog.arrays import Flags, Floats, Ints
from patterns.inference.confidence import NEVER, RECENT, Components, Counts
from patterns.settings import Settings


class Status(IntEnum):
    """The status of a pattern."""

    tracking = 0
    confirmed = 1
    expired = 2


@dataclass(frozen=True)
class Transition:
    """One change of status: when (wall clock, µs), from, to, why, and the counts at that moment.

    Attributes:
        before: the status it had; None where an episode begins.
        event: the event at which it changed; -1 where only time had passed.

    """

    candidate: int
    local: int
    before: Status | None
    after: Status
    reason: str
    confidence: float
    support: int
    opportunities: int
    event: int


@dataclass(eq=False)
class State:
    """What the fold keeps; every array is (candidates,), `recent` (candidates, 5)."""

    status: Ints
    live: Flags  # an episode is running
    episode: Ints
    support: Ints
    opportunities: Ints
    occasions: Ints
    contradictions: Ints
    first: Ints
    last: Ints
    missed: Ints  # the last miss that was a contradiction
    due: Ints
    recent: Ints
    confirmed: Ints
    confirmed_event: Ints
    expired: Ints
    vote_support: Floats
    vote_opportunities: Floats
    all_support: Floats
    all_opportunities: Floats
    transitions: list[Transition] = field(default_factory=list)

    @classmethod
    def fresh(cls, n: int) -> State:
        """The state of n candidates before their first trial."""

        def zero() -> Ints:
            return np.zeros(n, dtype=np.int64)

        def never() -> Ints:
            return np.full(n, NEVER, dtype=np.int64)

        return cls(
            status=np.full(n, Status.tracking, dtype=np.int64),
            live=np.zeros(n, dtype=np.bool_),
            episode=zero() - 1,
            support=zero(),
            opportunities=zero(),
            occasions=zero(),
            contradictions=zero(),
            first=never(),
            last=never(),
            missed=never(),
            due=never(),
            recent=np.full((n, RECENT), NEVER, dtype=np.int64),
            confirmed=never(),
            confirmed_event=zero() - 1,
            expired=never(),
            vote_support=np.zeros(n),
            vote_opportunities=np.zeros(n),
            all_support=np.zeros(n),
            all_opportunities=np.zeros(n),
        )

    def components(self, of: Ints, settings: Settings) -> Components:
        """The components of the confidence of the candidates `of`."""
        counts = Counts(
            occasions=self.occasions[of],
            recent=self.recent[of],
            support=self.support[of],
            opportunities=self.opportunities[of],
            first=self.first[of],
            last=self.last[of],
        )
        return counts.components(settings)

    def change(
        self, of: Ints, local: Ints, after: Status, reason: str, confidence: Floats, event: Ints | None = None
    ) -> None:
        """Set the status of the candidates `of`, and record the transitions."""
        for place, one in enumerate(of.tolist()):
            new = not self.live[one] and after is Status.tracking
            self.transitions.append(
                Transition(
                    candidate=one,
                    local=int(local[place]),
                    before=None if new else Status(self.status[one]),
                    after=after,
                    reason=reason,
                    confidence=float(confidence[place]),
                    support=int(self.support[one]),
                    opportunities=int(self.opportunities[one]),
                    event=-1 if event is None else int(event[place]),
                )
            )
        self.status[of] = after

    def copy(self) -> State:
        """A deep copy."""
        arrays = {f.name: getattr(self, f.name).copy() for f in fields(self)}
        return State(**arrays)
