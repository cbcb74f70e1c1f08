"""Category codes: words and other values as small whole numbers, which can be counted."""

from __future__ import annotations

import numpy as np
import polars as pl

from patterns.eventlog.arrays import Ints

_FEW = 8
"""Rows per distinct word from which looking up words is faster than sorting rows."""


def coded(values: pl.Series) -> tuple[Ints, pl.Series]:
    """The place of each value among the distinct ones in ascending order, and those.

    Args:
        values: (n,) of any dtype that can be sorted, without nulls.

    >>> code, meaning = coded(pl.Series(["b", "a", "b"]))
    >>> code.tolist(), meaning.to_list()
    ([1, 0, 1], ['a', 'b'])
    """
    meaning = values.unique().sort()
    if values.dtype == pl.String and len(meaning) * _FEW <= len(values):
        code = values.cast(pl.Enum(meaning)).to_physical()
    else:
        code = values.rank("dense") - 1
    return code.to_numpy().astype(np.int64), meaning


def coded_with_nulls(values: pl.Series) -> Ints:
    """The same, counted from 1; 0 for null.

    >>> coded_with_nulls(pl.Series(["b", None, "a"])).tolist()
    [2, 0, 1]
    """
    codes = np.zeros(len(values), dtype=np.int64)
    codes[values.is_not_null().to_numpy()] = coded(values.drop_nulls())[0] + 1
    return codes


def pair_codes(outer: Ints, inner: Ints) -> Ints:
    """(n,) the place of each pair of numbers among the distinct pairs, in their order.

    >>> pair_codes(np.array([7, 3, 7]), np.array([1, 1, 1])).tolist()
    [1, 0, 1]
    """
    _, code = np.unique(outer * (int(inner.max(initial=0)) + 1) + inner, return_inverse=True)
    return np.asarray(code, dtype=np.int64)
