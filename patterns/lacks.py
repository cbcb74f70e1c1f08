"""What a candidate still lacks, in words: the honest alternative to a guess."""

from __future__ import annotations

import numpy as np

from patterns.candidates import Candidates
from patterns.lifecycle import Standing, Status
from patterns.log import Ints
from patterns.settings import Settings
from patterns.significance import allowed, binomial_tail, surely_above
from patterns.statement import unit_of

_HORIZON = 400
"""How many more supports are looked ahead before saying that more of the same will not do."""


def lacking(candidates: Candidates, standing: Standing, chosen: Ints, settings: Settings) -> list[list[str]]:
    """For each chosen candidate what it lacks; nothing where it is not tracking."""
    return [
        _lacks(candidates, standing, c, settings) if standing.status[c] == Status.tracking else []
        for c in chosen.tolist()
    ]


def _lacks(candidates: Candidates, standing: Standing, c: int, settings: Settings) -> list[str]:
    one, many = unit_of(candidates.type, candidates.rules[c])
    support, opportunities = float(standing.vote_support[c]), float(standing.vote_opportunities[c])
    rate, null = support / max(opportunities, 1.0), float(candidates.null_rate[c])
    words = []
    missing = max(settings.confirmation_count - int(standing.occasions[c]), 0)
    distinct = rate - null >= settings.distinct_margin
    enough = float(allowed(candidates.type, candidates.hypotheses[c], settings))
    seen = float(standing.all_support[c]), float(standing.all_opportunities[c])
    to_tell = _until_significant(*seen, rate, null, enough) if distinct else 0
    if missing > 0 and (to_tell is None or to_tell <= missing):
        words.append(f"{missing} more {one if missing == 1 else many}")
    sure = surely_above(np.array([support]), np.array([opportunities]))
    if sure[0] <= settings.usual_rate and missing == 0:
        kept = f"kept {standing.support[c]} of {standing.opportunities[c]} times"
        words.append(f"{kept}: not surely more than {settings.usual_rate:.0%}")
    if not distinct:
        words.append(f"too close to what chance would do: {rate:.0%} against {null:.0%}")
    elif to_tell is None:
        words.append("cannot be told from chance at this rate")
    elif to_tell > missing:
        words.append(f"about {to_tell} more {one if to_tell == 1 else many} to tell it from chance")
    if not words:
        words.append(f"confidence {standing.confidence[c]:.2f} of {settings.confirmation_threshold:g}")
    return words


def _until_significant(
    support: float, opportunities: float, rate: float, null: float, allowed: float
) -> int | None:
    """How many more supports, kept at the present rate, until it is significant; null if not foreseeable."""
    more = np.arange(_HORIZON, dtype=np.float64)
    tail = binomial_tail(support + more, opportunities + more / rate, np.full(_HORIZON, null))
    enough = np.flatnonzero(tail <= allowed)
    return int(enough[0]) if len(enough) else None
