"""Secrets taken out of an observation frame: every text, every list and every feature name, whatever the reader.

`observations.ingest.toolkit.complete.complete`, which every observation passes, calls `redact_observations`. Readers
do not redact, with one exception: a shell history redacts its commands before it reads the program off them, so that
no part of a secret becomes a program's name.
"""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

from observations.privacy.redact import ANY_HINT, PASSES, PLACEHOLDER, redact
from observations.schema import BASE, KINDS, Kind, feature_column, split_column

FEW = 16
"""A column of at most so many texts is redacted text by text: 0.01 ms each, where polars takes 0.4 ms to start."""

_PROBES: dict[Kind, str] = {"text": "Quiet4Horse", "list": "Quiet4Horse", "number": "5", "flag": ""}
"""Values that a secret could have: if `redact` removes one after ``name=``, the name is that of a secret."""


def redact_observations(frame: pl.DataFrame) -> pl.DataFrame:
    """The observation frame without secrets: in the base columns, the features, and the names of features.

    A text feature whose name names a secret (``password``) holds `PLACEHOLDER`; a number or list of such a name is
    dropped, for it has no redacted form. Features that have the same name once it is redacted are merged.
    """
    clean: dict[str, pl.Series] = {}
    for column in frame.get_columns():
        redacted = redact_series(column) if column.name in BASE else _redact_feature(column)
        if redacted is None:
            continue
        first = clean.get(redacted.name)
        clean[redacted.name] = redacted if first is None else first.zip_with(first.is_not_null(), redacted)
    return pl.DataFrame(list(clean.values())) if clean else frame


def redact_series(column: pl.Series) -> pl.Series:
    """`redact` of each text, or of each text in each list; None stays None, other columns come back unchanged.

    Each distinct text is redacted once, and only those that a regular expression of polars finds suspicious.
    """
    if column.dtype == KINDS["list"]:
        return _redact_lists(column)
    if column.dtype != pl.String:
        return column
    if len(column) <= FEW:
        return pl.Series(column.name, [None if t is None else redact(t) for t in column], dtype=pl.String)
    distinct = column.unique()
    if len(distinct) * 2 > len(column):
        return _redact_texts(column)
    clean = _redact_texts(distinct)
    changed = (clean != distinct).fill_null(value=False)
    return column.replace(distinct.filter(changed), clean.filter(changed)) if changed.any() else column


def _redact_texts(texts: pl.Series) -> pl.Series:
    suspicious = texts.str.contains(_for_polars(ANY_HINT)).fill_null(value=False)
    if not suspicious.any():
        return texts
    doubtful = texts.filter(suspicious)
    for hint, redacted in PASSES:
        found = doubtful.str.contains(_for_polars(hint))
        if found.any():
            each = doubtful.filter(found).to_list()
            known = {text: redacted(text) for text in set(each)}
            doubtful = doubtful.clone().scatter(found.arg_true(), [known[text] for text in each])
    return texts.clone().scatter(suspicious.arg_true(), doubtful)


def _redact_lists(column: pl.Series) -> pl.Series:
    items = column.explode().drop_nulls().unique()
    clean = redact_series(items)
    changed = items != clean
    if not changed.any():
        return column
    swapped = pl.element().replace(items.filter(changed), clean.filter(changed))
    return column.to_frame().select(pl.col(column.name).list.eval(swapped)).to_series()


def _redact_feature(column: pl.Series) -> pl.Series | None:
    """The feature under its redacted name and without secrets; None if it has no redacted form."""
    name, kind = split_column(column.name)
    column = column.alias(feature_column(redact(name), kind))
    if not _names_secret(name, kind):
        return redact_series(column)
    if kind != "text":
        return None
    hidden = pl.when(column.is_not_null()).then(pl.lit(PLACEHOLDER)).alias(column.name)
    return pl.select(hidden).to_series()


@lru_cache(maxsize=8_192)
def _names_secret(name: str, kind: Kind) -> bool:
    """True if a feature of this name and kind is a secret as a whole."""
    probe = f"{name}={_PROBES[kind]}"
    return redact(probe) != redact(name) + probe.removeprefix(name)


def _for_polars(look: re.Pattern[str]) -> str:
    """The same pattern for polars. There, word boundaries are those of ASCII, which is ten times faster; it matches
    whatever `look` matches.
    """
    return "(?i)" + look.pattern.replace(r"\b", r"(?-u:\b)")
