"""Lifecycle: a fold over each candidate's trials, in time order (design, section 5).

::

                five occasions, confidence ≥ 0.7,
                more than chance, usually kept
     tracking ───────────────────────────────────► confirmed
        ▲  │ ◄───────────────────────────────────────  │
        │  │      three unforgiven contradictions,     │
        │  │      or no longer more than chance        │
        │  └──────────────► expired ◄──────────────────┘
        └── seen again: new episode    confidence < 0.3

All candidates are folded side by side: step j takes the j-th trial of every candidate that has one, so the
Python loop runs over steps and not over trials. Within a step the order is: what time did (expiry), what the
trial says, what follows from it.

The components are counted over the episode: from its first support to now. Significance is judged by all episodes: that
a person stopped for a while does not make chance of what they did before. A demotion ends no episode; it sets
the count of occasions back to nothing, so five new ones are needed, while the rate is still judged by all that
is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from observations.civil_time import MICROSECONDS_PER_DAY
from patterns.candidates import Candidates, Trials
from patterns.eventlog.arrays import Flags, Floats, Ints
from patterns.eventlog.log import OCCASION_GAP
from patterns.inference.confidence import NEVER, Components, days_until_expiry, decay
from patterns.inference.lifecycle_state import State, Status, Transition
from patterns.inference.significance import allowed, binomial_tail, surely_above
from patterns.settings import Settings


@dataclass(frozen=True, eq=False)
class Standing:
    """How each candidate stands at the evaluation time; every array is (candidates,).

    Attributes:
        began: whether it was ever supported at all; the rest means nothing where not.
        episode: index in the trials of the first support of the current episode.
        confirmed, expired: wall clock of the last such change in this episode, µs; `NEVER` where none.
        confirmed_event: the event at which it was confirmed, -1 where none.
        vote_support, vote_opportunities: support and opportunities in votes (see `Trials.votes`).
        all_support, all_opportunities: the same over all episodes so far, what significance is judged by; the
            support with which a later episode begins is left out, for an episode begins with one by definition.
        due: wall clock by which it is next due, µs.
        confidence: decay included.

    """

    began: Flags
    status: Ints
    episode: Ints
    support: Ints
    opportunities: Ints
    occasions: Ints
    contradictions: Ints
    first: Ints
    last: Ints
    due: Ints
    confirmed: Ints
    confirmed_event: Ints
    expired: Ints
    vote_support: Floats
    vote_opportunities: Floats
    all_support: Floats
    all_opportunities: Floats
    components: Components
    confidence: Floats
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, eq=False)
class Course:
    """What the fold saw on its way; every array is (trials,).

    Attributes:
        episode: index in the trials of the first support of the episode in which the trial counted; -1 where it
            counted in none.
        confidence: right after the trial; nan where it counted in no episode.

    """

    episode: Ints
    confidence: Floats


@dataclass(frozen=True, eq=False)
class Prospect:
    """What comes next; every array is (candidates,).

    Attributes:
        if_kept, if_missed: the status after one more support, or one more miss, when it is next due.
        expires: wall clock at which it expires unless seen, µs; `NEVER` where it is expired or never does.

    """

    if_kept: Ints
    if_missed: Ints
    expires: Ints


def fold(candidates: Candidates, now: Ints, settings: Settings) -> Standing:
    """How each candidate stands at the wall clock `now` (candidates,), µs, and how it came to that."""
    return _standing(_run(candidates, now, settings), now, settings)


def fold_fully(candidates: Candidates, now: Ints, settings: Settings) -> tuple[Standing, Course, Prospect]:
    """What `fold` returns, what it saw on its way, and what comes next."""
    trials = len(candidates.trials.candidate)
    course = Course(np.full(trials, -1, dtype=np.int64), np.full(trials, np.nan))
    state = _run(candidates, now, settings, course)
    prospect = Prospect(
        _after_one_more(state, True, candidates, now, settings),
        _after_one_more(state, False, candidates, now, settings),
        _expires(state, settings),
    )
    return _standing(state, now, settings), course, prospect


def _after_one_more(state: State, hit: bool, candidates: Candidates, now: Ints, settings: Settings) -> Ints:
    """(candidates,) the status after one more support, or one more miss, when it is next due."""
    imagined, everyone = state.copy(), np.arange(len(candidates))
    due = np.maximum(state.due, now)
    more = Trials(everyone, due, np.full(len(candidates), hit), everyone * 0 - 1, due)
    candidates = replace(candidates, trials=more)
    _take(imagined, everyone, everyone, candidates, np.ones(len(candidates)), settings)
    _judge(imagined, everyone, everyone, candidates, _Judge(candidates, settings))
    return imagined.status


def _expires(state: State, settings: Settings) -> Ints:
    """(candidates,) the wall clock at which each expires unless seen, µs; `NEVER` where it is or never does."""
    everyone = np.arange(len(state.status))
    days = days_until_expiry(state.components(everyone, settings).confidence(settings), settings)
    ends = state.live & np.isfinite(days)
    late = np.ceil(np.where(ends, days, 0) * MICROSECONDS_PER_DAY).astype(np.int64)
    return np.where(ends, _decays_from(state, everyone, settings) + late, NEVER)


def _run(candidates: Candidates, now: Ints, settings: Settings, course: Course | None = None) -> State:
    state = State.fresh(len(candidates))
    judge = _Judge(candidates, settings)
    trials = candidates.trials
    votes = trials.votes().astype(np.float64)
    start = np.searchsorted(trials.candidate, np.arange(len(candidates) + 1))
    length = np.diff(start)
    # Longest first: at step j the candidates that still have a trial are a prefix.
    by_length = np.argsort(-length, kind="stable")
    remaining = length[by_length]
    for step in range(int(length.max(initial=0))):
        here = by_length[: np.searchsorted(-remaining, -step, side="left")]
        row = start[here] + step
        _expire(state, here, trials.local[row], judge)
        _take(state, here, row, candidates, votes, settings)
        if course is not None:
            course.episode[row] = np.where(state.live[here], state.episode[here], -1)
        _judge(state, here, row, candidates, judge)
        if course is not None:
            counted = course.episode[row] >= 0
            course.confidence[row[counted]] = _confidence(
                state, here[counted], trials.local[row[counted]], settings
            )
    _expire(state, np.arange(len(candidates)), now, judge)
    return state


@dataclass(frozen=True, eq=False)
class _Judge:
    """Whether what was seen is more than chance, and usual."""

    candidates: Candidates
    settings: Settings

    def is_significant(self, state: State, of: Ints) -> Flags:
        tail = binomial_tail(
            state.all_support[of], state.all_opportunities[of], self.candidates.null_rate[of]
        )
        rate = state.support[of] / np.maximum(state.opportunities[of], 1)
        distinct = rate - self.candidates.null_rate[of] >= self.settings.distinct_margin
        return distinct & (
            tail <= allowed(self.candidates.type, self.candidates.hypotheses[of], self.settings)
        )

    def is_usual(self, state: State, of: Ints) -> Flags:
        return surely_above(state.vote_support[of], state.vote_opportunities[of]) > self.settings.usual_rate


def _expire(state: State, here: Ints, now: Ints, judge: _Judge) -> None:
    """Expire those whose confidence fell below the threshold before `now`, at the moment when it did."""
    due = _decays_from(state, here, judge.settings)
    late = state.live[here] & (now > due)
    of, at, due = here[late], now[late], due[late]
    if not len(of):
        return
    settings = judge.settings
    days = days_until_expiry(state.components(of, settings).confidence(settings), settings)
    gone = (at - due) / MICROSECONDS_PER_DAY > days
    if not gone.any():
        return
    of, due, days = of[gone], due[gone], days[gone]
    when = np.maximum(due + np.ceil(days * MICROSECONDS_PER_DAY).astype(np.int64), state.last[of])
    state.change(
        of, when, Status.expired, "not seen since it was due", np.full(len(of), settings.expiry_threshold)
    )
    state.expired[of] = when
    state.live[of] = False


def _take(
    state: State, here: Ints, row: Ints, candidates: Candidates, votes: Floats, settings: Settings
) -> None:
    """Count one trial of each candidate."""
    trials = candidates.trials
    hit, local, vote = trials.hit[row], trials.local[row], votes[row]
    begins = hit & ~state.live[here]
    if begins.any():
        _begin(state, here[begins], row[begins], local[begins], trials.event[row[begins]])
    counts = state.live[here]
    here, row, hit, local, vote = here[counts], row[counts], hit[counts], local[counts], vote[counts]
    # A later episode's first support says nothing of chance: without it there would be no episode.
    evidence = np.where((state.support[here] == 0) & (state.all_opportunities[here] > 0), 0.0, vote)
    state.opportunities[here] += 1
    state.vote_opportunities[here] += vote
    state.all_opportunities[here] += evidence

    kept, when = here[hit], local[hit]
    state.support[kept] += 1
    state.vote_support[kept] += vote[hit]
    state.all_support[kept] += evidence[hit]
    fresh = _is_new(when, state.recent[kept, 0])
    new, then = kept[fresh], when[fresh]
    state.occasions[new] += 1
    state.recent[new, 1:] = state.recent[new, :-1]
    state.recent[new, 0] = then
    state.last[kept] = when
    state.due[kept] = trials.next_due[row[hit]]
    if settings.forgive_contradictions:
        state.contradictions[kept] = np.maximum(state.contradictions[kept] - 1, 0)

    # As supports within an hour are one occasion, misses within an hour are one contradiction.
    missed, when = here[~hit], local[~hit]
    counts = _is_new(when, state.missed[missed])
    state.contradictions[missed[counts]] += 1
    state.missed[missed[counts]] = when[counts]


def _is_new(when: Ints, latest: Ints) -> Flags:
    """(n,) whether a wall clock lies an hour or more after the latest that counted."""
    new: Flags = (latest == NEVER) | (when - np.where(latest == NEVER, 0, latest) >= OCCASION_GAP)
    return new


def _begin(state: State, of: Ints, row: Ints, local: Ints, event: Ints) -> None:
    """Begin a new episode from nothing."""
    for counter in (state.support, state.opportunities, state.occasions, state.contradictions):
        counter[of] = 0
    for votes in (state.vote_support, state.vote_opportunities):
        votes[of] = 0.0
    for clock in (state.last, state.missed, state.confirmed, state.expired):
        clock[of] = NEVER
    state.recent[of] = NEVER
    state.confirmed_event[of] = -1
    state.first[of] = local
    state.episode[of] = row
    returns = state.status[of] == Status.expired
    for who, reason in ((returns, "seen again"), (~returns, "first seen")):
        if who.any():
            state.change(of[who], local[who], Status.tracking, reason, np.zeros(who.sum()), event[who])
    state.live[of] = True


def _judge(state: State, here: Ints, row: Ints, candidates: Candidates, judge: _Judge) -> None:
    """Confirm, demote or expire what the trial just counted has decided."""
    settings, trials = judge.settings, candidates.trials
    live = state.live[here]
    here, row = here[live], row[live]
    hit, local, event = trials.hit[row], trials.local[row], trials.event[row]
    tracking = state.status[here] == Status.tracking
    ready = hit & tracking & (state.occasions[here] >= settings.confirmation_count)
    # A support of what is confirmed, or of what was seen too seldom, decides nothing.
    decides = ready | ~hit
    if not decides.any():
        return
    here, hit, local, event, ready = (
        here[decides],
        hit[decides],
        local[decides],
        event[decides],
        ready[decides],
    )
    confidence = _confidence(state, here, local, settings)
    ready &= confidence >= settings.confirmation_threshold
    ready[ready] = judge.is_significant(state, here[ready]) & judge.is_usual(state, here[ready])
    if ready.any():
        of = here[ready]
        state.change(of, local[ready], Status.confirmed, "kept often enough", confidence[ready], event[ready])
        state.contradictions[of] = 0
        state.confirmed[of] = local[ready]
        state.confirmed_event[of] = event[ready]

    doubtful = ~hit & (state.status[here] == Status.confirmed)
    if doubtful.any():
        broken = doubtful & (state.contradictions[here] >= settings.contradiction_limit)
        _demote(state, here[broken], local[broken], confidence[broken], "contradicted")
        chance = doubtful & ~broken
        chance[chance] = ~judge.is_significant(state, here[chance])
        _demote(state, here[chance], local[chance], confidence[chance], "no longer more than chance")
        # A demotion takes the occasions away, and with them confidence: what is left may be too little.
        confidence = _confidence(state, here, local, settings)

    gone = ~hit & (confidence < settings.expiry_threshold)
    if gone.any():
        of = here[gone]
        state.change(of, local[gone], Status.expired, "kept too seldom", confidence[gone])
        state.expired[of] = local[gone]
        state.live[of] = False


def _demote(state: State, of: Ints, local: Ints, confidence: Floats, reason: str) -> None:
    if len(of):
        state.change(of, local, Status.tracking, reason, confidence)
        state.contradictions[of] = 0
        state.occasions[of] = 0
        state.confirmed[of] = NEVER
        state.confirmed_event[of] = -1


def _confidence(state: State, of: Ints, local: Ints, settings: Settings) -> Floats:
    undecayed = state.components(of, settings).confidence(settings)
    return undecayed * decay(local, _decays_from(state, of, settings), settings)


def _decays_from(state: State, of: Ints, settings: Settings) -> Ints:
    return state.last[of] if settings.decay_by_calendar else state.due[of]


def _standing(state: State, now: Ints, settings: Settings) -> Standing:
    everyone = np.arange(len(state.status))
    parts = state.components(everyone, settings)
    began = state.episode >= 0
    confidence = parts.confidence(settings)
    due = _decays_from(state, everyone, settings)
    confidence[began] *= decay(now[began], due[began], settings)
    return Standing(
        began=began,
        status=state.status,
        episode=state.episode,
        support=state.support,
        opportunities=state.opportunities,
        occasions=state.occasions,
        contradictions=state.contradictions,
        first=state.first,
        last=state.last,
        due=state.due,
        confirmed=state.confirmed,
        confirmed_event=state.confirmed_event,
        expired=state.expired,
        vote_support=state.vote_support,
        vote_opportunities=state.vote_opportunities,
        all_support=state.all_support,
        all_opportunities=state.all_opportunities,
        components=parts,
        confidence=confidence,
        transitions=tuple(sorted(state.transitions, key=lambda t: (t.candidate, t.local))),
    )
