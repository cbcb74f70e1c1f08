"""Lifecycle: when a pattern is confirmed, when it is demoted, and when a habit expires (design, section 5).

::

                five occasions, confidence ≥ 0.7,
                more than chance, usually kept
     tracking ───────────────────────────────────► confirmed
        ▲  │ ◄───────────────────────────────────────  │
        │  │      three unforgiven contradictions,     │
        │  │      or no longer more than chance        │
        │  └──────────────► expired ◄──────────────────┘
        └── seen again: new episode    confidence < 0.3

**When a habit expires.** When its confidence falls below `Settings.expiry_threshold` (0.3). That happens in two ways:

- *not seen since it was due* (`_expire_overdue`): each day past its due date leaves 95 % of its confidence
  (`Settings.decay_rate`), so it expires at most 23.5 days late (`patterns.inference.confidence.days_until_expiry`). Nothing is
  due in a holiday (`patterns.eventlog.log.ActiveDays.after_holiday`);
- *kept too seldom* (`_expire_unkept`): a missed opportunity takes consistency, and with it confidence, below the threshold.

`Prospect.expires` is the date on which a pattern expires unless it is seen before. If it recurs later, counting restarts in
a new episode.

**How it is computed.** A fold over each candidate's trials, in time order. All candidates are folded side by side: step j
takes the j-th trial of every candidate that has one, so the Python loop runs over steps and not over trials. Within a
step, time passes first (expiry), then the trial is counted, then the status follows from the counts.

The components of confidence are counted over the episode: from its first support to now. Significance is judged by all
episodes, for a pause does not turn earlier evidence into chance. A demotion ends no episode; it resets the count of
occasions, so five new ones are needed, while the rate is still judged by all trials.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from observations.civil_time import MICROSECONDS_PER_DAY
from patterns.candidates import Candidates, Trials
from patterns.eventlog.arrays import Flags, Floats, Ints, Rows
from patterns.eventlog.log import OCCASION_GAP
from patterns.inference.confidence import NEVER, Components, days_until_expiry, decay
from patterns.inference.lifecycle_state import State, Status, Transition
from patterns.inference.significance import allowed, binomial_tail, surely_above
from patterns.settings import Settings


@dataclass(frozen=True, eq=False)
class Standing:
    """The status of each candidate at the evaluation time, and its counts; every array is (candidates,).

    Attributes:
        began: True if it has any support; the other arrays are undefined where it has none.
        episode: index in the trials of the first support of the current episode.
        confirmed, expired: wall clock of the last such change in this episode, µs; `NEVER` if there is none.
        confirmed_event: the event at which it was confirmed; -1 if there is none.
        vote_support, vote_opportunities: support and opportunities in votes (see `Trials.votes`).
        all_support, all_opportunities: the same over all episodes, for significance; without the first support of
            later episodes, for an episode begins with one by definition.
        due: wall clock by which it is next due, µs.
        confidence: after decay.

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
    """The course of each candidate; every array is (trials,).

    Attributes:
        episode: index in the trials of the first support of the episode that the trial belongs to; -1 if it
            belongs to none.
        confidence: right after the trial; nan if the trial belongs to no episode.

    """

    episode: Ints
    confidence: Floats


@dataclass(frozen=True, eq=False)
class Prospect:
    """What happens next; every array is (candidates,).

    Attributes:
        if_kept, if_missed: the status after one more support, or one more miss, when it is next due.
        expires: wall clock at which it expires unless it is seen, µs; `NEVER` if it is expired or never expires.

    """

    if_kept: Ints
    if_missed: Ints
    expires: Ints


def fold(candidates: Candidates, now: Ints, settings: Settings) -> Standing:
    """The standing of each candidate at the wall clock `now` (candidates,), µs."""
    return _standing(_run(_Criteria(candidates, settings), now), now, settings)


def fold_fully(candidates: Candidates, now: Ints, settings: Settings) -> tuple[Standing, Course, Prospect]:
    """The standing of each candidate, as `fold` returns it, its course, and what happens next."""
    trials = len(candidates.trials.candidate)
    course = Course(np.full(trials, -1, dtype=np.int64), np.full(trials, np.nan))
    criteria = _Criteria(candidates, settings)
    state = _run(criteria, now, course)
    prospect = Prospect(
        if_kept=_after_one_more(state, True, criteria, now),
        if_missed=_after_one_more(state, False, criteria, now),
        expires=_expires(state, settings),
    )
    return _standing(state, now, settings), course, prospect


def _after_one_more(state: State, hit: bool, criteria: _Criteria, now: Ints) -> Ints:
    """(candidates,) the status after one more support, or one more miss, when it is next due."""
    imagined, everyone = state.copy(), np.arange(len(criteria.candidates))
    due = np.maximum(state.due, now)
    more = Trials(
        candidate=everyone, local=due, hit=np.full(len(everyone), hit), event=everyone * 0 - 1, next_due=due
    )
    criteria = replace(criteria, candidates=replace(criteria.candidates, trials=more))
    _count(imagined, everyone, everyone, np.ones(len(everyone)), criteria)
    _decide(imagined, everyone, everyone, criteria)
    return imagined.status


