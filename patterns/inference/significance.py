"""Is it more than chance? One binomial tail, one correction, one promise.

**Null.** Each detector estimates, for each candidate, how often one trial would succeed if the behaviour were chance
and everything else about the person stayed as it is (`null_rate`). The p-value is the probability of at least
the observed successes in as many independent trials: an upper binomial tail. Of trials within an hour
one counts.

**Correction.** A detector looks at very many rules and shows the best; so the p-value is held against
``rate · budget / hypotheses`` (weighted Bonferroni: Genovese, Roeder & Wasserman 2006): `rate` is the promise (0.05 by
default), `budget` the type's share of it (`patterns.registry`), `hypotheses` all the rules of that type the detector could have
proposed for that person, from the data's size alone. Bonferroni needs no independence between the rules, and one
person's answer does not depend on another's.

**Promise.** The probability that anything at all is confirmed about a person without habits is at most 5 %.

Source: binomial tail by the regularised incomplete beta function, Abramowitz & Stegun 26.5.24; the interval is
the equal-tailed posterior under Jeffreys' prior (Brown, Cai & DasGupta 2001, section 4.3).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from patterns.eventlog.arrays import Flags, Floats, Ints
from patterns.settings import Settings

CERTAINTY = 0.9
"""The probability with which a habit must be kept more often than `Settings.usual_rate`."""


def binomial_tail(successes: Floats, trials: Floats, rate: Floats) -> Floats:
    """P(at least `successes` of `trials`) at this rate; 1 where there are no successes.

    Weighted (non-integer) counts are interpolated by the beta function.

    >>> float(binomial_tail(np.array([5.0]), np.array([5.0]), np.array([0.5]))[0])
    0.03125
    """
    successes = np.asarray(successes, dtype=np.float64)
    some = successes > 0
    tail = special.betainc(np.where(some, successes, 1.0), np.maximum(trials - successes, 0.0) + 1.0, rate)
    return np.where(some, tail, 1.0)


def likelihood_gain(successes: Ints | Floats, trials: Ints | Floats, rate: Floats) -> Floats:
    """Nats of the likelihood of the successes at their own rate over that at the null's `rate`.

    It bounds the tail: where there are more successes than expected, ``binomial_tail <= exp(-gain)`` (Chernoff).
    """
    own = np.asarray(successes / np.maximum(trials, 1), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(successes > 0, successes * np.log(own / rate), 0.0)
        misses = np.where(trials > successes, (trials - successes) * np.log((1 - own) / (1 - rate)), 0.0)
    gain: Floats = hits + misses
    return gain


def allowed(hypotheses: Floats, settings: Settings) -> Floats:
    """The p-value that a candidate must not exceed, given how many rules of its type were looked at.

    Args:
        hypotheses: (n,) how many.
        settings: those of the type (`Settings.of_type`): its share of the promised rate.
    """
    return settings.false_confirmation_rate / np.maximum(hypotheses, 1.0)


def is_certain(gain: Floats, hypotheses: Floats, settings: Settings) -> Flags:
    """(n,) True if a likelihood gain suffices for significance after correction: a bound, fast to compute."""
    certain: Flags = gain > -np.log(allowed(hypotheses, settings))
    return certain


def can_be_usual(rate: Floats, null: Floats, settings: Settings) -> Flags:
    """(n,) True if a behaviour kept at this rate can be confirmed at all, however long it goes on."""
    usual: Flags = (rate >= settings.usual_rate) & (rate - null >= settings.distinct_margin)
    return usual


def surely_above(successes: Floats, trials: Floats) -> Floats:
    """(n,) the rate that is exceeded with 90 % certainty (Jeffreys); 0 without successes.

    >>> round(float(surely_above(np.array([5.0]), np.array([5.0]))[0]), 2)
    0.77
    """
    misses = np.maximum(trials - successes, 0.0)
    above = special.betaincinv(successes + 0.5, misses + 0.5, 1 - CERTAINTY)
    return np.where(successes > 0, above, 0.0)


def rate_interval(successes: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """95 % interval of the rate at which it will be kept (Jeffreys); [0, 1] without trials.

    >>> low, high = rate_interval(np.array([9.0]), np.array([10.0]))
    >>> round(float(low[0]), 2), round(float(high[0]), 2)
    (0.62, 0.99)
    """
    misses = np.maximum(trials - successes, 0.0)
    low = special.betaincinv(successes + 0.5, misses + 0.5, 0.025)
    high = special.betaincinv(successes + 0.5, misses + 0.5, 0.975)
    none = trials <= 0
    # At the ends the interval is closed: what always held may hold always.
    low = np.where(none | (successes <= 0), 0.0, low)
    return low, np.where(none | (misses <= 0), 1.0, high)
