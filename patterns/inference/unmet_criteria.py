"""The criteria for confirmation that a tracked pattern does not meet yet, in words."""

from __future__ import annotations

import numpy as np

from patterns.candidates import Candidates
from patterns.eventlog.arrays import Floats, Ints
from patterns.inference.lifecycle import Standing
from patterns.inference.lifecycle_state import Status
from patterns.inference.significance import allowed, binomial_tail, surely_above
from patterns.settings import Settings

_HORIZON = 400
"""The most further supports that are considered before more of the same is hopeless."""


def lacking(candidates: Candidates, standing: Standing, chosen: Ints, settings: Settings) -> list[list[str]]:
    """The unmet criteria of each chosen candidate; empty if it is not tracking."""
    of = chosen[standing.status[chosen] == Status.tracking]
    support, opportunities = standing.vote_support[of], standing.vote_opportunities[of]
    rate = support / np.maximum(opportunities, 1.0)
    more = _until_significant(
        standing.all_support[of],
        standing.all_opportunities[of],
        rate,
        candidates.null_rate[of],
        allowed(candidates.hypotheses[of], settings),
    )
    sure = surely_above(support, opportunities)
    words = {
        c: _lacks(candidates, standing, c, needed if needed < _HORIZON else None, bool(usual), settings)
        for c, needed, usual in zip(of.tolist(), more.tolist(), sure > settings.usual_rate, strict=True)
    }
    return [words.get(c, []) for c in chosen.tolist()]


def _lacks(
    candidates: Candidates, standing: Standing, c: int, needed: int | None, usual: bool, settings: Settings
) -> list[str]:
    """The unmet criteria of a tracked candidate; `needed` is the number of further supports that make it significant."""
    one, many = candidates.rules[c].unit
    support, opportunities = float(standing.vote_support[c]), float(standing.vote_opportunities[c])
    rate, null = support / max(opportunities, 1.0), float(candidates.null_rate[c])
    words = []
    missing = max(settings.confirmation_count - int(standing.occasions[c]), 0)
    distinct = rate - null >= settings.distinct_margin
    to_tell = needed if distinct else 0
    if missing > 0 and (to_tell is None or to_tell <= missing):
        words.append(f"{missing} more {one if missing == 1 else many}")
    if not usual and missing == 0:
        kept = f"kept {standing.support[c]} of {standing.opportunities[c]} times"
        words.append(f"{kept}: not reliably more than {settings.usual_rate:.0%}")
    if not distinct:
        words.append(f"too close to chance: {rate:.0%} against {null:.0%}")
    elif to_tell is None:
        words.append("not distinguishable from chance at this rate")
    elif to_tell > missing:
        words.append(f"about {to_tell} more {one if to_tell == 1 else many} to rule out chance")
    if not words:
        words.append(f"confidence {standing.confidence[c]:.2f} of {settings.confirmation_threshold:g}")
    return words


def _until_significant(
    support: Floats, opportunities: Floats, rate: Floats, null: Floats, allowed: Floats
) -> Ints:
    """(n,) how many more supports, kept at the present rate, until each is significant; `_HORIZON` if more are needed.

    Found by bisection: kept at a rate above the null's, the tail falls with every support.
    """
    low, high = np.zeros(len(support), dtype=np.int64), np.full(len(support), _HORIZON)
    above = np.maximum(rate, 1e-9)
    while (low < high).any():
        middle = (low + high) // 2
        enough = binomial_tail(support + middle, opportunities + middle / above, null) <= allowed
        high = np.where(enough, middle, high)
        low = np.where(enough | (low >= high), low, middle + 1)
    return high