def _expires(state: State, settings: Settings) -> Ints:
    """(candidates,) as `Prospect.expires`."""
    everyone = np.arange(len(state.status))
    days = days_until_expiry(state.components(everyone, settings).confidence(settings), settings)
    ends = state.live & np.isfinite(days)
    late = np.ceil(np.where(ends, days, 0) * MICROSECONDS_PER_DAY).astype(np.int64)
    return np.where(ends, _decays_from(state, everyone, settings) + late, NEVER)


def _run(criteria: _Criteria, now: Ints, course: Course | None = None) -> State:
    """The state of each candidate at the wall clock `now`; the course is written to `course`."""
    trials, settings = criteria.candidates.trials, criteria.settings
    state = State.fresh(len(criteria.candidates))
    votes = trials.votes().astype(np.float64)
    start = np.searchsorted(trials.candidate, np.arange(len(criteria.candidates) + 1))
    length = np.diff(start)
    # Longest first: at step j the candidates that still have a trial are a prefix.
    by_length = np.argsort(-length, kind="stable")
    remaining = length[by_length]
    for step in range(int(length.max(initial=0))):
        here = by_length[: np.searchsorted(-remaining, -step, side="left")]
        row = start[here] + step
        _expire_overdue(state, here, trials.local[row], settings)
        _count(state, here, row, votes, criteria)
        episode = np.where(state.live[here], state.episode[here], -1)
        _decide(state, here, row, criteria)
        if course is not None:
            course.episode[row] = episode
            here, row = here[episode >= 0], row[episode >= 0]
            course.confidence[row] = _confidence(state, here, trials.local[row], settings)
    _expire_overdue(state, np.arange(len(criteria.candidates)), now, settings)
    return state


@dataclass(frozen=True, eq=False)
class _Criteria:
    """The criteria for confirmation: more than chance, and usually kept."""

    candidates: Candidates
    settings: Settings

    def is_significant(self, state: State, of: Ints) -> Flags:
        tail = binomial_tail(
            state.all_support[of], state.all_opportunities[of], self.candidates.null_rate[of]
        )
        rate = state.support[of] / np.maximum(state.opportunities[of], 1)
        distinct = rate - self.candidates.null_rate[of] >= self.settings.distinct_margin
        return distinct & (tail <= allowed(self.candidates.hypotheses[of], self.settings))

    def is_usual(self, state: State, of: Ints) -> Flags:
        return surely_above(state.vote_support[of], state.vote_opportunities[of]) > self.settings.usual_rate


@dataclass(frozen=True, eq=False)
class _Moments(Rows):
    """Candidates at the moment at which something is decided about them; every array is (n,).

    Attributes:
        of: the candidate.
        local: wall clock, µs.
        event: the event, or -1.
        confidence: at that moment.
    """

    of: Ints
    local: Ints
    event: Ints
    confidence: Floats


def _expire_overdue(state: State, here: Ints, now: Ints, settings: Settings) -> None:
    """Expire those whose confidence has decayed below the threshold by `now`, at the moment at which it did.

    They were not seen since they were due. See "When a habit expires" in the module.
    """
    due = _decays_from(state, here, settings)
    late = state.live[here] & (now > due)
    of, at, due = here[late], now[late], due[late]
    if not len(of):
        return
    days = days_until_expiry(state.components(of, settings).confidence(settings), settings)
    gone = (at - due) / MICROSECONDS_PER_DAY > days
    if not gone.any():
        return
    of, due, days = of[gone], due[gone], days[gone]
    when = np.maximum(due + np.ceil(days * MICROSECONDS_PER_DAY).astype(np.int64), state.last[of])
    threshold = np.full(len(of), settings.expiry_threshold)
    _expire(
        state,
        _Moments(of=of, local=when, event=of * 0 - 1, confidence=threshold),
        "not seen since it was due",
    )


def _expire_unkept(state: State, missed: _Moments, settings: Settings) -> None:
    """Expire those whose confidence a miss has taken below the threshold. See "When a habit expires" in the module."""
    gone = missed.confidence < settings.expiry_threshold
    if gone.any():
        _expire(state, missed[gone], "kept too seldom")


def _expire(state: State, gone: _Moments, reason: str) -> None:
    state.change(gone.of, gone.local, Status.expired, reason, gone.confidence)
    state.expired[gone.of] = gone.local
    state.live[gone.of] = False


