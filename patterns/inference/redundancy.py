"""Say each thing once: of candidates that rest on the same events, the one that says most stays.

Greedy cover, for all people at once: in each round every person keeps their best candidate that is left; the
events it accounts for are then taken from all others, and those that lose too much of their support go. What
says most is the candidate with the greatest likelihood gain over chance, so a weekday habit is one pattern
and not five, a category that holds one title is said once, and two real habits in one category both stay.
"""

from __future__ import annotations

import numpy as np

from patterns.eventlog.arrays import Flags, Floats, Ints, begins

OWN_SHARE = 0.6
"""A candidate must keep this share of its support for itself beside those already accepted."""

FIRST = 1e9
"""Added to the gain of candidates that come before all others: nats never get there."""


def say_once(
    user: Ints, gain: Floats, candidate: Ints, evidence: Ints, own_share: float = OWN_SHARE
) -> Flags:
    """(candidates,) which to keep.

    Args:
        user: (candidates,) whose.
        gain: (candidates,) how much each explains, nats; ties go to the lower index.
        candidate, evidence: (pairs,) what each candidate rests on: any integer keys that are the same where
            two candidates rest on the same thing.
        own_share: how much of its evidence must be its own.

    """
    count = len(user)
    kept, open_ = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    size = np.bincount(candidate, minlength=count).astype(np.float64)
    _, key = np.unique(evidence, return_inverse=True)
    taken = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.bool_)
    order = np.lexsort((np.arange(count), -gain, user))
    while True:
        waiting = order[open_[order]]
        if not len(waiting):
            return kept
        best = waiting[begins(user[waiting])]
        kept[best], open_[best] = True, False
        chosen = np.zeros(count, dtype=np.bool_)
        chosen[best] = True
        covers = key[chosen[candidate]]
        taken[covers] = True
        left = np.bincount(candidate, weights=~taken[key], minlength=count)
        open_ &= left >= own_share * size
