"""Calibration: how many of the patterns with a given confidence held in the following two weeks?

Patterns are detected at a *cut* from the observations before it, and their rules are counted on
the observations after it (`patterns.count_rules`). A pattern **held** if it was kept on at least half of its opportunities in
those weeks; one with fewer than two opportunities is skipped.

::

    ───────── detected from these ─────────┃── counted on these ──┃
                                          cut                   cut + 14 days
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import polars as pl
from scipy import special

from patterns.count_rules import count_rules
from patterns.evaluate import evaluate
from patterns.inference.significance import rate_interval
from patterns.model import PatternStatus
from patterns.settings import Settings
from pipelines.parallel import PEOPLE_AT_ONCE, partitions

DAYS_AHEAD = 14
CUTS = 4
"""Default number of cuts: the last ones that have two weeks of observations after them."""
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CONFIRMED: tuple[PatternStatus, ...] = ("confirmed",)
LEAST_OPPORTUNITIES = 2
HELD_RATE = 0.5

LOOKS: Mapping[str, pl.DataType] = {
    "cut": pl.Datetime("us", "UTC"),
    "id": pl.String(),
    "user_id": pl.String(),
    "type": pl.String(),
    "status": pl.String(),
    "statement": pl.String(),
    "confidence": pl.Float64(),  # as of the cut
    "rate_low": pl.Float64(),  # the pattern's own interval, as of the cut
    "rate_high": pl.Float64(),
    "later_support": pl.Int64(),
    "later_opportunities": pl.Int64(),
    "held": pl.Boolean(),  # null where there were too few opportunities
}
"""One row per pattern and cut."""

RELIABILITY: Mapping[str, pl.DataType] = {
    "low": pl.Float64(),
    "high": pl.Float64(),
    "confidence": pl.Float64(),  # mean; null in an empty bin
    "patterns": pl.Int64(),
    "held": pl.Int64(),
    "rate": pl.Float64(),  # held / patterns; null in an empty bin
    "rate_low": pl.Float64(),  # 95 % interval of it (Jeffreys)
    "rate_high": pl.Float64(),
}
"""One row per bin of confidence, [`low`, `high`); the last bin includes `high`."""


def reliability(
    observations: pl.DataFrame,
    cuts: Sequence[datetime] | None = None,
    days_ahead: int = DAYS_AHEAD,
    bins: Sequence[float] = BINS,
    settings: Settings | None = None,
    status: Collection[PatternStatus] = CONFIRMED,
) -> pl.DataFrame:
    """The share of patterns that held in the weeks after, by confidence (`RELIABILITY`).

    Args:
        observations, cuts, days_ahead, settings: as for `look_ahead`.
        bins: edges of the bins, ascending.
        status: only patterns with one of these statuses at the cut.

    """
    looks = look_ahead(observations, cuts, days_ahead, settings)
    return reliability_of(looks.filter(pl.col("status").is_in(list(status))), bins)


def look_ahead(
    observations: pl.DataFrame,
    cuts: Sequence[datetime] | None = None,
    days_ahead: int = DAYS_AHEAD,
    settings: Settings | None = None,
) -> pl.DataFrame:
    """Every pattern at every cut, with its support in the days after (`LOOKS`).

    Args:
        observations: an observation frame of any number of people, in any order.
        cuts: aware; `None` for `default_cuts`.
        days_ahead: number of days counted after each cut.
        settings: thresholds and weights.

    """
    cuts = default_cuts(observations, days_ahead) if cuts is None else cuts
    parts = [
        _looks(part, cut, days_ahead, settings)
        for part in partitions(observations, PEOPLE_AT_ONCE)
        for cut in cuts
    ]
    return pl.concat([pl.DataFrame(schema=dict(LOOKS)), *parts]).sort("cut", "user_id", "id")


def default_cuts(observations: pl.DataFrame, days_ahead: int = DAYS_AHEAD) -> list[datetime]:
    """The last four cuts, `days_ahead` apart, with `days_ahead` days after the last and observations before each."""
    if observations.is_empty():
        return []
    first, last = observations.select(pl.min("at").alias("first"), pl.max("at").alias("last")).row(0)
    cuts = [last - timedelta(days=days_ahead * n) for n in range(CUTS, 0, -1)]
    return [cut for cut in cuts if cut >= first]


def reliability_of(looks: pl.DataFrame, bins: Sequence[float] = BINS) -> pl.DataFrame:
    """As `reliability`, from the result of `look_ahead`."""
    asked = looks.drop_nulls("held")
    confidence = asked.get_column("confidence").to_numpy()
    held = asked.get_column("held").to_numpy().astype(np.float64)
    edges, count = np.asarray(bins, dtype=np.float64), len(bins) - 1
    place = np.searchsorted(edges, confidence, side="right") - 1
    place = np.where(confidence == edges[-1], count - 1, place)
    inside = (place >= 0) & (place < count)
    patterns, kept, total = (
        np.bincount(place[inside], weights=weights[inside], minlength=count).astype(np.float64)
        for weights in (np.ones_like(held), held, confidence)
    )
    low, high = rate_interval(kept, patterns)
    some = np.maximum(patterns, 1)
    frame = pl.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "confidence": total / some,
            "patterns": patterns,
            "held": kept,
            "rate": kept / some,
            "rate_low": low,
            "rate_high": high,
        }
    ).select(pl.col(name).cast(dtype) for name, dtype in RELIABILITY.items())
    known = pl.when(pl.col("patterns") > 0)
    return frame.with_columns(known.then(pl.col(c)).alias(c) for c in ("confidence", "rate"))


def interval_coverage(looks: pl.DataFrame) -> pl.DataFrame:
    """The coverage of `rate_interval`: one row per type, and one for all types.

    ``inside`` is the share of patterns whose later rate itself lies in the interval. The rate over few
    opportunities varies by chance, so ``agree`` is the share of patterns whose later count is plausible (two-sided 95 %,
    binomial) for some rate in the interval. This share should reach 95 %.
    """
    asked = looks.drop_nulls("held")
    support, opportunities, low, high = (
        asked.get_column(c).to_numpy()
        for c in ("later_support", "later_opportunities", "rate_low", "rate_high")
    )
    rate = support / np.maximum(opportunities, 1)
    too_few = special.bdtr(support, opportunities, low) <= 0.025
    too_many = special.bdtrc(support - 1, opportunities, high) <= 0.025
    asked = asked.with_columns(
        inside=pl.Series((rate >= low) & (rate <= high), dtype=pl.Boolean),
        agree=pl.Series(~too_few & ~too_many, dtype=pl.Boolean),
    )
    everything = asked.with_columns(type=pl.lit("all"))
    return (
        pl.concat([asked, everything])
        .group_by("type")
        .agg(patterns=pl.len().cast(pl.Int64), inside=pl.mean("inside"), agree=pl.mean("agree"))
        .sort(pl.col("type") == "all", "type")
    )


def _looks(
    observations: pl.DataFrame, cut: datetime, days_ahead: int, settings: Settings | None
) -> pl.DataFrame:
    patterns = evaluate(observations.filter(pl.col("at") <= cut), cut, settings)
    counts = count_rules(observations, patterns, cut, cut + timedelta(days=days_ahead), settings)
    kept, asked = pl.col("later_support"), pl.col("later_opportunities")
    enough = pl.when(asked >= LEAST_OPPORTUNITIES)
    return (
        patterns.with_columns(
            cut=pl.lit(cut).cast(LOOKS["cut"]),
            rate_low=pl.col("rate_interval").list.first(),
            rate_high=pl.col("rate_interval").list.last(),
            later_support=counts.get_column("support"),
            later_opportunities=counts.get_column("opportunities"),
        )
        .with_columns(held=enough.then(kept >= HELD_RATE * asked))
        .select(*LOOKS)
    )
