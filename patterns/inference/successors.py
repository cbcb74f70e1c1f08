"""Successors: links a habit that ended to the one that replaced it (design, section 4)."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

_NEAR = timedelta(days=35)
"""How far apart the end of one and the beginning of the other may lie: a monthly habit that moves is next seen five weeks
later."""


def with_successors(patterns: pl.DataFrame) -> pl.DataFrame:
    """The frame with ``superseded_by`` set where one pattern replaced another.

    The successor is confirmed, of the same type and about the same thing (the same `where`, and feature; for a
    workflow the same first step), and began within five weeks of the other's end, while the other is no longer
    confirmed.
    """
    about = pl.struct(
        "type",
        *(
            pl.col("rule").str.json_path_match(f"$.{part}").fill_null("").alias(part)
            for part in ("where", "feature", "steps[0]")
        ),
    )
    times = patterns.select(
        "id",
        "user_id",
        "status",
        "support",
        about.alias("about"),
        pl.col("first_seen").str.slice(0, 19).str.to_datetime().alias("first"),
        pl.col("last_seen").str.slice(0, 19).str.to_datetime().alias("last"),
    )
    left = times.filter(pl.col("status") != "confirmed")
    right = times.filter(pl.col("status") == "confirmed")
    if not left.height or not right.height:
        return patterns
    links = (
        left.join(right, on=["user_id", "about"], suffix="_new")
        .filter(
            (pl.col("first_new") > pl.col("first"))
            & (pl.col("first_new") > pl.col("last") - _NEAR)
            & (pl.col("first_new") < pl.col("last") + _NEAR)
        )
        .sort("id", "support_new", "id_new", descending=[False, True, False])
        .unique("id", keep="first", maintain_order=True)
        .select("id", pl.col("id_new").alias("_successor"))
    )
    return (
        patterns.join(links, on="id", how="left", maintain_order="left")
        .with_columns(superseded_by=pl.col("_successor"))
        .drop("_successor")
    )
