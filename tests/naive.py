"""Slow, obvious versions of what `patterns` does fast: one thing at a time, in plain Python, to hold it against.

Written from the design and the contract, not from the code, so that a mistake would have to be made twice.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from scipy import stats

from patterns.settings import Settings

HOUR = 3_600_000_000
DAY = 24 * HOUR

beta = stats.beta  # type: ignore[attr-defined] # scipy makes it at import


# --- lifecycle (design, sections 4 and 5) ---------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One opportunity with a known outcome; times are wall clocks in µs."""

    local: int
    hit: bool
    event: int
    next_due: int


@dataclass(frozen=True)
class Change:
    """One line of the journal."""

    local: int
    before: str | None
    after: str
    reason: str
    event: int


@dataclass
class Pattern:
    """What is known of one candidate; the fields are those of `patterns.inference.lifecycle.Standing`."""

    status: str = "tracking"
    live: bool = False
    began: bool = False
    episode: int = -1
    support: int = 0
    opportunities: int = 0
    vote_support: float = 0.0
    vote_opportunities: float = 0.0
    all_support: float = 0.0
    all_opportunities: float = 0.0
    occasions: int = 0
    contradictions: int = 0
    missed: int | None = None
    times: list[int] = field(default_factory=list)  # of occasions, demotions notwithstanding
    first: int = 0
    last: int = 0
    due: int = 0
    confirmed: int | None = None
    confirmed_event: int = -1
    expired: int | None = None
    journal: list[Change] = field(default_factory=list)

    def to(self, status: str, local: int, reason: str, event: int = -1) -> None:
        """Change the status, and add it to the journal."""
        begins = status == "tracking" and not self.live
        self.journal.append(Change(local, None if begins else self.status, status, reason, event))
        self.status = status


def votes(trials: Sequence[Trial]) -> list[float]:
    """What each trial counts for: one, if it comes an hour or more after the last that counted, else nothing."""
    counted: list[float] = []
    last: int | None = None
    for trial in trials:
        counts = last is None or trial.local - last >= HOUR
        counted.append(1.0 if counts else 0.0)
        if counts:
            last = trial.local
    return counted


def formula(pattern: Pattern, settings: Settings) -> float:
    """Confidence before decay."""
    lately = pattern.times[-5:]
    fresh = [settings.decay_rate ** ((pattern.last - t) / DAY) for t in lately]
    count = min(pattern.occasions / settings.confirmation_count, 1)
    recency = sum(fresh) / len(fresh)
    consistency = pattern.support / pattern.opportunities
    span = min((pattern.last - pattern.first) / DAY / settings.span_days_target, 1)
    return float(
        settings.weight_count * count
        + settings.weight_recency * recency
        + settings.weight_consistency * consistency
        + settings.weight_span * span
    )


def confidence_at(pattern: Pattern, now: int, settings: Settings) -> float:
    """Confidence with decay."""
    since = pattern.last if settings.decay_by_calendar else pattern.due
    return float(formula(pattern, settings) * settings.decay_rate ** (max(now - since, 0) / DAY))


def is_more_than_chance(pattern: Pattern, null: float, hypotheses: float, settings: Settings) -> bool:
    """The binomial tail, corrected for five detectors and all their hypotheses; and the margin."""
    k, n = pattern.all_support, pattern.all_opportunities
    tail = beta.cdf(null, k, n - k + 1) if k > 0 else 1.0
    margin = pattern.support / pattern.opportunities - null
    return bool(
        tail <= settings.false_confirmation_rate / 5 / max(hypotheses, 1)
        and margin >= settings.distinct_margin
    )


def is_usual(pattern: Pattern, settings: Settings) -> bool:
    """Kept more often than `usual_rate`, with 90 % certainty under Jeffreys' prior."""
    k, n = pattern.vote_support, pattern.vote_opportunities
    return bool(k > 0 and beta.ppf(0.1, k + 0.5, n - k + 0.5) > settings.usual_rate)


def expire_by(pattern: Pattern, now: int, settings: Settings) -> None:
    """Let time pass: the moment at which confidence fell below the threshold, if it was before `now`."""
    if not pattern.live or confidence_at(pattern, now, settings) >= settings.expiry_threshold:
        return
    since = pattern.last if settings.decay_by_calendar else pattern.due
    if now <= since:
        return
    left = math.log(settings.expiry_threshold / formula(pattern, settings)) / math.log(settings.decay_rate)
    moment = since + math.ceil(max(left, 0) * DAY)
    pattern.expired = max(moment, pattern.last)
    pattern.to("expired", pattern.expired, "not seen since it was due")
    pattern.live = False


def begin(pattern: Pattern, trial: Trial, place: int) -> None:
    """A new episode, from nothing."""
    pattern.to(
        "tracking", trial.local, "seen again" if pattern.status == "expired" else "first seen", trial.event
    )
    pattern.began = pattern.live = True
    pattern.episode, pattern.first = place, trial.local
    pattern.support = pattern.opportunities = pattern.occasions = pattern.contradictions = 0
    pattern.vote_support = pattern.vote_opportunities = 0.0
    pattern.times = []
    pattern.missed = pattern.confirmed = pattern.expired = None
    pattern.confirmed_event = -1


