"""A batch made complete: both times, every user and every id filled in, whatever the reader."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import polars as pl

from observations.civil_columns import with_instant, with_local
from observations.ingest.toolkit.reader import ReadOptions
from observations.schema import BASE, feature_columns


def with_times(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with both ``at`` and ``local``, where rows had one of them and a zone."""
    has_at, has_local = pl.col("at").is_not_null(), pl.col("local").is_not_null()
    all_at, any_at, all_local, any_local = frame.select(
        all_at=has_at.all(), any_at=has_at.any(), all_local=has_local.all(), any_local=has_local.any()
    ).row(0)
    if all_at and all_local:
        return frame
    if all_at and not any_local:
        return with_local(frame)
    if all_local and not any_at:
        return with_instant(frame)
    placed = frame.with_row_index("_place")  # not "_row", which `with_local` and `with_instant` use
    parts = [
        placed.filter(has_at & has_local),
        with_local(placed.filter(has_at & ~has_local)),
        with_instant(placed.filter(~has_at & has_local)),
    ]
    return pl.concat([p for p in parts if p.height]).sort("_place").drop("_place")


def complete(frame: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """The frame with every user and id filled in.

    The user is the value of `options.user_field` where that is set (the first, for a list), else the one the
    record names, else `options.user`. An id that is absent is derived from the content.
    """
    if options.user_field is not None:
        named = [
            pl.col(c).list.first() if c.endswith(":list") else pl.col(c).cast(pl.String)
            for c in feature_columns(frame.columns)
            if c.rpartition(":")[0] == options.user_field
        ]
        frame = frame.with_columns(pl.coalesce(*named, "user_id").alias("user_id"))
    for name, usual in (("user_id", options.user), ("actor", "user")):
        if frame.get_column(name).null_count():
            frame = frame.with_columns(pl.col(name).fill_null(usual))
    if not frame.get_column("id").null_count():
        return frame
    lacking = frame.get_column("id").is_null()
    derived = pl.Series("id", list(content_ids(frame.filter(lacking))), dtype=pl.String)
    return frame.with_columns(
        id=pl.when(pl.col("id").is_null()).then(_spread(derived, lacking)).otherwise("id")
    )


def content_ids(frame: pl.DataFrame) -> Iterable[str]:
    """An id for each row, from what the row says (its user and its place in the file left out).

    The same record gives the same id in every export that has it, in any order and with any neighbours.
    """
    columns = [c for c in (*BASE, *sorted(feature_columns(frame.columns))) if c not in ("id", "user_id")]
    # Nulls say nothing, and must not show: which columns a frame has depends on a record's neighbours.
    said = [pl.lit(f"{c}=") + _as_text(c, frame.schema[c]) for c in columns if c != "local"]
    joined = frame.select(pl.concat_str(said, separator="\x1f", ignore_nulls=True)).to_series()
    return (hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in joined)


def _as_text(column: str, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.List):
        return pl.col(column).list.join("\x1e")
    if isinstance(dtype, pl.Datetime):
        return pl.col(column).dt.epoch("us").cast(pl.String)
    return pl.col(column).cast(pl.String)


def _spread(values: pl.Series, where: pl.Series) -> pl.Series:
    """A series as long as `where`, with `values` in order where it is true and null elsewhere."""
    place = (where.cast(pl.Int64).cum_sum() - 1).clip(lower_bound=0).cast(pl.UInt32)
    return values.gather(pl.select(pl.when(where).then(place)).to_series())
