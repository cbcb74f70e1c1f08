"""Arrays of numbers: their types, and the operations that counting is built from.

Most of the work is sorting. To sort by several keys, pack them into one number: numpy sorts two million such numbers in
0.03 s, and takes 0.3 s to sort indirectly and 0.5 s to sort by several keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_BITS = 62
_LOW_BITS = 32


@dataclass(frozen=True, eq=False)
class Rows:
    """Arrays with one entry per row: the base of frozen dataclasses whose fields are all such arrays.

    >>> @dataclass(frozen=True, eq=False)
    ... class Points(Rows):
    ...     x: Ints
    ...     y: Ints
    >>> points = Points(x=np.array([1, 2, 3]), y=np.array([4, 5, 6]))
    >>> len(points), points[points.x > 1].y.tolist()
    (3, [5, 6])
    """

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def __getitem__(self, chosen: Ints | Flags) -> Self:
        """The chosen rows, in that order."""
        return replace(self, **{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, one part after the other; there is at least one part."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})


def pack(high: Ints, low: Ints) -> Ints:
    """(n,) both numbers in one key that sorts by `high`, then by `low`; each within 0 … 2³² - 1, `high` below 2³¹.

    >>> unpack(pack(np.array([2, 1]), np.array([7, 9])))
    (array([2, 1]), array([7, 9]))
    """
    return high << _LOW_BITS | low


def unpack(keys: Ints) -> tuple[Ints, Ints]:
    """(n,) the two numbers of each key that `pack` made."""
    return keys >> _LOW_BITS, keys & (1 << _LOW_BITS) - 1


def renumber(kept: Flags) -> Ints:
    """(n,) the index that each kept row has among the kept ones; undefined for the others.

    >>> renumber(np.array([False, True, False, True]))[[1, 3]].tolist()
    [0, 1]
    """
    return np.cumsum(kept) - 1


def run_numbers(*keys: Ints) -> Ints:
    """(n,) the number of the run of equal keys that each row is in, counted from 0.

    >>> run_numbers(np.array([4, 4, 9, 9, 4])).tolist()
    [0, 0, 1, 1, 2]
    """
    return renumber(begins(*keys))


def count_table(row: Ints, column: Ints, shape: tuple[int, int]) -> Ints:
    """A table of this shape: how often each pair of row and column occurs.

    >>> count_table(np.array([0, 1, 1]), np.array([1, 0, 0]), (2, 2)).tolist()
    [[0, 1], [2, 0]]
    """
    rows, columns = shape
    return np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns)


def sum_table(row: Ints, column: Ints, shape: tuple[int, int], weights: Floats) -> Floats:
    """A table of this shape: the sum of the weights of each pair of row and column.

    >>> sum_table(np.array([0, 1, 1]), np.array([1, 0, 0]), (2, 2), np.array([0.5, 1.0, 2.0])).tolist()
    [[0.0, 0.5], [3.0, 0.0]]
    """
    rows, columns = shape
    sums = np.bincount(row * columns + column, weights, minlength=rows * columns)
    return sums.astype(np.float64, copy=False).reshape(rows, columns)


def order_by(*keys: Ints) -> Ints:
    """(n,) indices that sort by the keys, by the first one first; the sort is stable.

    >>> order_by(np.array([1, 0, 1]), np.array([5, 7, 4])).tolist()
    [1, 2, 0]
    """
    count = len(keys[0])
    if not count:
        return np.empty(0, dtype=np.int64)
    packed, used = np.zeros(count, dtype=np.int64), 0
    for key in (*keys, np.arange(count)):
        least = int(key.min())
        width = (int(key.max()) - least).bit_length()
        used += width
        if used > _BITS:
            return np.lexsort(keys[::-1])
        packed = packed << width | key - least
    packed.sort()
    return packed & (1 << width) - 1


def begins(*keys: Ints) -> Flags:
    """(n,) True where a run of equal keys begins.

    >>> begins(np.array([4, 4, 4, 9]), np.array([1, 1, 2, 2])).tolist()
    [True, False, True, True]
    """
    new = np.zeros(len(keys[0]), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new


def distinct(values: Ints) -> Ints:
    """Each value once, sorted. Sorts, for `numpy.unique` hashes: 1.6 s where this takes 0.03 s.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[begins(ordered)]


def contains(ordered: Ints, wanted: Ints) -> Flags:
    """(n,) True for each wanted number that is among the sorted ones.

    >>> contains(np.array([2, 3, 7]), np.array([7, 4, 9])).tolist()
    [True, False, False]
    """
    if not len(ordered):
        return np.zeros(len(wanted), dtype=np.bool_)
    found: Flags = ordered[np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)] == wanted
    return found


def ranges(first: Ints, length: Ints) -> Ints:
    """The numbers first … first + length - 1 of each pair, one after the other.

    >>> ranges(np.array([5, 10]), np.array([2, 3])).tolist()
    [5, 6, 10, 11, 12]
    """
    ends = np.cumsum(length)
    return (
        np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - length, length) + np.repeat(first, length)
    )
