"""Workflow: one thing is followed by another within minutes.

Counted are first steps, and those of them after which the second step came within the minutes. Pairs of subjects
are found by walking forward from each event to the first event of every other subject (`patterns.detectors.successions`); the
minutes are chosen from a fixed list as those under which the following is least like chance (`patterns.detectors.step_pairs`). Pairs
that continue each other, and are significant each, become one chain (`patterns.detectors.chains`).

**Null.** The second step falls within the minutes anyway. That chance is the largest of three, averaged over the
first steps as they happened (`patterns.detectors.workflow_null_model`):

- *its own rate*: ``1 - exp(-λ)``, λ the second step's events per active day, or of that very day if they are more, times
  the share of the person's other activity in those minutes of the day (`patterns.eventlog.activity_profile`): what happens often
  follows everything;
- *other days*: the share of days of the same sort (working day or weekend) without the first step on which the
  second came in those same minutes of the day: two things at fixed times follow each other without having to do
  with each other;
- *after anything*: the share of the person's other events after which the second came within the minutes, the first
  not coming in between: what is done in bursts follows everything else in the burst.

**Hypotheses.** Every ordered pair of a person's subjects, with every choice of minutes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observations.civil_time import MICROSECONDS_PER_MINUTE
from patterns.candidates import Candidates, PatternType, Trials
from patterns.detectors.chains import Chain, Walk, joined
from patterns.detectors.step_pairs import Pairs, find_pairs
from patterns.detectors.successions import MINUTES, count_follows
from patterns.eventlog.arrays import Flags, Floats, Ints, renumber
from patterns.eventlog.due_times import next_occasion, patience
from patterns.eventlog.log import Log, wall_clock
from patterns.eventlog.subjects import Subjects, recorded_until
from patterns.inference.densest_span import Spans
from patterns.inference.redundancy import PRIORITY, keep_once
from patterns.inference.significance import can_be_usual, is_certain, likelihood_gain
from patterns.rules.workflow_rule import WorkflowRule
from patterns.settings import Settings


@dataclass(frozen=True)
class WorkflowDetector:
    """Finds what follows what.

    Attributes:
        least_rate: a step that follows less often than this is no candidate.
        most_a_day: a subject that happens more often than this on an active day is no step: it follows everything.
    """

    least_rate: float = 0.4
    most_a_day: float = 4.0
    type: PatternType = "workflow"

    def detect(self, log: Log, subjects: Subjects, settings: Settings, _explained: Flags) -> Candidates:
        """Candidates for steps that follow each other; see the module."""
        least = settings.least_support
        steps = np.flatnonzero(subjects.size <= self.most_a_day * log.active.count[subjects.user])
        follows = count_follows(log, subjects, steps, least)
        if not len(follows):
            return Candidates.none(self.type)
        pairs = find_pairs(log, subjects, follows, least, self.least_rate)
        if not len(pairs):
            return Candidates.none(self.type)
        counts = np.bincount(subjects.user[steps], minlength=len(log.users)).astype(np.float64)
        hypotheses = counts * np.maximum(counts - 1, 1) * len(MINUTES)
        chains = _chains(log, subjects, self._chosen(log, subjects, settings, pairs, hypotheses))
        if not chains:
            return Candidates.none(self.type)
        user = np.array([subjects.user[c.steps[0]] for c in chains], dtype=np.int64)
        null_rate = np.array([c.null_rate for c in chains])
        return Candidates(
            type=self.type,
            user=user,
            rules=_rules(subjects, chains),
            null_rate=null_rate,
            hypotheses=hypotheses[user],
            trials=_trials(log, subjects, chains),
        )

    def _chosen(
        self, log: Log, subjects: Subjects, settings: Settings, pairs: Pairs, hypotheses: Floats
    ) -> list[_WalkedPair]:
        """The pairs that are kept within their span, each habit once."""
        walks = [
            Walk.along(log, subjects, (first, second), minutes)
            for first, second, minutes in zip(
                pairs.first.tolist(), pairs.second.tolist(), pairs.minutes.tolist(), strict=True
            )
        ]
        pair = np.repeat(np.arange(len(walks)), [len(w.event) for w in walks])
        follower = np.concatenate([w.last for w in walks])
        hit = follower >= 0
        assert (np.bincount(pair[hit], minlength=len(pairs)) > 0).all(), "a pair without support is no pair"
        spans = Spans.of(pair, hit, len(pairs))
        good, gain = self._is_kept(spans, pairs, settings)

        user = subjects.user[pairs.first]
        certain = is_certain(gain, hypotheses[user], settings)
        certain &= can_be_usual(spans.support / spans.opportunities, pairs.null_rate, settings)
        score = gain + np.where(certain, PRIORITY, 0.0)
        rests = spans.inside & hit & good[pair]
        kept = keep_once(user[good], score[good], renumber(good)[pair[rests]], follower[rests])
        begin = spans.first - np.searchsorted(pair, np.arange(len(pairs)))
        return [
            _WalkedPair(
                chain=Chain(
                    minutes=int(pairs.minutes[i]),
                    null_rate=float(pairs.null_rate[i]),
                    begin=int(begin[i]),
                    walk=walks[i],
                ),
                is_significant=bool(certain[i]),
            )
            for i in np.flatnonzero(good)[kept].tolist()
        ]

    def _is_kept(self, spans: Spans, pairs: Pairs, settings: Settings) -> tuple[Flags, Floats]:
        """(pairs,) True if the pair is kept often enough within its span; and its gain over chance there, nats."""
        support, opportunities = spans.support, spans.opportunities
        gain = likelihood_gain(support, opportunities, pairs.null_rate)
        good = (support >= settings.least_support) & (support >= self.least_rate * opportunities) & (gain > 0)
        return good, gain


@dataclass(frozen=True, eq=False)
class _WalkedPair:
    """A pair of steps as a chain; `is_significant` is True if it is more than chance."""

    chain: Chain
    is_significant: bool


def _chains(log: Log, subjects: Subjects, pairs: list[_WalkedPair]) -> list[Chain]:
    """The pairs as chains; significant ones that continue each other are joined."""
    others = [pair.chain for pair in pairs if not pair.is_significant]
    return others + joined(log, subjects, [pair.chain for pair in pairs if pair.is_significant])


def _trials(log: Log, subjects: Subjects, chains: list[Chain]) -> Trials:
    """Each time that all steps but the last were taken, as one trial; late when the next such time is (see `patience`)."""
    parts = []
    until = recorded_until(log, subjects, np.array([c.steps[-1] for c in chains]))
    for number, chain in enumerate(chains):
        event, last = chain.walk.event[chain.begin :], chain.walk.last[chain.begin :]
        hit = last >= 0
        shown = np.where(hit, last, event)
        local = wall_clock(log.day[shown], log.minute[shown]) + np.where(
            hit, 0, chain.minutes * MICROSECONDS_PER_MINUTE
        )
        # A first step is no opportunity while its minutes are not over, nor after the last step's source has ended.
        known = hit | ((local <= log.as_of_local[log.user[event]]) & (log.day[event] <= until[number]))
        parts.append((np.full(known.sum(), number), local[known], hit[known], last[known]))
    candidate, local, hit, event = (np.concatenate(p) for p in zip(*parts, strict=True))
    order = np.lexsort((event, local, candidate))
    candidate, local, hit, event = candidate[order], local[order], hit[order], event[order]
    user: Ints = log.user[np.array([c.walk.event[0] for c in chains])][candidate]
    due = next_occasion(log, user, local, patience(candidate, local)[candidate])
    return Trials(candidate=candidate, local=local, hit=hit, event=event, next_due=due)


def _rules(subjects: Subjects, chains: list[Chain]) -> list[WorkflowRule]:
    flat = np.array([step for c in chains for step in c.steps], dtype=np.int64)
    wheres = iter(subjects.where(flat))
    return [WorkflowRule(steps=[next(wheres) for _ in c.steps], within_minutes=c.minutes) for c in chains]
