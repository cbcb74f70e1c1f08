"""Due times: when the next occasion is due if there is no calendar rule."""

from __future__ import annotations

import numpy as np

from observations.civil_time import MICROSECONDS_PER_DAY
from patterns.eventlog.arrays import Ints
from patterns.eventlog.log import Log, occasions


def next_occasion(log: Log, user: Ints, local: Ints, gap: Ints) -> Ints:
    """(n,) wall clock a gap after each time, µs; in a holiday, at the same hour of the day on which the person is back.

    Args:
        user: (n,) whose.
        local: (n,) wall clock, µs.
        gap: (n,) how long to wait, µs.
    """
    due = local + gap
    day = due // MICROSECONDS_PER_DAY
    later: Ints = due + (log.active.after_holiday(user, day) - day) * MICROSECONDS_PER_DAY
    return later


def patience(candidate: Ints, local: Ints) -> Ints:
    """(candidates,) how long to wait for the next occasion before it is late, µs; a day at least.

    Three times the mean time between occasions: were they to come at random, one wait in twenty would be longer
    (``exp(-3)``). Without legal mail there is nothing to copy anybody on, and nothing is late.

    Args:
        candidate, local: (trials,) sorted by candidate and wall clock (µs).
    """
    new = occasions(candidate, local)
    first, when = candidate[new], local[new]
    count = np.bincount(first, minlength=int(candidate.max(initial=-1)) + 1)
    start = np.searchsorted(first, np.arange(len(count)))
    span = when[start + count - 1] - when[start]
    wait: Ints = np.maximum(3 * span // np.maximum(count - 1, 1), MICROSECONDS_PER_DAY)
    return wait
