"""Workflow: one thing is followed by another within minutes.

Counted are first steps, and those of them after which the second step came within the minutes. Pairs of subjects
are found by walking forward from each event to the first event of every other subject (`patterns.detectors.successions`); the
minutes are chosen from a fixed list as those under which the following is least like chance (`patterns.detectors.step_pairs`). Pairs
that continue each other, and can each be told from chance, become one chain (`patterns.detectors.chains`).

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
from patterns.candidates import Candidates, PatternType, Rule, Trials
from patterns.detectors.chains import Chain, Walk, joined
from patterns.detectors.step_pairs import Pairs, find_pairs
from patterns.detectors.successions import MINUTES, count_follows
from patterns.eventlog.arrays import Flags, Floats, Ints
from patterns.eventlog.due_times import next_occasion, patience
from patterns.eventlog.log import Log, wall_clock
from patterns.eventlog.subjects import Subjects, recorded_until
from patterns.inference.densest_span import Spans
from patterns.inference.redundancy import FIRST, say_once
from patterns.inference.significance import can_be_usual, is_certain, likelihood_gain
from patterns.settings import Settings


@dataclass(frozen=True)
class WorkflowDetector:
    """Finds what follows what.

    Attributes:
        least_rate: a step that follows more seldom than this is no candidate.
        most_a_day: a subject that happens more often than this on an active day is no step: it is the weather.
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
        chains = self._chains(log, subjects, settings, pairs, hypotheses)
        if not chains:
            return Candidates.none(self.type)
        user = np.array([subjects.user[c.steps[0]] for c in chains], dtype=np.int64)
        null_rate = np.array([c.null_rate for c in chains])
        trials = _trials(log, subjects, chains)
        return Candidates(self.type, user, _rules(subjects, chains), null_rate, hypotheses[user], trials)

    def _chains(
        self, log: Log, subjects: Subjects, settings: Settings, pairs: Pairs, hypotheses: Floats
    ) -> list[Chain]:
        """The pairs that say something new; of those that can be told from chance, joined what continues each other."""
        walks = [
            Walk.along(log, subjects, (int(a), int(b)), int(m))
            for a, b, m in zip(pairs.first, pairs.second, pairs.minutes, strict=True)
        ]
        pair = np.repeat(np.arange(len(walks)), [len(w.event) for w in walks])
        follower = np.concatenate([w.last for w in walks])
        hit = follower >= 0
        has_hit = np.bincount(pair[hit], minlength=len(pairs)) > 0
        assert has_hit.all(), "a pair without support is no pair"
        spans = Spans.of(pair, hit, len(pairs))
        support, opportunities = spans.support, spans.opportunities
        gain = likelihood_gain(support, opportunities, pairs.null_rate)
        user = subjects.user[pairs.first]
        certain = is_certain(self.type, gain, hypotheses[user], settings)
        certain &= can_be_usual(support / opportunities, pairs.null_rate, settings)

        good = (support >= settings.least_support) & (support >= self.least_rate * opportunities) & (gain > 0)
        rests = spans.inside & hit & good[pair]
        says = gain + np.where(certain, FIRST, 0.0)
        kept = say_once(user[good], says[good], (np.cumsum(good) - 1)[pair[rests]], follower[rests])

        begin = spans.first - np.searchsorted(pair, np.arange(len(pairs)))
        sure: list[Chain] = []
        unsure: list[Chain] = []
        for i in np.flatnonzero(good)[kept].tolist():
            chain = Chain(int(pairs.minutes[i]), float(pairs.null_rate[i]), int(begin[i]), walks[i])
            (sure if certain[i] else unsure).append(chain)
        return unsure + joined(log, subjects, sure)


def _trials(log: Log, subjects: Subjects, chains: list[Chain]) -> Trials:
    """Each time that all steps but the last were taken as one trial; late when the next such time is (see `patience`)."""
    parts = []
    until = recorded_until(log, subjects, np.array([c.steps[-1] for c in chains]))
    for number, chain in enumerate(chains):
        event, last = chain.walk.event[chain.begin :], chain.walk.last[chain.begin :]
        hit = last >= 0
        shown = np.where(hit, last, event)
        local = wall_clock(log.day[shown], log.minute[shown]) + np.where(
            hit, 0, chain.minutes * MICROSECONDS_PER_MINUTE
        )
        # A first step whose minutes are not over yet is no opportunity yet; one after the last step's source ended is none.
        known = hit | ((local <= log.as_of_local[log.user[event]]) & (log.day[event] <= until[number]))
        parts.append((np.full(known.sum(), number), local[known], hit[known], last[known]))
    candidate, local, hit, event = (np.concatenate(p) for p in zip(*parts, strict=True))
    order = np.lexsort((event, local, candidate))
    candidate, local, hit, event = candidate[order], local[order], hit[order], event[order]
    user: Ints = log.user[np.array([c.walk.event[0] for c in chains])][candidate]
    due = next_occasion(log, user, local, patience(candidate, local)[candidate])
    return Trials(candidate, local, hit, event, due)


def _rules(subjects: Subjects, chains: list[Chain]) -> list[Rule]:
    flat = np.array([step for c in chains for step in c.steps], dtype=np.int64)
    wheres = iter(subjects.where(flat))
    return [{"steps": [next(wheres) for _ in c.steps], "within_minutes": c.minutes} for c in chains]
