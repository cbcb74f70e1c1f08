"""The wall clock of one person at the evaluation time."""

from __future__ import annotations

from datetime import datetime

import polars as pl


def wall_clock(observations: pl.DataFrame, as_of: datetime | None) -> datetime:
    """What one person's clock shows at `as_of`, by the offset of their newest observation.

    Args:
        observations: of one person, at least one.
        as_of: aware; the time of their newest observation if None.
    """
    at, local = observations.sort("at").select("at", "local").row(-1)
    clock: datetime = local if as_of is None else local + (as_of - at)
    return clock
