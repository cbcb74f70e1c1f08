"""A batch made complete: both times, every user and every id filled in, whatever the reader."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import polars as pl

from observations.civil_columns import with_instant, with_local
from observations.ingest.toolkit.reader import ReadOptions
from observations.privacy.redact_frame import redact_observations
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
    """The frame without secrets, and with every user and id filled in.

    Secrets are redacted first (`observations.privacy.redact_frame`), so nothing is derived from one. The user is the
    value of `options.user_field` where that is set (the first, for a list), else the one the record names, else
    `options.user`. Users whose names differ only in a secret become one.

    An id that is absent is derived from the content. So is an id that holds a secret, together with what remains of
    it: the same record keeps one id in every export, and two records share one only if they differ in nothing but
    the secret. (A hash of the whole id would let somebody who has it try passwords until one fits.)
    """
    written = frame.get_column("id")
    frame = _with_users(redact_observations(frame), options)
    redacted = (frame.get_column("id") != written).fill_null(value=False)
    if redacted.any():
        frame = _with_derived_ids(frame, redacted, from_ids=True)
    missing = frame.get_column("id").is_null()
    return _with_derived_ids(frame, missing) if missing.any() else frame


def _with_users(frame: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    if options.user_field is not None:
        named = [
            pl.col(c).list.first() if c.endswith(":list") else pl.col(c).cast(pl.String)
            for c in feature_columns(frame.columns)
            if c.rpartition(":")[0] == options.user_field
        ]
        frame = frame.with_columns(pl.coalesce(*named, "user_id").alias("user_id"))
    for name, default in (("user_id", options.user), ("actor", "user")):
        if frame.get_column(name).null_count():
            frame = frame.with_columns(pl.col(name).fill_null(default))
    return frame


def _with_derived_ids(frame: pl.DataFrame, where: pl.Series, *, from_ids: bool = False) -> pl.DataFrame:
    derived = pl.Series("id", list(content_ids(frame.filter(where), from_ids=from_ids)), dtype=pl.String)
    return frame.with_columns(id=pl.when(where).then(_spread(derived, where)).otherwise("id"))


def content_ids(frame: pl.DataFrame, *, from_ids: bool = False) -> Iterable[str]:
    """An id for each row, from its content (without the user and the position in the file; with `from_ids`, and its id).

    The same record gives the same id in every export that has it, in any order and with any neighbours.
    """
    ignored = ("user_id", "local") if from_ids else ("id", "user_id", "local")
    columns = [c for c in (*BASE, *sorted(feature_columns(frame.columns))) if c not in ignored]
    # Nulls are skipped: which columns a frame has depends on a record's neighbours.
    fields = [pl.lit(f"{c}=") + _as_text(c, frame.schema[c]) for c in columns]
    joined = frame.select(pl.concat_str(fields, separator="\x1f", ignore_nulls=True)).to_series()
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
