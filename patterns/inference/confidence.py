"""Confidence: one formula from four components, and its decay past the due date (design, section 4).

``confidence = 0.4·count + 0.2·recency + 0.3·consistency + 0.1·span``, times 0.95 for each day past due.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from observations.civil_time import MICROSECONDS_PER_DAY
from patterns.eventlog.arrays import Floats, Ints, Rows
from patterns.settings import Settings

RECENT = 5
"""Recency is computed from the last five occasions."""


@dataclass(frozen=True, eq=False)
class Components:
    """The four components, each (n,) and within 0–1."""

    count: Floats
    recency: Floats
    consistency: Floats
    span: Floats

    def confidence(self, settings: Settings) -> Floats:
        """(n,) the weighted sum, before decay."""
        weighted: Floats = (
            settings.weight_count * self.count
            + settings.weight_recency * self.recency
            + settings.weight_consistency * self.consistency
            + settings.weight_span * self.span
        )
        return weighted


@dataclass(frozen=True, eq=False)
class Counts(Rows):
    """The counts that the components are computed from; every array is (n,), `recent` is (n, 5).

    Attributes:
        occasions: supports an hour or more apart that count towards confirmation.
        recent: wall clocks of the last occasions, µs, newest first; `NEVER` where there are fewer.
        support, opportunities: since the episode began.
        first, last: wall clock of the first and last support, µs.
    """

    occasions: Ints
    recent: Ints
    support: Ints
    opportunities: Ints
    first: Ints
    last: Ints

    def components(self, settings: Settings) -> Components:
        """The components of the confidence of n patterns."""
        known = self.recent != NEVER
        age = np.where(known, (self.last[:, None] - self.recent) / MICROSECONDS_PER_DAY, 0.0)
        fresh = np.where(known, settings.decay_rate**age, 0.0).sum(axis=1)
        days = (self.last - self.first) / MICROSECONDS_PER_DAY
        return Components(
            count=np.minimum(self.occasions / settings.confirmation_count, 1.0),
            recency=fresh / np.maximum(known.sum(axis=1), 1),
            consistency=self.support / np.maximum(self.opportunities, 1),
            span=np.clip(days / settings.span_days_target, 0.0, 1.0),
        )


NEVER = np.iinfo(np.int64).min
"""The wall clock of what never happened."""


def decay(now: Ints, due: Ints, settings: Settings) -> Floats:
    """(n,) the share of confidence left at the wall clock `now` of patterns due at `due` (both µs)."""
    late = np.maximum(now - due, 0) / MICROSECONDS_PER_DAY
    return np.asarray(settings.decay_rate**late, dtype=np.float64)


def days_until_expiry(confidence: Floats, settings: Settings) -> Floats:
    """(n,) days past due after which this confidence falls to the expiry threshold; 0 where it is below.

    >>> round(float(days_until_expiry(np.array([1.0]), Settings())[0]), 1)
    23.5
    """
    if settings.decay_rate >= 1 or settings.expiry_threshold <= 0:
        return np.where(confidence < settings.expiry_threshold, 0.0, np.inf)
    with np.errstate(divide="ignore"):
        days = np.log(settings.expiry_threshold / confidence) / np.log(settings.decay_rate)
    return np.asarray(np.maximum(days, 0.0), dtype=np.float64)