def _count(state: State, here: Ints, row: Ints, votes: Floats, criteria: _Criteria) -> None:
    """Count one trial of each candidate, and begin an episode with the first support of those that have none."""
    trials = criteria.candidates.trials
    begins = trials.hit[row] & ~state.live[here]
    if begins.any():
        first = row[begins]
        _begin(state, here[begins], first, trials.local[first], trials.event[first])
    counts = state.live[here]
    here, row = here[counts], row[counts]
    hit, vote = trials.hit[row], votes[row]
    # A later episode begins with a support by definition, so that one is no evidence.
    evidence = np.where((state.support[here] == 0) & (state.all_opportunities[here] > 0), 0.0, vote)
    state.opportunities[here] += 1
    state.vote_opportunities[here] += vote
    state.all_opportunities[here] += evidence
    state.vote_support[here[hit]] += vote[hit]
    state.all_support[here[hit]] += evidence[hit]
    _count_supports(state, here[hit], row[hit], criteria)
    _count_misses(state, here[~hit], trials.local[row[~hit]])


def _count_supports(state: State, kept: Ints, row: Ints, criteria: _Criteria) -> None:
    trials = criteria.candidates.trials
    when = trials.local[row]
    state.support[kept] += 1
    fresh = _is_new(when, state.recent[kept, 0])
    new = kept[fresh]
    state.occasions[new] += 1
    state.recent[new, 1:] = state.recent[new, :-1]
    state.recent[new, 0] = when[fresh]
    state.last[kept] = when
    state.due[kept] = trials.next_due[row]
    if criteria.settings.forgive_contradictions:
        state.contradictions[kept] = np.maximum(state.contradictions[kept] - 1, 0)


def _count_misses(state: State, missed: Ints, when: Ints) -> None:
    """Misses within an hour are one contradiction, as supports within an hour are one occasion."""
    counts = _is_new(when, state.missed[missed])
    state.contradictions[missed[counts]] += 1
    state.missed[missed[counts]] = when[counts]


def _is_new(when: Ints, latest: Ints) -> Flags:
    """(n,) True for a wall clock an hour or more after the latest that counted."""
    new: Flags = (latest == NEVER) | (when - np.where(latest == NEVER, 0, latest) >= OCCASION_GAP)
    return new


def _begin(state: State, of: Ints, row: Ints, local: Ints, event: Ints) -> None:
    """Begin a new episode: counting restarts."""
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


def _decide(state: State, here: Ints, row: Ints, criteria: _Criteria) -> None:
    """Confirm, demote or expire each candidate whose trial, just counted, changes its status."""
    settings, trials = criteria.settings, criteria.candidates.trials
    live = state.live[here]
    here, row = here[live], row[live]
    hit = trials.hit[row]
    tracking = state.status[here] == Status.tracking
    ready = hit & tracking & (state.occasions[here] >= settings.confirmation_count)
    # A support decides nothing for a confirmed pattern, nor for one with too few occasions.
    decides = ready | ~hit
    if not decides.any():
        return
    here, row, hit = here[decides], row[decides], hit[decides]
    confidence = _confidence(state, here, trials.local[row], settings)
    moments = _Moments(of=here, local=trials.local[row], event=trials.event[row], confidence=confidence)
    _confirm(state, moments[hit], criteria)
    _expire_unkept(state, _demote(state, moments[~hit], criteria), settings)


def _confirm(state: State, ready: _Moments, criteria: _Criteria) -> None:
    """Confirm those of the ready ones that have enough confidence, are more than chance, and usual."""
    ready = ready[ready.confidence >= criteria.settings.confirmation_threshold]
    ready = ready[criteria.is_significant(state, ready.of) & criteria.is_usual(state, ready.of)]
    if len(ready):
        state.change(
            ready.of, ready.local, Status.confirmed, "kept often enough", ready.confidence, ready.event
        )
        state.contradictions[ready.of] = 0
        state.confirmed[ready.of] = ready.local
        state.confirmed_event[ready.of] = ready.event


def _demote(state: State, missed: _Moments, criteria: _Criteria) -> _Moments:
    """Demote confirmed ones that were contradicted too often or are no longer more than chance; the same, with the confidence left."""
    doubtful = state.status[missed.of] == Status.confirmed
    if not doubtful.any():
        return missed
    broken = doubtful & (state.contradictions[missed.of] >= criteria.settings.contradiction_limit)
    _back_to_tracking(state, missed[broken], "contradicted")
    chance = doubtful & ~broken
    chance[chance] = ~criteria.is_significant(state, missed.of[chance])
    _back_to_tracking(state, missed[chance], "no longer more than chance")
    # A demotion resets the occasions, which lowers confidence.
    return replace(missed, confidence=_confidence(state, missed.of, missed.local, criteria.settings))


def _back_to_tracking(state: State, demoted: _Moments, reason: str) -> None:
    if len(demoted):
        state.change(demoted.of, demoted.local, Status.tracking, reason, demoted.confidence)
        state.contradictions[demoted.of] = 0
        state.occasions[demoted.of] = 0
        state.confirmed[demoted.of] = NEVER
        state.confirmed_event[demoted.of] = -1


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
