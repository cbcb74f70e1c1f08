"""Densest span: from when to when something was kept.

A habit that began in spring must not be diluted by the winter before it, nor one that stopped by the silence
after it. The best span of a 0/1 sequence is the one whose likelihood ratio "kept at its own rate" against "kept
at a fifth of that" is largest: each hit adds ``ln 5``, each miss takes ``ln((1 - p/5) / (1 - p))`` away. That is
the maximum-sum interval, found in one pass (Kadane; Bentley 1984), twice over, the rate being estimated anew in
the span found first.

::

    hits     ·  ·  ·  |  ·  ·  · | | · | | | | · | |  ·  ·  ·  ·
    span                         [─────────────────]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patterns.eventlog.arrays import Flags, Floats, Ints

CONTRAST = 5.0
"""Outside its span a behaviour is kept at a rate lower by this factor."""


@dataclass(frozen=True, eq=False)
class Spans:
    """The span in which each group's behaviour was kept, and what lies in it.

    Attributes:
        first, last: (groups,) the first and the last row of the span, both hits.
        support: (groups,) hits in it.
        inside: (rows,) True if the row lies in its group's span.
    """

    first: Ints
    last: Ints
    support: Ints
    inside: Flags

    @property
    def opportunities(self) -> Ints:
        """(groups,) rows in the span."""
        return self.last - self.first + 1

    @classmethod
    def of(cls, group: Ints, hit: Flags, groups: int) -> Spans:
        """The densest spans of opportunities that are given by group and time.

        Args:
            group: (rows,) sorted group numbers; every group below `groups` has at least one hit.
            hit: (rows,) True if the behaviour was kept.
            groups: how many groups there are.
        """
        row = np.arange(len(group))
        hits = row[hit]
        first, last = (hits[end] for end in best_spans(group[hit], hits, groups))
        inside = (row >= first[group]) & (row <= last[group])
        return cls(
            first=first, last=last, support=np.bincount(group[inside & hit], minlength=groups), inside=inside
        )


def best_spans(group: Ints, position: Ints, groups: int) -> tuple[Ints, Ints]:
    """The densest span of each group's hits: (first, last), indices into the hits, both included.

    Args:
        group: (hits,) sorted group numbers; every group below `groups` has at least one hit.
        position: (hits,) ascending within a group: which opportunity was a hit.
        groups: how many groups there are.

    """
    start = np.searchsorted(group, np.arange(groups + 1))
    first, last = start[:-1].copy(), start[1:] - 1
    for _ in range(2):
        opportunities = position[last] - position[first] + 1
        rate = np.clip((last - first + 1) / opportunities, 0.01, 0.98)
        first, last = _largest_sum(group, position, start, rate)
    return first, last


def _largest_sum(group: Ints, position: Ints, start: Ints, rate: Floats) -> tuple[Ints, Ints]:
    """Kadane over the hits; the misses between two hits are taken off in one go."""
    cost = np.log((1 - rate / CONTRAST) / (1 - rate))
    # Prefix sums just before and just after each hit, with the misses up to it taken off.
    hits = np.arange(len(group)) - start[group]
    misses = position - position[start[group]] - hits
    before = hits * np.log(CONTRAST) - misses * cost[group]
    after = before + np.log(CONTRAST)
    # A running minimum that starts anew in each group: later groups lie lower by more than any sum spans.
    spread = float(np.abs(before).max(initial=0.0)) * 2 + 10.0
    lowered = before - group * spread
    lowest = np.minimum.accumulate(lowered)
    gain = after - group * spread - lowest
    best = np.maximum.reduceat(gain, start[:-1])
    at_best = np.flatnonzero(gain >= best[group] - 1e-9)
    last = at_best[np.searchsorted(group[at_best], np.arange(len(start) - 1), side="left")]
    # The span begins at the latest hit before whose prefix sum is the running minimum of `last`.
    is_lowest = np.flatnonzero(lowered <= lowest + 1e-12)
    first = is_lowest[np.searchsorted(is_lowest, last, side="right") - 1]
    return first, last
