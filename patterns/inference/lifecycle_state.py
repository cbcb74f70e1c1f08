"""State: everything the fold of `patterns.inference.lifecycle` remembers of each candidate, and the journal it writes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum

import numpy as np

from patterns.eventlog.arrays import Flags, Floats, Ints
from patterns.inference.confidence import NEVER, RECENT, Components, components
from patterns.settings import Settings


class Status(IntEnum):
    """Where a pattern stands."""

    tracking = 0
    confirmed = 1
    expired = 2


@dataclass(frozen=True)
class Transition:
    """One change of status: when (wall clock, µs), from, to, why, and the figures of that moment.

    Attributes:
        before: the status left; null where an episode begins.
        event: the event at which it happened, -1 where time alone did it.

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
    """Everything the fold remembers; every array is (candidates,), `recent` (candidates, 5)."""

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
        """Of n candidates of which nothing was seen yet."""

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
        """The components of the confidence of some of them."""
        return components(
            self.occasions[of],
            self.recent[of],
            self.support[of],
            self.opportunities[of],
            self.first[of],
            self.last[of],
            settings,
        )

    def change(
        self, of: Ints, local: Ints, after: Status, reason: str, confidence: Floats, event: Ints | None = None
    ) -> None:
        """Set the status and write the journal."""
        for place, one in enumerate(of.tolist()):
            new = not self.live[one] and after is Status.tracking
            self.transitions.append(
                Transition(
                    one,
                    int(local[place]),
                    None if new else Status(self.status[one]),
                    after,
                    reason,
                    float(confidence[place]),
                    int(self.support[one]),
                    int(self.opportunities[one]),
                    -1 if event is None else int(event[place]),
                )
            )
        self.status[of] = after

    def copy(self) -> State:
        """One that may be changed without changing this."""
        arrays = {f.name: getattr(self, f.name).copy() for f in fields(self)}
        return State(**arrays)
