"""Redundancy: of candidates with the same evidence, only the best one is kept.

Greedy set cover, for all people at once: in each round every person keeps the best candidate that is left; the events it
accounts for are then taken from all others, and those that lose too much of their support are dropped. So a weekday
habit is one pattern and not five, a category with one title is one pattern, and two real habits in one category are two.
"""

from __future__ import annotations

import numpy as np

from patterns.eventlog.arrays import Flags, Floats, Ints, begins

OWN_SHARE = 0.6
"""The share of its support that a candidate must not share with those already kept."""

PRIORITY = 1e9
"""Added to the score of candidates that come before all others: larger than any gain in nats."""


def keep_once(
    user: Ints, score: Floats, candidate: Ints, evidence: Ints, own_share: float = OWN_SHARE
) -> Flags:
    """(candidates,) True for the candidates to keep.

    Args:
        user: (candidates,) whose.
        score: (candidates,) the higher the better; ties go to the lower index.
        candidate, evidence: (pairs,) the evidence of each candidate, as any integer keys.
        own_share: how much of its evidence must be its own.

    """
    count = len(user)
    kept, open_ = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    size = np.bincount(candidate, minlength=count).astype(np.float64)
    _, key = np.unique(evidence, return_inverse=True)
    taken = np.zeros(int(key.max(initial=-1)) + 1, dtype=np.bool_)
    order = np.lexsort((np.arange(count), -score, user))
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
