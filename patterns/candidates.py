"""What a detector proposes: candidates, each with its rule, its null model and its trials.

A *trial* is one opportunity whose outcome is known: a due day that is over, an event that has the feature, a
first step whose minutes have passed, a slot on a day of activity. Everything after the detectors (significance,
confidence, lifecycle) works on trials alone and does not know which detector they came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from patterns.eventlog.arrays import Flags, Floats, Ints, begins, ranges
from patterns.eventlog.log import OCCASION_GAP, Log
from patterns.eventlog.subjects import Subjects
from patterns.rules.rule import Rule
from patterns.settings import Settings

PatternType = str
"""The name of a pattern type (`patterns.registry.KINDS`)."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Outcomes, sorted by candidate and time.

    Attributes:
        candidate: (trials,) which candidate's.
        local: (trials,) wall clock at which the outcome was known, µs.
        hit: (trials,) True if the behaviour was kept.
        event: (trials,) the event that shows it: for a hit the supporting one; -1 where there is none.
        next_due: (trials,) wall clock by which it is next due if this is the last support, µs.

    """

    candidate: Ints
    local: Ints
    hit: Flags
    event: Ints
    next_due: Ints

    @classmethod
    def none(cls) -> Trials:
        """No trials at all."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(
            candidate=nothing, local=nothing, hit=nothing.astype(np.bool_), event=nothing, next_due=nothing
        )

    def sorted(self) -> Trials:
        """The same trials in the order that this class promises."""
        order = np.lexsort((self.event, self.local, self.candidate))
        return Trials(
            candidate=self.candidate[order],
            local=self.local[order],
            hit=self.hit[order],
            event=self.event[order],
            next_due=self.next_due[order],
        )

    def votes(self) -> Flags:
        """(trials,) which count as evidence: each that comes an hour or more after the last that did.

        An import of fifty meetings in a minute is one decision, not fifty. Later trials never change whether
        an earlier trial counts.
        """
        axis = self.local - (self.local.min() if len(self.local) else 0)
        axis = axis + self.candidate * (int(axis.max(initial=0)) + OCCASION_GAP + 1)
        following = np.searchsorted(axis, axis + OCCASION_GAP, side="left")
        votes = np.zeros(len(axis), dtype=np.bool_)
        # Everybody's first trial counts; from each that counts, jump to the next that may.
        counting = np.flatnonzero(begins(self.candidate))
        while len(counting):
            votes[counting] = True
            ahead = following[counting]
            inside = ahead < len(axis)
            stays = self.candidate[np.where(inside, ahead, 0)] == self.candidate[counting]
            counting = ahead[inside & stays]
        return votes


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rules worth judging, of all people, of one pattern type.

    Attributes:
        type: the pattern type.
        user: (candidates,) whose.
        rules: the rule of each.
        null_rate: (candidates,) chance of success of one trial if the behaviour were chance.
        hypotheses: (candidates,) how many rules of this type were looked at for that person: what the
            significance is corrected for.
        trials: their trials.

    """

    type: PatternType
    user: Ints
    rules: Sequence[Rule]
    null_rate: Floats
    hypotheses: Floats
    trials: Trials
    origin: Ints | None = None

    def __len__(self) -> int:
        return len(self.user)

    def __getitem__(self, chosen: Ints) -> Candidates:
        """The chosen candidates, in that order, with their trials."""
        start = np.searchsorted(self.trials.candidate, chosen, side="left")
        length = np.searchsorted(self.trials.candidate, chosen, side="right") - start
        row = ranges(start, length)
        trials = self.trials
        return Candidates(
            type=self.type,
            user=self.user[chosen],
            rules=[self.rules[c] for c in chosen.tolist()],
            null_rate=self.null_rate[chosen],
            hypotheses=self.hypotheses[chosen],
            trials=Trials(
                candidate=np.repeat(np.arange(len(chosen)), length),
                local=trials.local[row],
                hit=trials.hit[row],
                event=trials.event[row],
                next_due=trials.next_due[row],
            ),
            origin=None if self.origin is None else self.origin[chosen],
        )

    @classmethod
    def none(cls, type: PatternType) -> Candidates:
        """No candidates at all."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(
            type=type,
            user=nothing,
            rules=(),
            null_rate=nothing.astype(np.float64),
            hypotheses=nothing.astype(np.float64),
            trials=Trials.none(),
        )


class Detector(Protocol):
    """Proposes candidates of one type for everybody in a log; has no state and judges nothing itself."""

    @property
    def type(self) -> PatternType:
        """The type of its patterns."""
        ...

    def detect(self, log: Log, subjects: Subjects, settings: Settings, explained: Flags, /) -> Candidates:
        """The candidates.

        Args:
            log: the events of everybody.
            subjects: what a rule can be about.
            settings: the numbers of the contract, for this type (`Settings.of_type`).
            explained: (events,) those that a detector before this one already accounts for; a detector whose
                null would take them for background looks past them.

        """
        ...
