"""Backtest: how many predictions of each probability came true?

For each past day, patterns are detected from the observations before that day, the confirmed ones predict the day, and
their rules are counted on what then happened. Days on which the person was not active are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

import numpy as np
import polars as pl

from observations.errors import SettingError
from patterns.count_rules import count_rules
from patterns.evaluate import evaluate
from patterns.inference.significance import rate_interval
from patterns.model import read_patterns
from patterns.settings import Settings
from pipelines.memory.predict import MOST_DAYS, probability

BACKTEST_DAYS = 28
"""Default number of past days."""

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

BACKTEST: Mapping[str, pl.DataType] = {
    "low": pl.Float64(),
    "high": pl.Float64(),
    "predictions": pl.Int64(),
    "came_true": pl.Int64(),
    "predicted": pl.Float64(),  # mean probability; null in an empty bin
    "rate": pl.Float64(),  # came_true / predictions; null in an empty bin
    "rate_low": pl.Float64(),  # 95 % interval of it (Jeffreys)
    "rate_high": pl.Float64(),
}
"""One row per bin of probability, [`low`, `high`); the last bin includes `high`."""


def backtest(
    observations: pl.DataFrame, as_of: datetime, days: int = BACKTEST_DAYS, settings: Settings | None = None
) -> pl.DataFrame:
    """How often the predictions of the days before `as_of` came true, by probability (`BACKTEST`).

    Args:
        observations: an observation frame of any number of people, up to `as_of`.
        as_of: aware.
        days: how many past days.
        settings: thresholds and weights.

    Raises:
        SettingError: `days` is not between 1 and 366.
    """
    if not 1 <= days <= MOST_DAYS:
        raise SettingError(f"a backtest goes back from 1 to {MOST_DAYS} days, not {days}")
    settings = settings or Settings()
    rows = [row for back in range(days, 0, -1) for row in _day(observations, as_of, back, settings)]
    if not rows:
        rows = [(0.0, 0, 0)]
    chance, kept, asked = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    place = np.minimum(np.searchsorted(BINS, chance, side="right") - 1, len(BINS) - 2)
    count, true, total = (
        np.bincount(place, weights=weights, minlength=len(BINS) - 1).astype(np.float64)
        for weights in (asked, kept, chance * asked)
    )
    low, high = rate_interval(true, count)
    known = pl.when(pl.col("predictions") > 0)
    frame = pl.DataFrame(
        {
            "low": BINS[:-1],
            "high": BINS[1:],
            "predictions": count,
            "came_true": true,
            "predicted": total / np.maximum(count, 1),
            "rate": true / np.maximum(count, 1),
            "rate_low": low,
            "rate_high": high,
        }
    ).select(pl.col(name).cast(dtype) for name, dtype in BACKTEST.items())
    return frame.with_columns(known.then(pl.col(c)).alias(c) for c in ("predicted", "rate"))


def _day(
    observations: pl.DataFrame, as_of: datetime, back: int, settings: Settings
) -> Iterator[tuple[float, int, int]]:
    """For each pattern confirmed at the time: its probability, and its support and opportunities that day."""
    cut = as_of - timedelta(days=back)
    known = observations.filter(pl.col("at") <= cut)
    if known.is_empty():
        return
    found = evaluate(known, cut, settings).filter(
        (pl.col("status") == "confirmed") & pl.col("type").is_in(["temporal", "workflow"])
    )
    if found.is_empty():
        return
    counts = count_rules(observations, found, cut, cut + timedelta(days=1), settings)
    tallies = counts.select("support", "opportunities").iter_rows()
    for pattern, (kept, of) in zip(read_patterns(found), tallies, strict=True):
        if of:
            yield probability(pattern, settings), kept, of