def count(pattern: Pattern, trial: Trial, vote: float, settings: Settings) -> None:
    """Count one trial of a running episode."""
    evidence = 0.0 if pattern.support == 0 and pattern.all_opportunities > 0 else vote
    pattern.opportunities += 1
    pattern.vote_opportunities += vote
    pattern.all_opportunities += evidence
    if not trial.hit:
        if pattern.missed is None or trial.local - pattern.missed >= HOUR:
            pattern.contradictions += 1
            pattern.missed = trial.local
        return
    pattern.vote_support += vote
    pattern.all_support += evidence
    if not pattern.times or trial.local - pattern.times[-1] >= HOUR:
        pattern.occasions += 1
        pattern.times.append(trial.local)
    pattern.support += 1
    pattern.last, pattern.due = trial.local, trial.next_due
    if settings.forgive_contradictions:
        pattern.contradictions = max(pattern.contradictions - 1, 0)


def demote(pattern: Pattern, trial: Trial, reason: str) -> None:
    """Back to tracking: the counter starts again, five new occasions are needed."""
    pattern.to("tracking", trial.local, reason)
    pattern.contradictions = pattern.occasions = 0
    pattern.confirmed, pattern.confirmed_event = None, -1


def decide(pattern: Pattern, trial: Trial, null: float, hypotheses: float, settings: Settings) -> None:
    """What follows from a trial that was just counted."""
    confidence = confidence_at(pattern, trial.local, settings)
    if trial.hit:
        if (
            pattern.status == "tracking"
            and pattern.occasions >= settings.confirmation_count
            and confidence >= settings.confirmation_threshold
            and is_more_than_chance(pattern, null, hypotheses, settings)
            and is_usual(pattern, settings)
        ):
            pattern.to("confirmed", trial.local, "kept often enough", trial.event)
            pattern.confirmed, pattern.confirmed_event = trial.local, trial.event
            pattern.contradictions = 0
        return
    if pattern.status == "confirmed":
        if pattern.contradictions >= settings.contradiction_limit:
            demote(pattern, trial, "contradicted")
        elif not is_more_than_chance(pattern, null, hypotheses, settings):
            demote(pattern, trial, "no longer more than chance")
    confidence = confidence_at(pattern, trial.local, settings)  # a demotion takes from it
    if confidence < settings.expiry_threshold:
        pattern.to("expired", trial.local, "kept too seldom")
        pattern.expired, pattern.live = trial.local, False


def fold_one(
    trials: Sequence[Trial], now: int, null: float, hypotheses: float, settings: Settings
) -> Pattern:
    """How one candidate stands at `now`."""
    pattern = Pattern()
    for place, (trial, vote) in enumerate(zip(trials, votes(trials), strict=True)):
        expire_by(pattern, trial.local, settings)
        if trial.hit and not pattern.live:
            begin(pattern, trial, place)
        if pattern.live:
            count(pattern, trial, vote, settings)
            decide(pattern, trial, null, hypotheses, settings)
    expire_by(pattern, now, settings)
    return pattern


# --- episodes -------------------------------------------------------------------------------------------------


def best_span(positions: Sequence[int], contrast: float) -> tuple[int, int]:
    """The span of hits with the largest likelihood ratio, tried one by one; the rate is estimated twice.

    Of spans that are equally good, the one that ends first; of those, the shortest.
    """
    first, last = 0, len(positions) - 1
    for _ in range(2):
        rate = (last - first + 1) / (positions[last] - positions[first] + 1)
        rate = min(max(rate, 0.01), 0.98)
        best = -math.inf
        for end in range(len(positions)):
            for start in range(end, -1, -1):
                value = span_value(positions[start : end + 1], rate, contrast)
                if value > best + 1e-9:
                    best, chosen = value, (start, end)
        first, last = chosen
    return first, last


def span_value(positions: Sequence[int], rate: float, contrast: float) -> float:
    """Log likelihood ratio of a span: "kept at `rate`" against "kept `contrast` times more seldom"."""
    hits = len(positions)
    misses = positions[-1] - positions[0] + 1 - hits
    return hits * math.log(contrast) - misses * math.log((1 - rate / contrast) / (1 - rate))


# --- selection ------------------------------------------------------------------------------------------------


def keep_once(
    gains: Sequence[float], evidence: Sequence[Collection[Hashable]], own_share: float
) -> list[int]:
    """Greedy cover for one person: which candidates are kept, in ascending order.

    Args:
        gains: what each candidate explains.
        evidence: what each rests on, repetitions and all.
        own_share: how much of its evidence must be its own.

    """
    kept: list[int] = []
    taken: set[Hashable] = set()
    waiting = set(range(len(gains)))
    while waiting:
        best = min(waiting, key=lambda c: (-gains[c], c))
        kept.append(best)
        taken |= set(evidence[best])
        waiting.discard(best)
        waiting = {
            c for c in waiting if sum(e not in taken for e in evidence[c]) >= own_share * len(evidence[c])
        }
    return sorted(kept)


# --- rules (contract, section 3) ------------------------------------------------------------------------------


def matches(event: Mapping[str, object], where: Mapping[str, object]) -> bool:
    """True if every field equals the value; a list must contain it."""
    for name, value in where.items():
        has = event.get(name)
        if not (value in has if isinstance(has, list) else has == value):
            return False
    return True
