"""Secrets taken out of whole columns."""

from __future__ import annotations

import re

import polars as pl

from observations.privacy.redact import PASSES, redact

FEW = 16
"""So few texts are looked at sooner one by one than as a column: 0.01 ms each, where a column takes 0.4 ms to begin."""


def redact_series(texts: pl.Series) -> pl.Series:
    """`redact` of each text; null stays null. Only texts that look suspicious are taken out of the column."""
    if len(texts) <= FEW:
        return pl.Series(texts.name, [None if t is None else redact(t) for t in texts], dtype=pl.String)
    for look, redacted in PASSES:
        suspicious = texts.str.contains(_for_rust(look)).fill_null(False)
        if suspicious.any():
            doubtful = texts.filter(suspicious).to_list()
            known = {text: redacted(text) for text in set(doubtful)}
            texts = texts.clone().scatter(suspicious.arg_true(), [known[text] for text in doubtful])
    return texts


def _for_rust(look: re.Pattern[str]) -> str:
    """The same first look for polars. Edges of words are those of ASCII there, without which it is ten times slower; it
    passes over nothing that `look` does not.
    """
    return "(?i)" + look.pattern.replace(r"\b", r"(?-u:\b)")
